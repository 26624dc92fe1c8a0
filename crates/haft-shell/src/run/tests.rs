//! What holds for every process: real ones, of real bash.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use super::*;

fn bash(command: &str) -> Launch {
    let mut launch = Launch::bash(command, "/").unwrap();
    launch.env = inherited(std::env::vars_os());
    launch.grace = Duration::from_millis(300);
    launch
}

async fn run(launch: Launch) -> (Ended, String) {
    let process = launch.start().unwrap();
    let ended = process.ended().await;
    (ended, process.with_output(|output| output.text().head))
}

/// Whether a process with this word among its arguments runs.
pub(super) fn runs(word: &str) -> bool {
    let has = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_zombie = fs::read_to_string(entry.path().join("stat")).is_ok_and(|stat| stat.contains(") Z "));
        !is_zombie && line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().any(has)
}

pub(super) async fn until(what: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !what() {
        if start.elapsed() > Duration::from_secs(10) {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    true
}

#[tokio::test]
async fn both_streams_come_in_the_order_of_writing() {
    let (ended, text) = run(bash("echo 1; echo 2 >&2; echo 3; printf 4 >&2; exit 3")).await;
    assert_eq!((ended.status, text.as_str()), (Status::Code(3), "1\n2\n3\n4"));
}

#[tokio::test]
async fn stderr_can_be_kept_by_itself() {
    let mut launch = bash("echo out; echo err >&2; echo more");
    launch.apart = true;
    let process = launch.start().unwrap();
    process.ended().await;
    let read = |output: &Output| output.text().head;
    assert_eq!(
        (process.with_output(read), process.with_errors(read)),
        ("out\nmore\n".into(), "err\n".into())
    );
}

#[tokio::test]
async fn input_can_be_read_in_every_way_and_need_not_be() {
    let long = vec![b'x'; 10 << 20];
    for (command, expected) in [
        ("cat | wc -c", "10485760\n"),
        ("cat /dev/stdin | wc -c", "10485760\n"),
        ("head -c 3", "xxx"),
        ("true", ""),
        ("exec <&-; echo closed", "closed\n"),
    ] {
        let mut launch = bash(command);
        launch.input = Some(long.clone());
        let (ended, text) = run(launch).await;
        assert_eq!((ended.status, text.as_str()), (Status::Code(0), expected), "{command}");
    }
    let (_, text) = run(bash("wc -c")).await;
    assert_eq!(text, "0\n", "nothing is nothing");
}

#[tokio::test]
async fn the_text_runs_as_it_is() {
    let (_, text) = run(bash("echo $0 $# \"$LINENO\" ${BASH_ENV-unset} $-\nset -x; echo 'it''s'")).await;
    assert_eq!(text, "/bin/bash 0 1 unset hBc\n+ echo its\nits\n");
}

#[tokio::test]
async fn the_directory_in_which_it_ends_is_told() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    fs::create_dir(place.join("a b\nc")).unwrap();
    std::os::unix::fs::symlink(place.join("a b\nc"), place.join("link")).unwrap();
    let (ended, text) = run(bash(&format!("cd {}/link && false", place.display()))).await;
    assert_eq!(
        (ended.status, ended.directory, text),
        (Status::Code(1), Some(place.join("a b\nc")), String::new())
    );
    let (ended, _) = run(bash("cd /tmp; (cd /usr); bash -c 'cd /etc'; set -eux; false")).await;
    assert_eq!(ended.directory.as_deref(), Some(Path::new("/tmp")));
}

#[tokio::test]
async fn a_command_with_a_trap_of_its_own_keeps_it() {
    let (ended, text) = run(bash("trap 'echo bye' EXIT; cd /usr; exit 7")).await;
    assert_eq!((ended.status, ended.directory, text.as_str()), (Status::Code(7), None, "bye\n"));
    let (ended, text) = run(bash("exec echo replaced")).await;
    assert_eq!((ended.directory, text.as_str()), (None, "replaced\n"));
}

#[tokio::test]
async fn whoever_reads_gets_an_end_of_file() {
    let (ended, text) = run(bash("read -r answer; echo \"$?[$answer]\"; cat; sudo() { cat; }; sudo")).await;
    assert_eq!((ended.status, text.as_str()), (Status::Code(0), "1[]\n"));
}

#[tokio::test]
async fn a_hung_command_is_ended_in_time_and_its_output_stays() {
    let mut launch = bash("echo begun; trap '' TERM; while :; do sleep 0.05; done");
    launch.time_limit = Some(Duration::from_millis(200));
    let began = Instant::now();
    let (ended, text) = run(launch).await;
    assert_eq!((ended.stopped, ended.status), (Some(Stopped::TimedOut), Status::Signal(9)));
    assert_eq!(text, "begun\n");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_stopped_command_may_say_a_last_word() {
    let process =
        bash("trap 'echo tidied; exit 0' TERM; echo ready; while :; do sleep 0.01; done").start().unwrap();
    assert!(until(|| process.with_output(|output| output.bytes()) > 0).await);
    process.stop();
    let ended = process.ended().await;
    assert_eq!((ended.stopped, ended.status), (Some(Stopped::Asked), Status::Code(0)));
    let text = process.with_output(|output| output.text().head);
    assert!(text.starts_with("ready\n") && text.ends_with("tidied\n"), "{text}");
}

#[tokio::test]
async fn no_orphan_is_left_three_levels_deep() {
    let process = bash("bash -c 'bash -c \"sleep 98765.1 & wait\" & wait'").start().unwrap();
    assert!(until(|| runs("98765.1")).await);
    process.stop();
    process.ended().await;
    assert!(!runs("98765.1"));
}

#[tokio::test]
async fn what_left_the_group_is_found_by_its_mark() {
    let daemon = "setsid bash -c '(sleep 98765.2 &)'; setsid sleep 98765.3 & sleep 98765.4";
    let process = bash(daemon).start().unwrap();
    assert!(until(|| ["98765.2", "98765.3", "98765.4"].into_iter().all(runs)).await);
    drop(process);
    assert!(until(|| !["98765.2", "98765.3", "98765.4"].into_iter().any(runs)).await);
}

#[tokio::test]
async fn what_forks_all_the_time_is_ended_as_well() {
    let hydra = "head() { trap '' TERM; sleep 98765.6 & sleep 0.02; (head &); }; head; sleep 1000";
    let process = bash(hydra).start().unwrap();
    assert!(until(|| runs("98765.6")).await);
    process.stop();
    process.ended().await;
    assert!(until(|| !runs("98765.6")).await);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!runs("98765.6"));
}

#[tokio::test]
async fn what_a_command_leaves_running_is_ended_and_told() {
    let (ended, text) = run(bash("sleep 98765.5 & echo done")).await;
    assert_eq!((ended.left_running, ended.stopped, text.as_str()), (1, None, "done\n"));
    assert!(!runs("98765.5"));
}

#[tokio::test]
async fn what_still_writes_when_the_shell_has_gone_may_finish() {
    let (ended, text) = run(bash("echo late > >(sleep 0.03; cat)")).await;
    assert_eq!((ended.left_running, text.as_str()), (0, "late\n"));
}

#[tokio::test]
async fn much_output_takes_little_memory() {
    if !is_alone("run::tests::much_output_takes_little_memory") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("whole");
    let mut launch = bash("head -c 200000000 /dev/zero | tr '\\0' 'x' | fold -w 99");
    let (file, name) = (fs::File::create(&path).unwrap(), path.clone());
    launch.spill = Some(Box::new(move || Ok((name, Box::new(file)))));
    let before = resident();
    let process = launch.start().unwrap();
    let ended = process.ended().await;
    let grown = resident().saturating_sub(before);
    assert_eq!(ended.status, Status::Code(0));
    let cut = process.with_output(Output::text);
    let whole = fs::metadata(&path).unwrap().len();
    assert_eq!(whole, 200_000_000 + 200_000_000 / 99);
    assert_eq!(cut.hidden_bytes + (cut.head.len() + cut.tail.len()) as u64, whole);
    assert!(grown < 8 * 1024 * 1024, "{grown} bytes more");
}

/// Whether this is a process in which no other test runs. If not, the test is run in one.
#[expect(clippy::disallowed_methods, reason = "the test starts itself")]
fn is_alone(test: &str) -> bool {
    if std::env::var_os("HAFT_TEST_ALONE").is_some() {
        return true;
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let status = again.args(["--exact", test, "--nocapture"]).env("HAFT_TEST_ALONE", "1").status().unwrap();
    assert!(status.success(), "{test} failed where it ran alone");
    false
}

/// The memory of this process, in bytes.
fn resident() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[tokio::test]
async fn who_writes_too_much_is_ended() {
    let mut launch = bash("yes");
    launch.room.most = 1_000_000;
    let process = launch.start().unwrap();
    let ended = process.ended().await;
    assert_eq!(ended.stopped, Some(Stopped::WroteTooMuch));
    assert!(process.with_output(|output| output.bytes()) < 1_200_000);
}

#[tokio::test]
async fn bytes_that_are_no_text_do_no_harm() {
    let process = bash("printf 'a\\377b\\0c'; head -c 100000 /dev/urandom").start().unwrap();
    process.ended().await;
    assert!(process.with_output(|output| output.is_binary() && output.bytes() == 100_005));
}

#[tokio::test]
async fn a_terminal_is_there_for_those_who_draw_on_it() {
    let mut launch = bash("[ -t 1 ] && [ -t 2 ] && echo yes; [ -t 0 ] || stty size <&1");
    launch.pty = true;
    let (ended, text) = run(launch).await;
    assert_eq!((ended.status, text.as_str()), (Status::Code(0), "yes\n40 120\n"));
    let (_, text) = run(bash("[ -t 1 ] || echo no")).await;
    assert_eq!(text, "no\n");
}

#[tokio::test]
async fn what_cannot_start_says_so() {
    let mut launch = bash("true");
    launch.cwd = "/nowhere/at/all".into();
    assert_eq!(launch.start().unwrap_err().kind(), std::io::ErrorKind::NotFound);
    let long = "x".repeat(LONGEST_COMMAND + 1);
    assert!(Launch::bash(&long, "/").err().unwrap().to_string().contains("write it to a file"));
    assert!(bash("a\0b").start().is_err());
}

#[tokio::test]
async fn descriptors_and_the_environment_of_haft_stay_outside() {
    let mut launch =
        bash("ls /proc/self/fd | sort -n | tr '\\n' ' '; echo; env | cut -d= -f1 | sort | tr '\\n' ' '");
    launch.env = vec![("PATH".into(), "/usr/bin:/bin".into()), ("BASH_ENV".into(), "/etc/profile".into())];
    let (_, text) = run(launch).await;
    assert_eq!(text, "0 1 2 3 221 222 \nHAFT_RUN PATH PWD SHLVL _ ");
}

/// A bash that answers each word it is told on its line, with something printed before.
fn parrot() -> Launch {
    let mut launch = bash(
        "while IFS= read -r -d '' -u 223 word; do [ \"$word\" = big ] && head -c 300000 /dev/zero | tr '\\0' x; \
         echo \"got $word\"; printf '%s\\0' \"$word\" >&224; done; echo over",
    );
    launch.tells_directory = false;
    launch.spoken_to = true;
    launch
}

/// What is said on the line, once there is something.
async fn heard(process: &Process) -> String {
    let mut words = Vec::new();
    let began = Instant::now();
    while !words.ends_with(b"\0") && began.elapsed() < Duration::from_secs(10) {
        let change = process.changed();
        words.extend(process.heard());
        if !words.ends_with(b"\0") {
            let _ = tokio::time::timeout(Duration::from_millis(100), change).await;
        }
    }
    String::from_utf8(words).unwrap()
}

#[tokio::test]
async fn a_process_that_is_spoken_to_answers_after_all_that_it_printed() {
    let process = parrot().start().unwrap();
    for (word, printed) in [("one", 8), ("big", 300_008), ("two", 8)] {
        process.say(format!("{word}\0").as_bytes());
        assert_eq!(heard(&process).await, format!("{word}\0"));
        assert_eq!(process.tear_off().bytes(), printed, "{word}");
    }
}

#[tokio::test]
async fn words_that_are_longer_than_a_pipe_are_said_whole() {
    let process = parrot().start().unwrap();
    let long = format!("{}\0", "y".repeat(400_000));
    process.say(long.as_bytes());
    let printed = until(|| process.with_output(|output| output.bytes()) == 400_005).await;
    assert!(printed, "{}", process.with_output(|output| output.bytes()));
}

#[tokio::test]
async fn of_a_flood_of_words_only_the_end_is_kept() {
    let mut launch = bash("head -c 50000000 /dev/zero >&224; printf end >&224; exec 224>&-; sleep 0.3");
    launch.tells_directory = false;
    launch.spoken_to = true;
    let process = launch.start().unwrap();
    process.ended().await;
    let words = process.heard();
    assert!(words.len() <= 64 * 1024 && words.ends_with(b"end"), "{}", words.len());
}

#[tokio::test]
async fn an_interrupt_reaches_the_process_and_what_it_waits_for() {
    let process =
        bash("trap 'echo interrupted; exit 3' INT; echo ready; sleep 1000; echo never").start().unwrap();
    assert!(until(|| process.with_output(|output| output.bytes()) > 0).await);
    process.interrupt();
    assert_eq!(process.ended().await.status, Status::Code(3));
    assert_eq!(process.with_output(|output| output.text().head), "ready\ninterrupted\n");
}

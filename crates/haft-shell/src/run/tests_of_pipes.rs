//! What holds for servers: they are spoken to by their pipes, and nothing of them is left when they end or haft does.

use std::{
    fs::File,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use super::{
    tests::{runs, until},
    *,
};

fn server(command: &str) -> Launch {
    let mut launch = Launch::new("/bin/sh", "/");
    launch.args = vec!["-c".into(), command.into()];
    launch.env = inherited(std::env::vars_os());
    launch.grace = Duration::from_millis(300);
    launch
}

/// Reads until the end of a pipe that does not block.
fn read_all(mut pipe: File) -> String {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return String::from_utf8(bytes).unwrap(),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(err) if err.kind() == ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(5)),
            Err(err) => panic!("{err}"),
        }
    }
}

#[tokio::test]
async fn a_server_hears_and_answers_and_ends_with_its_input() {
    let (process, ends) =
        server("while read line; do echo \"got $line\"; echo log >&2; done; exit 7").start_piped().unwrap();
    let mut input = File::from(ends.input);
    input.write_all(b"one\ntwo\n").unwrap();
    drop(input);
    assert_eq!(read_all(File::from(ends.output)), "got one\ngot two\n");
    assert_eq!(process.ended().await.status, Status::Code(7));
    assert_eq!(process.with_output(|errors| errors.text().head), "log\nlog\n");
}

#[tokio::test]
async fn how_a_server_died_is_told() {
    let (process, _ends) = server("kill -SEGV $$").start_piped().unwrap();
    assert_eq!(process.ended().await.status, Status::Signal(libc::SIGSEGV));
}

#[test]
fn a_server_that_is_not_there_is_said_to_be_missing() {
    let err = Launch::new("/nowhere/at/all", "/").start_piped().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn what_a_server_leaves_behind_ends_with_it() {
    // No mark in its environment, and a session of its own: only the guard knows that it belongs here.
    let (process, _ends) = server("env -i setsid sleep 98761 & sleep 0.2; exit 0").start_piped().unwrap();
    assert!(until(|| runs("98761")).await);
    assert_eq!(process.ended().await.status, Status::Code(0));
    assert!(until(|| !runs("98761")).await, "somebody is left");
}

#[tokio::test]
async fn a_server_that_is_dropped_ends_with_all_that_it_started() {
    let (process, ends) =
        server("sh -c 'trap \"\" TERM; sleep 98762' & exec sleep 98763").start_piped().unwrap();
    assert!(until(|| runs("98762") && runs("98763")).await);
    drop((process, ends));
    assert!(until(|| !runs("98762") && !runs("98763")).await, "somebody is left");
}

const VICTIM: &str = "HAFT_TEST_VICTIM";

/// Not a test but the process that the next one kills: it has a server, three deep, that minds nothing.
#[tokio::test]
async fn the_one_that_is_killed() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let chain = "sh -c 'trap \"\" TERM HUP INT; env -i setsid sleep 98764 & sh -c \"sleep 98765; true\"; true' & wait";
    let (_process, _ends) = server(chain).start_piped().unwrap();
    assert!(until(|| runs("98764") && runs("98765")).await);
    let mut out = std::io::stdout();
    writeln!(out, "ready").unwrap();
    out.flush().unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "it must not be looked after, or it is not killed but ended")]
async fn nothing_of_a_server_outlives_haft_however_that_ends() {
    let this = std::env::current_exe().unwrap();
    let mut victim = Command::new(Path::new(&this))
        .args(["--exact", "run::tests_of_pipes::the_one_that_is_killed", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(victim.stdout.take().unwrap()).lines();
    assert!(
        said.map_while(Result::ok).any(|line| line.contains("ready")),
        "the victim did not start its server"
    );
    assert!(runs("98764") && runs("98765"));
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(until(|| !runs("98764") && !runs("98765")).await, "somebody is left");
}

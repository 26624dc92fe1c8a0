//! Servers of others, started for a test and gone with it.
//!
//! A server hangs on a small shell that reads our end of a pipe: however this process ends, the pipe closes, and the
//! shell stops the server and removes its directory. So no test leaves one behind, not even one that is killed.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// `$1` is the directory, `$2` the signal that ends the server, which is the rest. Words on stdin stop it and start it again.
const KEEPER: &str = r#"
dir=$1 signal=$2; shift 2
start() { "$@" </dev/null >>"$dir/log" 2>&1 & pid=$!; }
halt() { kill -$signal $pid 2>/dev/null; wait $pid 2>/dev/null; }
start "$@"; echo ok
while read -r word; do
    case $word in
        halt) halt ;;
        start) start "$@" ;;
    esac
    echo ok
done
halt
rm -rf "$dir"
"#;

/// A server in a directory of its own.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) directory: PathBuf,
    keeper: Mutex<Keeper>,
}

#[derive(Debug)]
struct Keeper {
    shell: Child,
    words: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// Who a server runs as.
#[derive(Debug, Clone, Copy)]
pub(crate) struct User {
    uid: u32,
    gid: u32,
}

impl User {
    /// This user; instead of root, who is refused by some servers, the one of this name or nobody.
    pub(crate) fn but_not_root(name: &str) -> Option<User> {
        let is_root =
            fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
        is_root.then(|| User::named(name).unwrap_or(User { uid: 65_534, gid: 65_534 }))
    }

    fn named(name: &str) -> Option<User> {
        let users = fs::read_to_string("/etc/passwd").ok()?;
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(|number| number.parse().ok());
        Some(User { uid: numbers.next()??, gid: numbers.next()?? })
    }

    pub(crate) fn run(user: Option<User>, command: &mut Command) -> &mut Command {
        match user {
            Some(User { uid, gid }) => command.uid(uid).gid(gid),
            None => command,
        }
    }
}

/// A directory for a server. The keeper of the server removes it.
pub(crate) fn directory(user: Option<User>) -> io::Result<PathBuf> {
    // Short: the name of a socket has at most a hundred bytes.
    let directory = tempfile::Builder::new().prefix("haft-").tempdir_in("/tmp")?.keep();
    if let Some(User { uid, gid }) = user {
        chown(&directory, Some(uid), Some(gid))?;
    }
    Ok(directory)
}

impl Service {
    /// Starts a server that ends at this signal.
    pub(crate) fn start(
        directory: &Path,
        user: Option<User>,
        signal: &str,
        server: &[&str],
    ) -> io::Result<Service> {
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keeper"]).arg(directory).arg(signal).args(server).current_dir(directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = User::run(user, &mut command).spawn()?;
        let (words, answers) = (shell.stdin.take(), shell.stdout.take());
        let answers = BufReader::new(answers.ok_or(io::ErrorKind::BrokenPipe)?);
        let mut keeper = Keeper { shell, words, answers };
        keeper.heard()?;
        Ok(Service { directory: directory.to_owned(), keeper: Mutex::new(keeper) })
    }

    /// Stops the server at once, as a crash would.
    pub(crate) fn halt(&self) {
        self.say("halt");
    }

    /// Starts it again, on what it left.
    pub(crate) fn resume(&self) {
        self.say("start");
    }

    fn say(&self, word: &str) {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let words = keeper.words.as_mut().expect("open until the service is dropped");
        writeln!(words, "{word}").expect("the keeper listens");
        keeper.heard().expect("the keeper answers");
    }

    /// The last lines of what it wrote.
    pub(crate) fn log(&self) -> String {
        let text = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }
}

impl Keeper {
    fn heard(&mut self) -> io::Result<()> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line == "ok\n" { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let keeper = self.keeper.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(keeper.words.take());
        let _ = keeper.shell.wait();
    }
}

/// Waits until something holds, for half a minute.
pub(crate) fn until(holds: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        if holds() {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

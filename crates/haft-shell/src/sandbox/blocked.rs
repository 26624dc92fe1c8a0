//! What was refused, as facts for whoever reads the result.
//!
//! The kernel does not say what it refused; programs do, in their last words. A path in them is believed only if the policy
//! says that it is closed: what a program prints can be anything.

use std::{
    fmt, fs,
    os::unix::fs::FileTypeExt,
    path::{Component, Path, PathBuf},
};

use super::{Confinement, LimitExceeded, Resource, hosts, protected::is_protected, readable};
use crate::proxy::machine_ports;

/// Something that the sandbox refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Blocked {
    /// A change of this.
    Write(PathBuf),
    /// A change of this protected name, for certain; the effect says why it is protected.
    Protected {
        /// The file.
        path: PathBuf,
        /// The reason: "which editors run".
        effect: String,
    },
    /// Something else than writing to this file, which may be written.
    Replace(PathBuf),
    /// A look at this, which is closed.
    Read(PathBuf),
    /// A look at this, which is outside of what may be read.
    ReadOutside(PathBuf),
    /// A connection to this.
    Host(String),
    /// A connection to the service behind this Unix socket.
    Socket(PathBuf),
    /// A connection to a server on this machine, or in another command.
    Loopback,
    /// A system call of this kind.
    Syscall(&'static str),
    /// A file of more bytes than this.
    FileSize(u64),
    /// More in this private directory, which is full.
    NoSpace(PathBuf),
}

impl Blocked {
    /// The file that it is about, if it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Blocked::Write(path) | Blocked::Replace(path) | Blocked::Protected { path, .. } => Some(path),
            Blocked::Read(path) | Blocked::ReadOutside(path) | Blocked::Socket(path) => Some(path),
            _ => None,
        }
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blocked::Write(path) => {
                write!(
                    f,
                    "the sandbox refused to change {}; ask for permission to write there",
                    path.display()
                )
            }
            Blocked::Protected { path, effect } => write!(
                f,
                "the sandbox refused to change {}, {effect}; to allow it, name it in `write` so that it is asked for, or \
                 permit it by a rule such as `Edit(/{})`",
                path.display(),
                path.display()
            ),
            Blocked::Replace(path) => {
                let above = path.parent().unwrap_or(path);
                write!(
                    f,
                    "the sandbox lets {} be written as a file, not removed, replaced or made a directory; \
                     for that, ask for permission to write {}",
                    path.display(),
                    above.display()
                )
            }
            Blocked::Read(path) => {
                write!(f, "the sandbox refused to read {}, which a rule denies", path.display())
            }
            Blocked::ReadOutside(path) => write!(
                f,
                "the sandbox refused to read {}: a command that runs unasked reads the workspace and the system's own \
                 places; name the file in `read` to have it asked for",
                path.display()
            ),
            Blocked::Host(host) => {
                write!(f, "the sandbox refused to connect to {host}; ask for permission to use this host")
            }
            Blocked::Socket(path) => write!(
                f,
                "the sandbox refused to connect to the socket {0}; ask for permission to write {0}, \
                 or let the user name it in `sandbox.sockets`",
                path.display()
            ),
            Blocked::Loopback => write!(
                f,
                "in the sandbox localhost is not the machine's: only servers are there that this command started, \
                 or that run in the background of this session. A server of the machine has to be asked for in `hosts`, \
                 with its port: localhost:5432"
            ),
            Blocked::Syscall(what) => write!(f, "the sandbox refused {what}; it is not available inside"),
            Blocked::FileSize(limit) => LimitExceeded { resource: Resource::FileSize, limit: *limit }.fmt(f),
            Blocked::NoSpace(path) => write!(
                f,
                "the command's own {} is full: it is in memory; write large files into the workspace",
                path.display()
            ),
        }
    }
}

/// How much of the end of an output is looked at, and how much is told.
const TAIL: usize = 16 << 10;
const MOST: usize = 8;

/// How programs say that they were refused.
const WORDS: [&str; 6] = [
    "Permission denied",
    "Read-only file system",
    "Operation not permitted",
    "Device or resource busy",
    "Is a directory",
    "Invalid cross-device link",
];

/// How they say that a single file that they may write is not theirs to replace. The first is said of other things as well,
/// by which nobody was refused.
const IN_PLACE_WORDS: [&str; 4] =
    ["File exists", "Read-only file system", "Device or resource busy", "Invalid cross-device link"];

/// How programs say that the network is not there.
const NETWORK_WORDS: [&str; 4] = [
    "Could not resolve host",
    "Network is unreachable",
    "Temporary failure in name resolution",
    "Name or service not known",
];

/// How programs name this machine, and how they say that nobody answers there.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const SILENCE: [&str; 4] = ["refused", "REFUSED", "Failed to connect", "Could not connect"];

/// How programs say that a system call is closed to them.
const CALL_WORDS: [&str; 3] = ["Operation not permitted", "Function not implemented", "Permission denied"];

/// By which words of a complaint a closed kind of system calls is known, and what it is.
const CALLS: [(&str, &str); 12] = [
    ("ptrace", "to watch other processes"),
    ("unshare", "new namespaces"),
    ("setns", "other namespaces"),
    ("mount", "mounting"),
    ("chroot", "another root directory"),
    ("io_uring", "io_uring"),
    ("keyctl", "the kernel's keys"),
    ("bpf", "programs for the kernel"),
    ("perf_event", "counters of the kernel"),
    ("userfaultfd", "handling page faults"),
    ("socket", "this kind of socket"),
    ("clone", "new namespaces"),
];

/// How programs and shells say that a file may not become larger.
const TOO_LARGE_WORDS: [&str; 2] = ["File too large", "File size limit exceeded"];

/// Whether a program complains that there is no room.
pub(super) fn lacks_space(output: &[u8]) -> bool {
    memchr::memmem::find(&output[output.len().saturating_sub(TAIL)..], b"No space left on device").is_some()
}

/// What the end of an output says was refused, and the policy confirms.
pub(super) fn in_output(confinement: &Confinement, output: &[u8]) -> Vec<Blocked> {
    let tail = String::from_utf8_lossy(&output[output.len().saturating_sub(TAIL)..]);
    let mut found = Vec::new();
    let complains =
        |line: &&str| says(line, &WORDS) || says(line, &CALL_WORDS) || says(line, &IN_PLACE_WORDS);
    for line in tail.lines().filter(complains) {
        let paths = candidates(line).map(|text| absolute(&confinement.cwd, text));
        let blocked =
            paths.filter_map(|path| judge(confinement, path, line)).next().or_else(|| closed_call(line));
        found.extend(blocked.filter(|one| !found.contains(one)));
    }
    let is_too_large = TOO_LARGE_WORDS.iter().any(|word| tail.contains(word));
    if let Some(limit) = confinement.limits.file_size.filter(|_| is_too_large) {
        found.push(Blocked::FileSize(limit));
    }
    if confinement.network == super::Network::Off && NETWORK_WORDS.iter().any(|word| tail.contains(word)) {
        found.push(Blocked::Syscall("the network"));
    }
    let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    let is_alone = |line: &str| has(line, &LOOPBACK) && has(line, &SILENCE);
    if confinement.network != super::Network::On {
        for one in tail.lines().filter(|line| is_alone(line)).map(|line| silent_server(confinement, line)) {
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    found.truncate(MOST);
    found
}

/// Whether a line has one of these words. Go programs write the same errors in small letters.
fn says(line: &str, words: &[&str]) -> bool {
    let line = line.to_ascii_lowercase();
    words.iter().any(|word| line.contains(&word.to_ascii_lowercase()))
}

/// The server of this machine that a line says did not answer: the one at its port, if there is one that was not granted.
fn silent_server(confinement: &Confinement, line: &str) -> Blocked {
    let start = LOOPBACK.iter().filter_map(|name| line.find(name)).min().unwrap_or(0);
    let after = LOOPBACK.iter().fold(line[start..].to_owned(), |text, name| text.replace(name, ""));
    let port = after.split(|c: char| !c.is_ascii_digit());
    let port = port.filter_map(|digits| digits.parse::<u16>().ok()).find(|port| *port > 1);
    let is_granted =
        |port: &u16| hosts(&confinement.network).is_ok_and(|hosts| hosts.has_machine_port(*port));
    match port.filter(|port| !is_granted(port) && machine_ports().contains(port)) {
        Some(port) => Blocked::Host(format!("localhost:{port}")),
        None => Blocked::Loopback,
    }
}

/// The kind of system calls that a line complains about. All of them are closed to everything that runs inside.
fn closed_call(line: &str) -> Option<Blocked> {
    let is_word = |word: &&str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|other| other.starts_with(*word))
    };
    let complains = says(line, &CALL_WORDS);
    CALLS.iter().find(|(word, _)| complains && is_word(word)).map(|(_, what)| Blocked::Syscall(what))
}

/// The words of a line that may be paths: what is quoted, and what is between colons or spaces.
fn candidates(line: &str) -> impl Iterator<Item = &str> {
    let quotes = |c: char| matches!(c, '\'' | '"' | '`' | '‘' | '’');
    let quoted = line.split(quotes).skip(1).step_by(2);
    let between_colons = line.split(':').map(str::trim);
    let words = line.split([' ', ':']).map(move |word| word.trim_matches(quotes));
    quoted.chain(between_colons).chain(words).filter(|text| text.contains(['/', '.']))
}

/// A path from where the command started, without `.` and `..`. For comparing only.
fn absolute(cwd: &Path, text: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in cwd.join(text).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

/// What the policy says of a path, if it closes it to what a line complains about.
fn judge(confinement: &Confinement, path: PathBuf, line: &str) -> Option<Blocked> {
    if confinement.deny_read.iter().any(|denied| path.starts_with(denied)) {
        return Some(Blocked::Read(path));
    }
    if let Some(outside) = refused_outside(confinement, &path, line) {
        return Some(Blocked::ReadOutside(outside));
    }
    if fs::metadata(&path).is_ok_and(|facts| facts.file_type().is_socket()) {
        return Some(Blocked::Socket(path));
    }
    let is_root = |roots: &[PathBuf]| roots.contains(&path);
    if is_root(&confinement.make) || (is_root(&confinement.write) && path.is_file()) {
        return says(line, &IN_PLACE_WORDS).then_some(Blocked::Replace(path));
    }
    if !says(line, &WORDS) {
        return None;
    }
    let root = confinement.write.iter().find(|root| path.starts_with(root));
    match root {
        Some(root) => is_protected(root, confinement.home.as_deref(), &path).then_some(Blocked::Write(path)),
        None => exists_nearby(&path).then_some(Blocked::Write(path)),
    }
}

/// Where a path leads that is outside of what may be read.
fn refused_outside(confinement: &Confinement, path: &Path, line: &str) -> Option<PathBuf> {
    let read = confinement.read.as_ref().filter(|_| says(line, &["Permission denied"]))?;
    let place = path.canonicalize().ok()?;
    let roots = read.iter().chain(&confinement.write);
    let is_readable = roots.filter_map(|root| root.canonicalize().ok()).any(|root| place.starts_with(root));
    (!is_readable && !readable::is_the_systems(&place)).then_some(place)
}

/// Whether a word is a path at all: it or its directory is there.
fn exists_nearby(path: &Path) -> bool {
    path.exists() || path.parent().is_some_and(|parent| parent.parent().is_some() && parent.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: &[Blocked]) {
        let confinement = Confinement {
            write: vec!["/usr/w".into()],
            make: vec!["/usr/share/new".into()],
            deny_read: vec!["/root/.ssh".into()],
            ..Confinement::at("/usr/w")
        };
        assert_eq!(in_output(&confinement, output.as_bytes()), expected, "{output}");
    }

    #[test]
    fn a_refused_path_is_told_when_the_policy_closes_it() {
        check("bash: line 1: /etc/x: Read-only file system", &[Blocked::Write("/etc/x".into())]);
        check("cat: /root/.ssh/id: Permission denied", &[Blocked::Read("/root/.ssh/id".into())]);
        check(
            "touch: cannot touch '../lib/x y': Read-only file system",
            &[Blocked::Write("/usr/lib/x y".into())],
        );
        check("sh: .mcp.json: Is a directory", &[Blocked::Write("/usr/w/.mcp.json".into())]);
    }

    #[test]
    fn a_file_that_may_be_written_and_not_replaced_is_told_as_that() {
        let replace = [Blocked::Replace("/usr/share/new".into())];
        check("mkdir: cannot create directory ‘/usr/share/new’: File exists", &replace);
        check("mv: cannot move 'a' to '/usr/share/new': Device or resource busy", &replace);
        check("rm: cannot remove '/usr/share/new': Read-only file system", &replace);
        check("bash: /usr/share/new: Permission denied", &[]);
        check("mkdir: cannot create directory ‘/etc’: File exists", &[]);
        let told = replace[0].to_string();
        assert!(
            told.ends_with("made a directory; for that, ask for permission to write /usr/share"),
            "{told}"
        );
    }

    #[test]
    fn what_the_policy_leaves_open_was_refused_by_somebody_else() {
        check("cat: /usr/w/a.txt: Permission denied", &[]);
        check("all is well with /etc/passwd", &[]);
        check("error: 3.14: Operation not permitted", &[]);
    }

    #[test]
    fn each_is_told_once_and_not_too_many() {
        let one = "x: /etc/a: Permission denied\n";
        check(&one.repeat(100), &[Blocked::Write("/etc/a".into())]);
        let many: String = (0..99).map(|n| format!("x: /etc/{n}: Permission denied\n")).collect();
        let confinement = Confinement::at("/usr");
        assert_eq!(in_output(&confinement, many.as_bytes()).len(), MOST);
    }

    #[test]
    fn a_closed_system_call_is_told_by_its_kind() {
        check("unshare: unshare failed: Operation not permitted", &[Blocked::Syscall("new namespaces")]);
        check(
            "strace: ptrace(PTRACE_TRACEME): Operation not permitted",
            &[Blocked::Syscall("to watch other processes")],
        );
        check("mount: only root can do that", &[]);
        check("the mountain: Operation canceled", &[]);
    }

    #[test]
    fn a_refused_socket_is_told_by_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("docker.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let line = format!(
            "permission denied while trying to connect to the daemon at unix://{0}: dial unix {0}: socket: operation not permitted",
            path.display()
        );
        check(&line, &[Blocked::Socket(path)]);
    }

    #[test]
    fn without_a_network_its_absence_is_told() {
        check("curl: (6) Could not resolve host: example.com", &[Blocked::Syscall("the network")]);
    }

    #[test]
    fn that_nobody_is_at_localhost_is_told() {
        let alone = [Blocked::Loopback];
        check("curl: (7) Failed to connect to localhost port 8123 after 0 ms: Couldn't connect", &alone);
        check("Error: connect ECONNREFUSED 127.0.0.1:3000", &alone);
        check("dial tcp [::1]:5432: connect: connection refused", &alone);
        check("Serving on http://localhost:3000", &[]);
        check("curl: (7) Failed to connect to 10.0.0.1 port 80", &[]);
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let at = [Blocked::Host(format!("localhost:{port}"))];
        check(&format!("Could not connect to Redis at 127.0.0.1:{port}: Connection refused"), &at);
        let psql =
            format!("connection to server at \"localhost\" (::1), port {port} failed: Connection refused");
        check(&psql, &at);
        check(&psql.replace("::1", "127.0.0.1"), &at);
        check(&format!("curl: (7) Failed to connect to localhost port {port} after 0 ms"), &at);
    }
}

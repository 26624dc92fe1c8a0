//! Unix sockets: which of them a process connects to, and what agents behind them are good for.

use std::{
    io::{Read, Write},
    os::unix::net::UnixListener,
    process::Child,
};

use super::*;

/// Ends with its value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Why there is nothing to test.
fn lacks_supervision() -> bool {
    lacks_namespaces() || {
        let is_there = Support::here().notifications;
        if !is_there {
            println!("skipped: the kernel reports no system calls");
        }
        !is_there
    }
}

fn with_sockets(scene: &Scene, sockets: &[&str]) -> Confinement {
    let sockets = sockets.iter().map(|path| scene.path(path)).collect();
    Confinement { sockets: Some(sockets), ..scene.confinement() }
}

/// What a script prints, and what was refused.
fn outcome(confinement: &Confinement, script: &str, variables: &[(&str, &str)]) -> (String, Vec<Blocked>) {
    let (mut command, mut guard) = ready(confinement, &Support::here(), script);
    command.envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|err| guard.explain(err)).unwrap();
    guard.started().unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&text).trim().to_owned(), guard.blocked(&[]))
}

/// A service of the user behind a socket: it says hello to each client, and hears what it says.
fn service(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut heard = [0; 64];
            let count = stream.read(&mut heard).unwrap_or(0);
            let _ = stream.write_all(&[b"heard ", &heard[..count]].concat());
        }
    });
}

const ASK: &str = "import socket, sys
s = socket.socket(socket.AF_UNIX, int(sys.argv[2]) if len(sys.argv) > 2 else socket.SOCK_STREAM)
s.settimeout(5)
try:
    s.connect(sys.argv[1].replace('@', '\\0'))
    s.sendall(b'hi')
    print(s.recv(64).decode(), s.gettimeout(), s.get_inheritable())
except OSError as err: print(type(err).__name__)";

fn ask(path: &Path) -> String {
    format!("python3 -c \"{ASK}\" {}", path.display())
}

#[test]
fn a_granted_socket_is_connected_to_and_others_are_refused_and_told() {
    if lacks_supervision() || !is_installed("python3") {
        return;
    }
    let scene = Scene::new();
    let (granted, other, in_workspace) = (scene.path("out/a"), scene.path("out/b"), scene.path("ws/c"));
    for path in [&granted, &other, &in_workspace] {
        service(path);
    }
    symlink(&granted, scene.path("out/link")).unwrap();
    symlink(&other, scene.path("ws/link")).unwrap();
    let confinement = with_sockets(&scene, &["out/a"]);
    let tell = |path: &Path| outcome(&confinement, &ask(path), &[]);
    let reached = ("heard hi 5.0 False".to_owned(), Vec::new());
    assert_eq!(tell(&granted), reached);
    assert_eq!(tell(&scene.path("out/link")), reached);
    assert_eq!(tell(&scene.path("ws/../out/./a")), reached);
    let refused = |path: &Path| ("PermissionError".to_owned(), vec![Blocked::Socket(path.to_owned())]);
    assert_eq!(tell(&other), refused(&other));
    assert_eq!(tell(&scene.path("ws/link")), refused(&other));
    // A service of the user may have its socket in the workspace.
    assert_eq!(tell(&in_workspace), refused(&in_workspace));
    assert_eq!(tell(&scene.path("out/none")), ("FileNotFoundError".to_owned(), Vec::new()));
    assert_eq!(tell(Path::new("@abstract")), ("PermissionError".to_owned(), Vec::new()));
    // A socket for datagrams cannot be made.
    let datagrams = format!("{} 2 2>&1 | tail -1", ask(&granted));
    assert!(outcome(&confinement, &datagrams, &[]).0.starts_with("PermissionError"));
    let closed = Confinement { sockets: None, ..scene.confinement() };
    assert!(
        outcome(&closed, &format!("{} 2>&1 | tail -1", ask(&granted)), &[]).0.starts_with("PermissionError")
    );
}

#[test]
fn a_socket_that_is_made_inside_is_connected_to_from_inside() {
    if lacks_supervision() || !is_installed("python3") {
        return;
    }
    let scene = Scene::new();
    let confinement = with_sockets(&scene, &[]);
    let script = "python3 -c \"
import multiprocessing.connection as c, socket, threading, select, os
for place in ['/tmp/s', 's', '/dev/shm/s']:
    listener = c.Listener(place, 'AF_UNIX')
    thread = threading.Thread(target=lambda: listener.accept().send(place))
    thread.start()
    print(c.Client(listener.address, 'AF_UNIX').recv())
    thread.join()
    listener.close()
server = socket.socket(socket.AF_UNIX); server.bind('/tmp/haft-made-inside'); server.listen()
client = socket.socket(socket.AF_UNIX); client.setblocking(False); client.connect('/tmp/haft-made-inside')
print(client.getblocking(), os.get_inheritable(client.fileno()))
print(client.getpeername())
\"; python3 -c 'from multiprocessing import Manager; print(Manager().list([1, 2]))'";
    let expected = "/tmp/s\ns\n/dev/shm/s\nFalse False\n/tmp/haft-made-inside\n[1, 2]";
    assert_eq!(outcome(&confinement, script, &[]), (expected.to_owned(), Vec::new()));
}

#[test]
fn a_path_that_changes_while_it_is_read_leads_nowhere_else() {
    if lacks_supervision() || !is_installed("cc") {
        return;
    }
    let scene = Scene::new();
    let listener = UnixListener::bind(scene.path("out/b")).unwrap();
    listener.set_nonblocking(true).unwrap();
    service(&scene.path("out/a"));
    let source = r#"
#include <pthread.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>
static struct sockaddr_un address = { AF_UNIX };
static char *last;
static volatile int over;
static void *swap(void *x) { while (!over) { *last = 'b'; *last = 'a'; } return x; }
int main(int n, char **argv) {
    strcpy(address.sun_path, argv[1]);
    last = address.sun_path + strlen(address.sun_path) - 1;
    pthread_t thread;
    pthread_create(&thread, 0, swap, 0);
    int connected = 0;
    for (int i = 0; i < 3000; i++) {
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        connected += connect(s, (void *)&address, sizeof address) == 0;
        close(s);
    }
    over = 1;
    puts(connected ? "some" : "none");
    return 0;
}"#;
    fs::write(scene.path("ws/race.c"), source).unwrap();
    let mut built = Command::new("cc");
    assert!(
        built
            .args(["-O1", "-pthread", "-o"])
            .arg(scene.path("ws/race"))
            .arg(scene.path("ws/race.c"))
            .status()
            .unwrap()
            .success()
    );
    let script = format!("./race {}", scene.path("out/a").display());
    assert_eq!(outcome(&with_sockets(&scene, &["out/a"]), &script, &[]).0, "some");
    assert!(listener.accept().is_err(), "nobody came to the socket that was not granted");
}

#[test]
fn other_connections_are_made_as_before() {
    if lacks_supervision() || !is_installed("python3") {
        return;
    }
    let scene = Scene::new();
    let script = "python3 -c \"
import asyncio, socket
async def main():
    server = await asyncio.start_server(lambda r, w: w.write(b'hello') or w.close(), '127.0.0.1', 0)
    port = server.sockets[0].getsockname()[1]
    reader, _ = await asyncio.open_connection('127.0.0.1', port)
    print((await reader.read()).decode())
    try: socket.create_connection(('127.0.0.1', 9), 5)
    except OSError as err: print(type(err).__name__)
    try: socket.create_connection(('10.0.0.1', 9), 5)
    except OSError as err: print(err.strerror)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('127.0.0.1', 9)); print(s.getpeername())
asyncio.run(main())\"";
    let expected = "hello\nConnectionRefusedError\nNetwork is unreachable\n('127.0.0.1', 9)";
    assert_eq!(outcome(&with_sockets(&scene, &[]), script, &[]).0, expected);
}

#[test]
fn an_agent_of_ssh_signs_for_a_granted_socket() {
    if lacks_supervision() || !is_installed("ssh-agent") || !is_installed("ssh-keygen") {
        return;
    }
    let scene = Scene::new();
    let (key, agent) = (scene.path("out/key"), scene.path("out/agent"));
    let made = ["-q", "-t", "ed25519", "-N", "", "-C", "mine", "-f"];
    assert!(Command::new("ssh-keygen").args(made).arg(&key).status().unwrap().success());
    let child =
        Command::new("ssh-agent").arg("-D").arg("-a").arg(&agent).stdout(Stdio::null()).spawn().unwrap();
    let _agent = Running(child);
    let began = Instant::now();
    while !agent.exists() && began.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(10));
    }
    let socket = agent.to_str().unwrap();
    let added = Command::new("ssh-add").arg("-q").arg(&key).env("SSH_AUTH_SOCK", socket).status();
    assert!(added.unwrap().success());
    fs::remove_file(&key).unwrap();
    let sign = format!(
        "ssh-add -l | cut -d' ' -f3; echo text > t; ssh-keygen -q -Y sign -n git -f {}.pub t && test -s t.sig && echo signed",
        key.display()
    );
    let (text, _) = outcome(&with_sockets(&scene, &["out/agent"]), &sign, &[("SSH_AUTH_SOCK", socket)]);
    assert!(text.starts_with("mine") && text.ends_with("signed"), "{text}");
    let (text, blocked) = outcome(&with_sockets(&scene, &[]), "ssh-add -l", &[("SSH_AUTH_SOCK", socket)]);
    assert!(text.contains("Permission denied"), "{text}");
    assert_eq!(blocked, [Blocked::Socket(agent)]);
}

#[test]
fn git_signs_commits_with_gpg_when_the_socket_of_its_agent_is_granted() {
    if lacks_supervision() || !is_installed("gpg") || !is_installed("gpg-agent") {
        return;
    }
    let scene = Scene::new();
    let home = tempfile::Builder::new().prefix("gpg").tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let gpg = |arguments: &[&str]| {
        let mut command = Command::new("gpg");
        let output =
            command.args(["--batch", "--homedir"]).arg(home.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    gpg(&["--passphrase", "", "--quick-generate-key", "me <me@x.test>", "ed25519", "sign", "never"]);
    let mut socket = Command::new("gpgconf");
    socket.arg("--homedir").arg(home.path()).args(["--list-dirs", "agent-socket"]);
    let socket = PathBuf::from(String::from_utf8(socket.output().unwrap().stdout).unwrap().trim());
    assert!(socket.exists(), "{}", socket.display());
    let set = "git init -q s && cd s && git config user.name me && git config user.email me@x.test && \
               git config user.signingkey me@x.test";
    let script = format!("{set}; git commit -q -S --allow-empty -m one; git log --format=%s");
    let variables = [("GNUPGHOME", home.path().to_str().unwrap())];
    let granted = Confinement { sockets: Some(vec![socket.clone()]), ..scene.confinement() };
    let (text, blocked) = outcome(&granted, &script, &variables);
    assert_eq!((text.as_str(), blocked), ("one", vec![]));
    // Looked at outside: gpg writes its database of trust when it looks at a signature for the first time.
    let mut verify = Command::new("git");
    verify.arg("-C").arg(scene.path("ws/s")).args(["log", "--format=%G?"]).envs(variables);
    assert_eq!(String::from_utf8_lossy(&verify.output().unwrap().stdout).trim(), "G");
    let not = Confinement { sockets: Some(Vec::new()), ..scene.confinement() };
    let (text, blocked) = outcome(&not, &script.replace(" s ", " t ").replace("cd s", "cd t"), &variables);
    assert!(text.contains("failed to write commit object"), "{text}");
    assert!(blocked.contains(&Blocked::Socket(socket)), "{blocked:?}");
    let _ = Command::new("gpgconf").arg("--homedir").arg(home.path()).args(["--kill", "all"]).status();
}

#[test]
fn the_client_of_docker_reaches_a_granted_daemon() {
    if lacks_supervision() || !is_installed("docker") {
        return;
    }
    let scene = Scene::new();
    let socket = scene.path("out/docker.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 4096]);
            let body = r#"{"ApiVersion":"1.47","Version":"of-a-test"}"#;
            let head = format!(
                "HTTP/1.1 200 OK\r\nApi-Version: 1.47\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all((head + body).as_bytes());
        }
    });
    let host = format!("unix://{}", socket.display());
    let (text, _) = outcome(
        &with_sockets(&scene, &["out/docker.sock"]),
        "docker version --format '{{.Server.Version}}'",
        &[("DOCKER_HOST", &host)],
    );
    assert_eq!(text, "of-a-test");
}

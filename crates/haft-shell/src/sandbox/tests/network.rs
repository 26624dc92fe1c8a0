//! Granted hosts, reached as programs reach them that know nothing of a proxy: on real servers.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    process::Child,
};

use super::*;

/// A server of the machine, which ends with its value.
struct Server {
    child: Child,
    port: u16,
    directory: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts a program once `prepare` has made what it needs, and waits until it listens. None where there is no such program.
    fn start(command: impl FnOnce(&Path, u16) -> Option<Command>) -> Option<Server> {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = command(directory.path(), port)?;
        let errors = fs::File::create(directory.path().join("errors")).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn();
        let Ok(child) = child else {
            skip_without(&format!("{command:?}"));
            return None;
        };
        let mut server = Server { child, port, directory };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let errors = || fs::read_to_string(server.directory.path().join("errors"));
            assert!(server.child.try_wait().unwrap().is_none(), "{command:?}: {:?}", errors());
            assert!(began.elapsed() < Duration::from_secs(30), "{command:?}: {:?}", errors());
            thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }
}

#[track_caller]
fn succeed(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An echo of lines with a word in front, on the machine's loopback.
fn echo_server(word: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut heard = [0; 64];
            let count = stream.read(&mut heard).unwrap_or(0);
            let _ = stream.write_all(&[word.as_bytes(), b": ", &heard[..count]].concat());
        }
    });
    address
}

fn reaching(scene: &Scene, hosts: &[&str]) -> Confinement {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    Confinement { network: Network::Hosts(hosts), ..scene.confinement() }
}

/// What a script prints, and what was refused.
fn outcome(confinement: &Confinement, script: &str) -> (String, Vec<Blocked>) {
    let (mut command, mut guard) = ready(confinement, &Support::here(), script);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|err| guard.explain(err)).unwrap();
    guard.started().unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&text).trim().to_owned(), guard.blocked(&[]))
}

#[track_caller]
fn check(confinement: &Confinement, script: &str, expected: &str) {
    assert_eq!(outcome(confinement, script).0, expected, "{script}");
}

/// Says hello to a host with the shell alone.
fn hello(host: &str, port: u16) -> String {
    format!("exec 3<>/dev/tcp/{host}/{port} && printf hello >&3 && cat <&3; exec 3<&-")
}

#[test]
fn a_granted_loopback_port_is_reached_by_each_name_and_others_are_not() {
    needs_namespaces!();
    let scene = Scene::new();
    let (granted, other) = (echo_server("granted"), echo_server("other"));
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        let confinement = reaching(&scene, &[&format!("{host}:{}", granted.port())]);
        for name in ["localhost", "127.0.0.1", "0.0.0.0"] {
            check(&confinement, &hello(name, granted.port()), "granted: hello");
        }
        let refused = outcome(&confinement, &hello("127.0.0.1", other.port())).0;
        assert!(refused.contains("Connection refused"), "{refused}");
    }
    let all = reaching(&scene, &["localhost"]);
    check(&all, &hello("localhost", granted.port()), "granted: hello");
    check(&all, &hello("localhost", other.port()), "other: hello");
}

#[test]
fn a_server_that_begins_later_is_reached_and_one_of_the_command_is_its_own() {
    needs_namespaces!();
    if !is_installed("python3") {
        return;
    }
    let scene = Scene::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let confinement = reaching(&scene, &[&format!("localhost:{port}")]);
    let own = format!(
        "python3 -c 'import socket; s=socket.create_server((\"127.0.0.1\",{port})); c=s.accept()[0]; c.sendall(b\"own\")' & \
         for n in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3) 2>/dev/null && break; sleep 0.1; done"
    );
    check(&confinement, &own, "own");
    let later = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        let server = TcpListener::bind(("127.0.0.1", port)).unwrap();
        server.accept().map(|(mut stream, _)| stream.write_all(b"later"))
    });
    let wait = format!(
        "for n in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3) 2>/dev/null && break; sleep 0.1; done"
    );
    check(&confinement, &wait, "later");
    later.join().unwrap().unwrap().unwrap();
}

#[test]
fn a_granted_name_is_reached_without_a_proxy_and_others_do_not_exist() {
    needs_namespaces!();
    if !is_installed("python3") {
        return;
    }
    let scene = Scene::new();
    let server = echo_server("db");
    let port = server.port();
    let confinement = reaching(&scene, &[&format!("db.haft.test:{port}"), &format!("127.0.0.1:{port}")]);
    check(&confinement, &hello("db.haft.test", port), "db: hello");
    let python = format!(
        "python3 -c 'import socket; s=socket.create_connection((\"DB.haft.test.\",{port})); s.sendall(b\"x\"); print(s.recv(9).decode())'"
    );
    check(&confinement, &python, "db: x");
    let began = Instant::now();
    let (text, blocked) =
        outcome(&confinement, "getent ahosts evil.haft.test; echo $?; getent hosts db.haft.test");
    assert_eq!(text, "2\n127.64.0.1      db.haft.test");
    assert_eq!(blocked, [Blocked::Host("evil.haft.test".to_owned())]);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    // A private address is reached because it is in the list, not because the name is.
    let (text, blocked) = outcome(&reaching(&scene, &["db.haft.test"]), &hello("db.haft.test", port));
    assert!(text.contains("db.haft.test"), "{text}");
    assert_eq!(blocked, [Blocked::Host("db.haft.test".to_owned())]);
}

#[test]
fn a_granted_address_of_another_machine_has_listeners_inside() {
    needs_namespaces!();
    let scene = Scene::new();
    let confinement = reaching(&scene, &["10.255.255.254:5432", "[fd00::1]:5432"]);
    let listening = "cat /proc/net/tcp /proc/net/tcp6 | grep -c ':1538 .* 0A '";
    let expected = if Path::new("/proc/net/if_inet6").exists() { "2" } else { "1" };
    check(&confinement, listening, expected);
}

#[test]
fn a_server_of_the_session_is_reached_beside_granted_hosts() {
    needs_namespaces!();
    if !is_installed("python3") {
        return;
    }
    let scene = Scene::new();
    let machine = echo_server("machine");
    let serve = "python3 -c 'import socket
s = socket.create_server((\"127.0.0.1\", 8125))
print(\"ready\", flush=True)
while True: s.accept()[0].sendall(b\"session\")'";
    let (mut command, mut guard) = ready(&scene.confinement(), &Support::here(), serve);
    let mut first = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    guard.started().unwrap();
    first.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    let hosts = reaching(&scene, &[&format!("localhost:{}", machine.port())]);
    let beside = Confinement { beside: guard.loopback(), ..hosts };
    let both = format!("cat < /dev/tcp/127.0.0.1/8125; echo; {}", hello("127.0.0.1", machine.port()));
    check(&beside, &both, "session\nmachine: hello");
    // By way of one that joined, too.
    let joined = Confinement { beside: guard.loopback(), ..scene.confinement() };
    let (mut command, mut second) = ready(&joined, &Support::here(), "read");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    second.started().unwrap();
    let by_way = Confinement { beside: second.loopback(), ..reaching(&scene, &["docs.rs"]) };
    check(&by_way, "cat < /dev/tcp/127.0.0.1/8125", "session");
    drop(child.stdin.take());
    child.wait().unwrap();
    drop(guard);
    first.wait().unwrap();
}

fn sshd(directory: &Path, port: u16) -> Option<Command> {
    if !is_installed("/usr/sbin/sshd") || !is_installed("ssh") {
        return None;
    }
    let path = |name: &str| directory.join(name).display().to_string();
    for key in ["host", "user"] {
        succeed(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]));
    }
    // Where it is started by root it wants a place to lock itself in.
    let _ = fs::create_dir_all("/run/sshd");
    let mut command = Command::new("/usr/sbin/sshd");
    command.args(["-D", "-e", "-f", "/dev/null", "-h", &path("host"), "-p", &port.to_string()]);
    let keys = format!("AuthorizedKeysFile={}", path("user.pub"));
    for option in ["ListenAddress=127.0.0.1", "StrictModes=no", "PidFile=none", "PermitRootLogin=yes", &keys]
    {
        command.args(["-o", option]);
    }
    Some(command)
}

#[test]
fn ssh_and_git_over_ssh_reach_a_granted_port() {
    needs_namespaces!();
    let Some(server) = Server::start(sshd) else { return };
    let scene = Scene::new();
    let port = server.port;
    let ssh = format!(
        "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -i {}",
        server.path("user")
    );
    let by_address = reaching(&scene, &[&format!("127.0.0.1:{port}")]);
    check(&by_address, &format!("{ssh} -p {port} 127.0.0.1 echo reached"), "reached");
    let by_name = reaching(&scene, &[&format!("db.haft.test:{port}"), &format!("localhost:{port}")]);
    check(&by_name, &format!("{ssh} -p {port} db.haft.test echo reached"), "reached");
    let origin = server.path("origin");
    let git = "git -c user.name=u -c user.email=e@x -c init.defaultBranch=main";
    let make = format!("{git} init -q {origin} && cd {origin} && {git} commit -q --allow-empty -m one");
    succeed(Command::new("sh").args(["-c", &make]));
    let clone = format!(
        "GIT_SSH_COMMAND='{ssh}' git clone -q ssh://db.haft.test:{port}{origin} /tmp/clone && git -C /tmp/clone log --format=%s"
    );
    check(&by_name, &clone, "one");
    let (text, _) =
        outcome(&reaching(&scene, &["docs.rs"]), &format!("{ssh} -p {port} 127.0.0.1 echo reached"));
    assert!(text.contains("refused"), "{text}");
}

#[test]
fn redis_is_reached_on_a_granted_port() {
    needs_namespaces!();
    let redis = |_: &Path, port: u16| {
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir", "/tmp"]);
        is_installed("redis-server").then_some(command)
    };
    let Some(server) = Server::start(redis) else { return };
    let scene = Scene::new();
    let port = server.port;
    let granted = reaching(&scene, &[&format!("localhost:{port}"), &format!("db.haft.test:{port}")]);
    check(&granted, &format!("redis-cli -h localhost -p {port} set a 1; redis-cli -p {port} get a"), "OK\n1");
    check(&granted, &format!("redis-cli -h db.haft.test -p {port} ping"), "PONG");
}

fn postgres(directory: &Path, port: u16) -> Option<Command> {
    let found =
        Command::new("sh").args(["-c", "ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1"]).output();
    let programs = PathBuf::from(String::from_utf8_lossy(&found.ok()?.stdout).trim());
    if !programs.join("initdb").is_file() || !programs.join("postgres").is_file() {
        skip_without("PostgreSQL server");
        return None;
    }
    // It refuses to run as root.
    let as_user = |program: &str| {
        let program = programs.join(program);
        match sys::own_ids().0 {
            0 => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
                command
            }
            _ => Command::new(program),
        }
    };
    let data = directory.join("data");
    fs::create_dir(&data).unwrap();
    if sys::own_ids().0 == 0 {
        succeed(Command::new("chown").arg("postgres").args([&data, directory]));
    }
    succeed(as_user("initdb").args(["-A", "trust", "-U", "haft", "-D"]).arg(&data));
    let mut command = as_user("postgres");
    command.arg("-D").arg(&data).args(["-p", &port.to_string(), "-k", "", "-h", "127.0.0.1", "-F"]);
    Some(command)
}

#[test]
fn psql_reaches_a_granted_port_by_name_and_by_address() {
    needs_namespaces!();
    if !is_installed("psql") {
        return;
    }
    let Some(server) = Server::start(postgres) else { return };
    let scene = Scene::new();
    let port = server.port;
    let granted = reaching(&scene, &[&format!("localhost:{port}"), &format!("db.haft.test:{port}")]);
    for host in ["localhost", "127.0.0.1", "db.haft.test"] {
        check(&granted, &format!("psql -h {host} -p {port} -U haft postgres -Atc 'select 6*7'"), "42");
    }
}

#[test]
fn curl_nc_and_node_reach_a_granted_port_with_and_without_the_proxy() {
    needs_namespaces!();
    let Some(server) = Server::start(|_, port| {
        let mut command = Command::new("python3");
        command.args(["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()]).current_dir("/usr");
        is_installed("python3").then_some(command)
    }) else {
        return;
    };
    let scene = Scene::new();
    let port = server.port;
    let granted = reaching(&scene, &[&format!("localhost:{port}"), &format!("db.haft.test:{port}")]);
    let fetch = "-s -o /dev/null -w '%{http_code}'";
    if is_installed("curl") {
        for host in ["localhost", "127.0.0.1", "db.haft.test"] {
            check(&granted, &format!("curl {fetch} http://{host}:{port}/"), "200");
            check(&granted, &format!("curl {fetch} --noproxy '*' http://{host}:{port}/"), "200");
            let by_proxy =
                format!("no_proxy= NO_PROXY= curl {fetch} -x http://127.0.0.1:3128 http://{host}:{port}/");
            check(&granted, &by_proxy, "200");
        }
    }
    if is_installed("nc") {
        let ask = format!("printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -N db.haft.test {port} | head -c 12");
        check(&granted, &ask, "HTTP/1.0 200");
    }
    if is_installed("node") {
        for host in ["localhost", "db.haft.test"] {
            let ask = format!("node -e 'fetch(\"http://{host}:{port}/\").then(r => console.log(r.status))'");
            check(&granted, &ask, "200");
        }
    }
}

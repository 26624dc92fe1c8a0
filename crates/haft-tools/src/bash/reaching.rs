//! What a command reaches of the user's own machine, in each way in which that can be granted.

use std::{
    io::{Read, Write},
    net::TcpListener,
    os::unix::net::UnixListener,
    sync::{Arc, Mutex},
};

use haft_engine::{
    Call, Session,
    policy::{Answer, Asker, Origin, Question, Rules},
};
use haft_testkit::{Workspace, engine, session};
use haft_tool::BoxFuture;
use serde_json::{Value, json};

/// A person who says yes, and keeps what they were asked.
#[derive(Clone, Default)]
struct Yes(Arc<Mutex<Vec<String>>>);

impl Asker for Yes {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        self.0.lock().unwrap().push(question.call.decision.reason());
        Box::pin(async { Answer::Once })
    }
}

/// A call of Bash under rules, with settings, with or without a person.
struct Attempt {
    rules: Vec<&'static str>,
    hosts: Vec<String>,
    sockets: Vec<std::path::PathBuf>,
    person: Option<Yes>,
}

impl Attempt {
    fn new() -> Attempt {
        Attempt { rules: vec!["Bash"], hosts: Vec::new(), sockets: Vec::new(), person: None }
    }

    fn call(self, input: Value) -> String {
        let workspace = Workspace::new("-- a\nx\n");
        let tools = crate::builtin_with(crate::Options::default());
        let mut builder = engine(&workspace).tools(tools).rules(Rules::allowing(self.rules, Origin::Session));
        if let Some(person) = self.person {
            builder = builder.asker(person);
        }
        let (hosts, sockets) = (self.hosts, self.sockets);
        let builder = builder.settings(|settings| {
            settings.sandbox.hosts = hosts;
            settings.sandbox.sockets = sockets;
        });
        let session: Session = session(&builder.build().unwrap(), &workspace);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let result = runtime.block_on(session.call(Call::new("1", "Bash", input)));
        runtime.block_on(session.end());
        result.text()
    }
}

fn lacks_namespaces() -> bool {
    let support = haft_shell::sandbox::Support::here();
    if let Err(why) = &support.namespaces {
        println!("skipped: {why}");
    }
    support.namespaces.is_err()
}

/// A server of the machine that says hello.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.write_all(b"hello");
        }
    });
    port
}

#[test]
fn a_loopback_port_is_reached_in_each_way_in_which_it_can_be_granted() {
    if lacks_namespaces() {
        return;
    }
    let port = server();
    let command = format!("timeout 5 cat < /dev/tcp/localhost/{port}");
    let plain = json!({ "command": command });
    let named = |host: &str| json!({ "command": command, "hosts": [format!("{host}:{port}")] });
    // By a yes to the question that names it,
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let person = Yes::default();
        let answered = Attempt { person: Some(person.clone()), ..Attempt::new() }.call(named(host));
        assert_eq!(answered, "hello", "{host}");
        let asked = person.0.lock().unwrap().join("\n");
        assert!(asked.contains(&format!("sends to {host}:{port}")), "{asked}");
    }
    // by a rule,
    let rules = vec!["Bash", "WebFetch(domain:localhost)"];
    assert_eq!(Attempt { rules, ..Attempt::new() }.call(named("localhost")), "hello");
    // by the settings,
    for host in [format!("localhost:{port}"), "127.0.0.1".to_owned()] {
        assert_eq!(Attempt { hosts: vec![host], ..Attempt::new() }.call(plain.clone()), "hello");
    }
    // and not without: a rule for the program is none for the host.
    let refused = Attempt::new().call(named("localhost"));
    assert!(refused.contains("only a rule that names this very host permits that"), "{refused}");
    let refused = Attempt::new().call(plain.clone());
    assert!(refused.contains("refused"), "{refused}");
    let other = vec![format!("localhost:{}", port ^ 1)];
    assert!(Attempt { hosts: other, ..Attempt::new() }.call(plain).contains("refused"));
}

#[test]
fn a_socket_is_reached_by_the_settings_and_by_a_yes_to_write_it() {
    if lacks_namespaces() || !haft_shell::sandbox::Support::here().notifications {
        println!("skipped: the kernel reports no system calls");
        return;
    }
    let place = tempfile::Builder::new().tempdir_in("/var/tmp").unwrap();
    let path = place.path().canonicalize().unwrap().join("agent");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 8]);
            let _ = stream.write_all(b"signed");
        }
    });
    let ask = format!(
        "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"{}\"); s.sendall(b\"x\"); print(s.recv(9).decode())'",
        path.display()
    );
    let told = Attempt::new().call(json!({ "command": "command -v python3" }));
    if !told.contains("python3") {
        println!("skipped: there is no python3");
        return;
    }
    let plain = json!({ "command": ask });
    let set = Attempt { sockets: vec![path.clone()], ..Attempt::new() };
    assert_eq!(set.call(plain.clone()), "signed");
    let person = Yes::default();
    let written = json!({ "command": ask, "write": [path] });
    let answered = Attempt { rules: Vec::new(), person: Some(person), ..Attempt::new() }.call(written);
    assert_eq!(answered, "signed");
    let refused = Attempt::new().call(plain);
    let told = format!("the sandbox refused to connect to the socket {}", path.display());
    assert!(refused.contains(&told), "{refused}");
}

//! Clients of the protocol: on stdin and stdout, and by HTTP.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::Child,
};

use serde_json::{Value, json};

use crate::kit::Place;

pub(crate) const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

pub(crate) fn request(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn answer(lines: &[Value], id: u64) -> &Value {
    lines.iter().find(|line| line["id"] == id).unwrap_or_else(|| panic!("no answer to {id}: {lines:?}"))
}

#[test]
fn a_client_that_starts_it_lists_and_calls_and_it_ends_with_the_client() {
    let place = Place::new("-- project/notes.md\nsome notes\n");
    let read = json!({ "name": "Read", "arguments": { "file_path": "notes.md" } });
    let denied = json!({ "name": "Write", "arguments": { "file_path": "new.md", "content": "x" } });
    let lines = [
        HELLO.to_owned(),
        request(2, "tools/list", json!({})),
        request(3, "tools/call", read),
        request(4, "tools/call", denied),
    ];
    let ran = place.haft_with(&["mcp"], &(lines.join("\n") + "\n")).expect(0, "");
    let answers = ran.lines();
    assert_eq!(answer(&answers, 1)["result"]["serverInfo"]["name"], "haft");
    let names: Vec<&str> = answer(&answers, 2)["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"Read") && names.contains(&"ToolCall") && names.is_sorted(), "{names:?}");
    assert!(answer(&answers, 3)["result"]["content"][0]["text"].as_str().unwrap().contains("some notes"));
    let refused = &answer(&answers, 4)["result"];
    assert_eq!(refused["isError"], true);
    let hint = refused["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
    assert!(hint.contains("haft mcp --allow 'Edit("), "{hint}");
    assert!(!place.path("project/new.md").exists());
}

/// A server behind it, as a script: it answers what it is asked, a line at a time, and keeps the calls that it gets.
const SERVER: &str = r#"-- home/server.sh
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *server/discover*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}}\n' "$id" ;;
    *tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"greet","inputSchema":{"type":"object"},"x-mine":1}]}}\n' "$id" ;;
    *tools/call*) printf '%s\n' "$line" >> "${0%/*}/calls.txt"
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"hello","_meta":{"a":1}}]}}\n' "$id" ;;
  esac
done
"#;

pub(crate) fn with_server() -> Place {
    let place = Place::new(SERVER);
    let script = place.path("home/server.sh");
    let settings = format!("[mcp.servers.up]\ncommand = \"/bin/sh\"\nargs = [\"{}\"]\n", script.display());
    std::fs::create_dir_all(place.path("config/haft")).unwrap();
    std::fs::write(place.path("config/haft/haft.toml"), settings).unwrap();
    place
}

#[test]
fn one_server_alone_is_shown_as_it_is_and_ends_with_haft() {
    let place = with_server();
    let call = json!({ "name": "greet", "arguments": {} });
    let lines = [HELLO.to_owned(), request(2, "tools/list", json!({})), request(3, "tools/call", call)];
    let words = ["mcp", "--only", "up", "--allow", "mcp__up"];
    let ran = place.haft_with(&words, &(lines.join("\n") + "\n")).expect(0, "");
    let answers = ran.lines();
    assert_eq!(answer(&answers, 1)["result"]["serverInfo"]["name"], "script");
    assert_eq!(
        answer(&answers, 2)["result"]["tools"],
        json!([{ "name": "greet", "inputSchema": { "type": "object" }, "x-mine": 1 }])
    );
    assert_eq!(
        answer(&answers, 3)["result"]["content"],
        json!([{ "type": "text", "text": "hello", "_meta": { "a": 1 } }])
    );
    place.haft(&["mcp", "--only", "other"]).expect(2, "there are up");
}

/// A server by HTTP, ended with the test.
struct Served {
    child: Child,
    port: u16,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listen(place: &Place, words: &[&str]) -> (Served, String) {
    let words: Vec<&str> = ["mcp", "--listen", "127.0.0.1:0"].iter().chain(words).copied().collect();
    let mut child = place.command(&words).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    let port = said
        .split("127.0.0.1:")
        .nth(1)
        .and_then(|rest| rest.split('/').next())
        .unwrap_or_else(|| panic!("{said}"));
    let port = port.parse().unwrap();
    (Served { child, port }, said)
}

fn status(served: &Served, headers: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n",
        HELLO.len()
    );
    stream.write_all((head + HELLO).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn by_http_a_token_is_made_kept_and_asked_for() {
    let place = Place::new("");
    let (served, said) = listen(&place, &[]);
    let path = said.trim().rsplit(' ').next().unwrap();
    let token = std::fs::read_to_string(path).unwrap();
    let shown = format!("host: localhost\r\nauthorization: Bearer {}\r\n", token.trim());
    assert_eq!(status(&served, "host: localhost\r\n"), "401");
    assert_eq!(status(&served, &shown), "200");
    assert_eq!(status(&served, &shown.replace("localhost", "evil.example")), "403");
    assert_eq!(status(&served, &format!("{shown}origin: http://evil.example\r\n")), "403");
    drop(served);
    let (again, _) = listen(&place, &[]);
    assert_eq!(status(&again, &shown), "200", "the same token as before");
}

/// The text of the answer to a call by whoever has the token.
fn called(served: &Served, token: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    } });
    let body = request(1, "tools/call", params);
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1)
        .unwrap_or_else(|err| panic!("{err}: {answer}"))
}

#[test]
fn by_http_a_rule_for_a_role_holds_for_the_tokens_that_have_it() {
    let place = Place::new(
        "-- project/notes.md\nsome notes\n-- config/haft/haft.toml\n[permissions]\ndeny = [{ rule = \"Read(notes.md)\", except_roles = [\"dev\", \"owner\"] }]\n",
    );
    let tokens = place.path("tokens");
    std::fs::write(&tokens, "# all of us\nmine\nhers user=ada roles=dev\nhis user=bob roles=guest\n")
        .unwrap();
    let tokens_path = tokens.to_str().unwrap();
    let words = ["--token-file", tokens_path];
    place.haft(&["mcp", "--listen", "127.0.0.1:0", words[0], words[1]]).expect(2, "chmod 600");
    std::fs::set_permissions(&tokens, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (served, said) = listen(&place, &words);
    assert!(said.contains("the tokens are in"), "{said}");
    for (token, is_refused) in [("mine", false), ("hers", false), ("his", true)] {
        let answer = called(&served, token, "Read", json!({ "file_path": "notes.md" }));
        assert_eq!(answer["result"]["isError"] == true, is_refused, "{token}: {answer}");
    }
    assert_eq!(status(&served, "host: localhost\r\nauthorization: Bearer other\r\n"), "401");
}

#[test]
fn hooks_hear_of_the_session_of_a_client_that_stays_when_haft_is_told_to_end() {
    let place = Place::new("-- project/notes.md\nsome notes\n");
    let log = place.path("heard");
    let hook = |event: &str| format!("[[hooks.{event}]]\ncommand = \"echo {event} >> {}\"\n", log.display());
    std::fs::create_dir_all(place.path("config/haft")).unwrap();
    std::fs::write(place.path("config/haft/haft.toml"), hook("SessionStart") + &hook("SessionEnd")).unwrap();
    let mut child = place.command(&["mcp"]).spawn().unwrap();
    let read = json!({ "name": "Read", "arguments": { "file_path": "notes.md" } });
    let stdin = child.stdin.as_mut().unwrap();
    stdin.write_all(format!("{HELLO}\n{}\n", request(2, "tools/call", read)).as_bytes()).unwrap();
    let mut answers = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    while !answers.next().unwrap().unwrap().contains("some notes") {}
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "SessionStart\n");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .unwrap();
    assert!(child.wait().unwrap().success(), "its stdin is open, and it ends all the same");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "SessionStart\nSessionEnd\n");
}

#[test]
fn without_a_token_it_serves_loopback_alone_and_says_so() {
    let place = Place::new("");
    let (served, said) = listen(&place, &["--no-token"]);
    assert!(said.contains("without a token"), "{said}");
    assert_eq!(status(&served, "host: localhost\r\n"), "200");
    place.haft(&["mcp", "--listen", "0.0.0.0:0", "--no-token"]).expect(2, "loopback");
}

#[test]
fn installing_says_nothing_of_what_the_workspace_brings() {
    let place = Place::new("-- project/.mcp.json\n{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}\n");
    let ran = place.haft(&["mcp", "--install", "cursor"]).expect(0, ".cursor/mcp.json");
    assert!(!ran.err.contains("trust"), "{}", ran.err);
    let command = ran.json()["mcpServers"]["haft"]["command"].as_str().unwrap().to_owned();
    assert!(command.starts_with('/'), "{command}");
}

#[test]
fn a_client_s_configuration_is_printed_or_written_and_never_destroyed() {
    let place = Place::new(
        "-- home/.cursor/mcp.json\n{\"mcpServers\": {\"other\": {\"command\": \"x\"}}, \"mine\": 1}\n",
    );
    let printed =
        place.haft(&["mcp", "--install", "cursor", "--allow", "Read"]).expect(0, ".cursor/mcp.json").json();
    assert_eq!(printed["mcpServers"]["haft"]["args"], json!(["mcp", "--allow", "Read"]));
    place.haft(&["mcp", "--install", "cursor", "--write"]).expect(0, "");
    let path = place.path("home/.cursor/mcp.json");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!((&written["mcpServers"]["other"]["command"], &written["mine"]), (&json!("x"), &json!(1)));
    assert!(written["mcpServers"]["haft"]["command"].is_string());
    assert!(place.path("home/.cursor/mcp.json.bak").exists());
    std::fs::write(&path, "// mine\n{}\n").unwrap();
    place.haft(&["mcp", "--install", "cursor", "--write"]).expect(2, "comments");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "// mine\n{}\n");
}

//! A server that wants somebody to visit a page, and the person at the terminal who is asked.

use std::fs;

use crate::{kit::Place, pty::Person};

/// Its tool wants a page visited, and says what came of it.
const SERVER: &str = r#"#!/bin/bash
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
  id=; [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
    *'"initialize"'*) answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}' ;;
    *'"tools/list"'*) answer "$id" '{"tools":[{"name":"pay","inputSchema":{}}]}' ;;
    *'"tools/call"'*) call=$id
      printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"mode":"url","elicitationId":"1","url":"https://pay.example/start?x=1","message":"Sign \\u001b[31min."}}\n' ;;
    *'"id":"q"'*) words=${line//[\"\\]/}; answer "$call" '{"content":[{"type":"text","text":"they said '"$words"'"}]}' ;;
    *) [[ -n $id ]] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
"#;

const CALL: [&str; 5] = ["--allow", "mcp__shop", "call", "mcp__shop__pay", "{}"];

fn place() -> Place {
    let place = Place::new("-- project/a\n\n");
    fs::write(place.path("project/srv.sh"), SERVER).unwrap();
    let list = r#"{"mcpServers":{"shop":{"command":"/bin/bash","args":["srv.sh"]}}}"#;
    fs::write(place.path("project/.mcp.json"), list).unwrap();
    place.haft(&["trust", "--yes"]).expect(0, "");
    place
}

#[test]
fn the_person_sees_the_host_and_the_whole_address_before_they_agree() {
    let place = place();
    let mut person = Person::at(&place, &CALL, "yes\n");
    person.sees("The server shop asks you");
    person.sees("It wants you to visit a page of pay.example:");
    person.sees("https://pay.example/start?x=1");
    assert!(!person.sees("Visit this page?").contains("\u{1b}[31m"), "its words move nothing");
    person.types("yes\n");
    // There is no screen here that a browser could show it on.
    person.sees("Open this page yourself: https://pay.example/start?x=1");
    let ran = person.ends();
    assert!(ran.out.contains("result:{action:accept}"), "{}{}", ran.out, ran.err);
}

#[test]
fn a_no_and_nobody_are_told_to_the_server() {
    let place = place();
    let mut person = Person::at(&place, &CALL, "");
    person.sees("Visit this page?");
    person.types("no\n");
    let ran = person.ends();
    assert!(ran.out.contains("action:decline") && !ran.err.contains("Open this page"), "{}", ran.err);
    let ran = place.haft(&CALL);
    assert!(ran.out.contains("action:decline"), "{}{}", ran.out, ran.err);
}

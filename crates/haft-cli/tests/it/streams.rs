//! `haft mcp` on streams of every kind. What somebody else has, too, goes on as it was.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::Child,
};

use rustix::{
    fs::{OFlags, fcntl_getfl},
    pipe::{PipeFlags, pipe_with},
};
use serde_json::{Value, json};

use crate::kit::Place;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// So many lists are far more than a pipe or a socket holds: whoever writes them has to wait in the middle of one.
const LISTS: u64 = 40;

/// A greeting, and requests for many lists.
fn said() -> String {
    let list = |id: u64| format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }));
    format!("{HELLO}\n") + &(1..=LISTS).map(list).collect::<String>()
}

fn begin(place: &Place, input: OwnedFd, output: OwnedFd) -> Child {
    place.command(&["mcp"]).stdin(input).stdout(output).spawn().unwrap()
}

#[track_caller]
fn check_answers(answers: impl Iterator<Item = String>) {
    let answers: Vec<Value> = answers.map(|line| serde_json::from_str(&line).unwrap()).collect();
    let mut ids: Vec<u64> = answers.iter().filter_map(|answer| answer["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..=LISTS).collect::<Vec<_>>());
    assert!(answers.iter().all(|answer| answer.get("result").is_some()), "{answers:?}");
}

#[track_caller]
fn check_blocks(stream: impl AsFd) {
    assert!(!fcntl_getfl(stream).unwrap().contains(OFlags::NONBLOCK), "others would not wait any more");
}

#[test]
fn pipes_that_are_shared_stay_as_they_were() {
    let place = Place::new("");
    let (theirs_in, ours_in) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let (ours_out, theirs_out) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let shared = (theirs_in.try_clone().unwrap(), theirs_out.try_clone().unwrap());
    let mut child = begin(&place, theirs_in, theirs_out);
    let (mut input, output) = (File::from(ours_in), BufReader::new(File::from(ours_out)));
    input.write_all(said().as_bytes()).unwrap();
    check_answers(output.lines().map(Result::unwrap).take(LISTS as usize + 1));
    check_blocks(&shared.0);
    check_blocks(&shared.1);
    drop((input, shared));
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_socket_that_is_shared_stays_as_it_was() {
    let place = Place::new("");
    let (ours, theirs) = UnixStream::pair().unwrap();
    let shared = theirs.try_clone().unwrap();
    let mut child = begin(&place, theirs.try_clone().unwrap().into(), theirs.into());
    (&ours).write_all(said().as_bytes()).unwrap();
    check_answers(BufReader::new(&ours).lines().map(Result::unwrap).take(LISTS as usize + 1));
    check_blocks(&shared);
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn files_are_read_and_written_to_their_end() {
    let place = Place::new("");
    let (asked, answered) = (place.path("asked"), place.path("answered"));
    std::fs::write(&asked, said()).unwrap();
    let mut child =
        begin(&place, File::open(asked).unwrap().into(), File::create_new(&answered).unwrap().into());
    assert!(child.wait().unwrap().success());
    let text = std::fs::read_to_string(answered).unwrap();
    check_answers(text.lines().map(str::to_owned));
}

#[test]
fn a_client_that_does_not_read_any_more_ends_it() {
    let place = Place::new("");
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut child = begin(&place, theirs.try_clone().unwrap().into(), theirs.into());
    (&ours).write_all(format!("{HELLO}\n").as_bytes()).unwrap();
    drop(ours);
    child.wait().unwrap();
}

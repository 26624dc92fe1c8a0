//! What operators see: spans and metrics at a collector, logs on stderr.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    collector::{Collector, Got},
    kit::{Place, Ran},
    mcp::{HELLO, request, with_server},
};

fn place() -> Place {
    Place::new("-- project/a.txt\none\ntwo\n")
}

const READ: [&str; 3] = ["call", "Read", r#"{"file_path":"a.txt"}"#];

/// Runs it with these variables, and with this on stdin.
fn run(mut command: Command, variables: &[(&str, &str)], input: &str) -> Ran {
    let mut child = command.envs(variables.iter().copied()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ran::of(&child.wait_with_output().unwrap())
}

/// Runs it with a collector, and gives what that got.
fn exported(place: &Place, arguments: &[&str], more: &[(&str, &str)], input: &str) -> (Ran, Got) {
    let collector = Collector::new();
    let endpoint = collector.endpoint();
    let mut variables = vec![("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str())];
    variables.extend(more);
    let ran = run(place.command(arguments), &variables, input);
    (ran, collector.got())
}

#[test]
fn a_call_is_a_span_and_the_answer_is_as_ever() {
    let place = place();
    let variables = [("OTEL_SERVICE_NAME", "ours"), ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc123def456")];
    let (ran, got) = exported(&place, &READ, &variables, "");
    assert_eq!(ran.expect(0, "").out, "     1\tone\n     2\ttwo\n");
    assert_eq!(got.resource["service.name"], "ours");
    assert!(got.heads.iter().all(|head| head.contains("x-key: abc123def456")), "{:?}", got.heads);
    let session = got.facts("turn")["gen_ai.conversation.id"].clone();
    insta::assert_snapshot!(got.tree().replace(&session, "SESSION"), @r"
    turn
      gen_ai.conversation.id = SESSION
      haft.channel = cli
      haft.turn.calls = 1
      haft.turn.failed_calls = 0
      execute_tool Read
        gen_ai.operation.name = execute_tool
        gen_ai.tool.call.id = call_1
        gen_ai.tool.name = Read
        gen_ai.tool.type = function
        haft.attempts = 1
        haft.decision.duration = …
        haft.queue.duration = …
        haft.result.size = …
        haft.run.duration = …
        haft.tool.source = builtin
        * haft.decision: haft.decision.class = read_only, haft.decision.verdict = allow
    ");
    insta::assert_snapshot!(got.series().join("\n"), @r"
    gen_ai.execute_tool.duration [s] {gen_ai.operation.name=execute_tool, gen_ai.tool.name=Read, gen_ai.tool.type=function} 1 values
    haft.tool.queue.duration [s] {gen_ai.tool.name=Read} 1 values
    haft.tool.result.size [By] {gen_ai.tool.name=Read} 1 values
    haft.tool.run.duration [s] {gen_ai.operation.name=execute_tool, gen_ai.tool.name=Read, gen_ai.tool.type=function} 1 values
    ");
}

#[test]
fn the_calls_of_a_message_are_one_turn_in_the_callers_trace() {
    let message = json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "t1", "name": "Read", "input": { "file_path": "a.txt" } },
        { "type": "tool_use", "id": "t2", "name": "Write", "input": { "file_path": "b.txt", "content": "x" } },
    ]});
    let parent = ("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let (ran, got) = exported(&place(), &["turn"], &[parent], &message.to_string());
    ran.expect(0, "");
    let facts = got.facts("turn");
    assert_eq!((&*facts["haft.turn.calls"], &*facts["haft.turn.failed_calls"]), ("2", "1"));
    assert_eq!(hex(&got.span("turn").parent_span_id), "00f067aa0ba902b7");
    let refused = got.facts("execute_tool Write");
    assert_eq!((&*refused["error.type"], &*refused["haft.refusal"]), ("denied", "nobody_there"));
    let refusals = "haft.tool.refusals [{call}] {gen_ai.tool.name=Write, haft.refusal=nobody_there} 1";
    assert!(got.series().iter().any(|series| series == refusals), "{:?}", got.series());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_request_at_the_door_is_a_span_from_its_client_to_the_server_behind() {
    let place = with_server();
    let meta = json!({ "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" });
    let lines = [
        HELLO.to_owned(),
        request(2, "tools/call", json!({ "name": "mcp__up__greet", "arguments": {}, "_meta": meta })),
        request(3, "no/such", json!({})),
    ];
    let words = ["mcp", "--allow", "mcp__up"];
    let (ran, got) = exported(&place, &words, &[], &(lines.join("\n") + "\n"));
    ran.expect(0, "");
    let (request, turn) = (got.span("tools/call mcp__up__greet"), got.span("turn"));
    let call = got.span("execute_tool mcp__up__greet");
    assert_eq!(hex(&request.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(hex(&request.parent_span_id), "00f067aa0ba902b7");
    assert_eq!((&turn.parent_span_id, &call.parent_span_id), (&request.span_id, &turn.span_id));
    let seen = fs::read_to_string(place.path("home/calls.txt")).unwrap();
    let expected = format!("00-{}-{}-01", hex(&call.trace_id), hex(&call.span_id));
    assert!(seen.contains(&expected), "{seen}");
    let session = got.facts("turn")["gen_ai.conversation.id"].clone();
    let id = got.facts("execute_tool mcp__up__greet")["gen_ai.tool.call.id"].clone();
    insta::assert_snapshot!(got.tree().replace(&session, "SESSION").replace(&id, "CALL"), @r"
    server: initialize
      gen_ai.conversation.id = SESSION
      jsonrpc.request.id = 1
      mcp.method.name = initialize
      network.transport = pipe
    server: no/such (error)
      error.type = -32601
      gen_ai.conversation.id = SESSION
      jsonrpc.request.id = 3
      mcp.method.name = no/such
      network.transport = pipe
      rpc.response.status_code = -32601
    server: tools/call mcp__up__greet
      gen_ai.conversation.id = SESSION
      gen_ai.operation.name = execute_tool
      gen_ai.tool.name = mcp__up__greet
      jsonrpc.request.id = 2
      mcp.method.name = tools/call
      network.transport = pipe
      turn
        gen_ai.conversation.id = SESSION
        haft.channel = mcp
        haft.turn.calls = 1
        haft.turn.failed_calls = 0
        execute_tool mcp__up__greet
          gen_ai.operation.name = execute_tool
          gen_ai.tool.call.id = CALL
          gen_ai.tool.name = mcp__up__greet
          gen_ai.tool.type = extension
          haft.attempts = 1
          haft.decision.duration = …
          haft.queue.duration = …
          haft.result.size = …
          haft.run.duration = …
          haft.tool.source = mcp:up
          mcp.method.name = tools/call
          * haft.decision: haft.decision.class = write, haft.decision.layer = global, haft.decision.origin = command line, haft.decision.rule = mcp__up, haft.decision.verdict = allow
    ");
    let series: Vec<String> = got.series().into_iter().filter(|series| series.starts_with("mcp.")).collect();
    insta::assert_snapshot!(series.join("\n"), @r"
    mcp.server.operation.duration [s] {error.type=-32601, mcp.method.name=_OTHER, network.transport=pipe} 1 values
    mcp.server.operation.duration [s] {gen_ai.tool.name=mcp__up__greet, mcp.method.name=tools/call, network.transport=pipe} 1 values
    mcp.server.operation.duration [s] {mcp.method.name=initialize, network.transport=pipe} 1 values
    ");
}

#[test]
fn a_collector_that_is_dead_holds_nobody_up() {
    let place = place();
    for (collector, most) in [(Collector::silent(), 6), (Collector::absent(), 3)] {
        let endpoint = collector.endpoint();
        let began = Instant::now();
        let ran = run(place.command(&READ), &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)], "");
        assert!(ran.expect(0, "").out.contains("two"));
        assert!(began.elapsed() < Duration::from_secs(most), "{:?}", began.elapsed());
    }
}

#[test]
fn the_answer_does_not_wait_for_the_collector() {
    let (place, collector) = (place(), Collector::silent());
    let began = Instant::now();
    let mut child =
        place.command(&READ).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let answered = began.elapsed();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(line.contains("one") && answered + Duration::from_secs(1) < began.elapsed(), "{answered:?}");
}

#[test]
fn what_cannot_be_exported_is_said_and_the_call_is_made() {
    let place = place();
    let variables = [("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
    let ran = run(place.command(&READ), &variables, "");
    let ran = ran.expect(0, "OTEL_EXPORTER_OTLP_PROTOCOL is `grpc`, and haft speaks `http/protobuf` alone");
    assert!(ran.out.contains("two"));
    run(place.command(&["-q", READ[0], READ[1], READ[2]]), &variables, "").expect(0, "");
}

/// The names of the threads of a door that has answered its client. A thread names itself when it first runs: they are looked
/// at until they are `enough`.
fn threads(place: &Place, variables: &[(&str, &str)], enough: impl Fn(&[String]) -> bool) -> Vec<String> {
    let mut child = place.command(&["mcp"]).envs(variables.iter().copied()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{HELLO}").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    let look = || {
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        tasks.filter_map(Result::ok).map(name).collect::<Vec<String>>()
    };
    let (mut names, begun) = (look(), Instant::now());
    while !enough(&names) && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
        names = look();
    }
    drop(stdin);
    child.wait().unwrap();
    names
}

#[test]
fn where_nothing_is_asked_for_nothing_is_started() {
    let (place, collector) = (place(), Collector::new());
    let endpoint = collector.endpoint();
    let is_ours = |name: &String| ["OpenTelemetry", "reqwest"].iter().any(|of| name.starts_with(of));
    let ours = |names: &[String]| names.iter().filter(|name| is_ours(name)).count();
    let on = threads(&place, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)], |names| ours(names) == 3);
    assert_eq!(ours(&on), 3, "{on:?}");
    for variables in [
        &[][..],
        &[("OTEL_SERVICE_NAME", "ours")],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_SDK_DISABLED", "true")],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_METRICS_EXPORTER", "none"),
        ],
    ] {
        let off = threads(&place, variables, |_| true);
        assert!(!off.iter().any(is_ours), "{off:?}");
    }
}

#[test]
fn the_key_of_the_collector_reaches_no_model() {
    let place = Place::new("-- project/env.txt\nthe header is abc123def456\n");
    let variables = [("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc123def456")];
    let ran = run(place.command(&["call", "Read", r#"{"file_path":"env.txt"}"#]), &variables, "");
    assert!(!ran.expect(0, "").out.contains("abc123def456"));
}

#[test]
fn logs_are_lines_on_stderr_for_those_who_ask() {
    let place = place();
    let ran = run(place.command(&READ), &[("HAFT_LOG", "haft=debug")], "");
    assert_eq!(ran.out, "     1\tone\n     2\ttwo\n");
    let words: Vec<&str> = ran.err.lines().filter_map(|line| line.split("haft::").nth(1)).collect();
    let starts = ["call: queued", "call: started", "call: done", "turn: turn ended"];
    assert_eq!(words.len(), starts.len(), "{ran:?}");
    assert!(words.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{words:?}");
    assert!(!ran.err.contains("two") && !ran.err.contains("a.txt"), "no content: {ran:?}");

    let only_results = run(place.command(&READ), &[("HAFT_LOG", "info")], "");
    assert_eq!(only_results.err.lines().count(), 1, "{only_results:?}");
    run(place.command(&["-q", READ[0], READ[1], READ[2]]), &[("HAFT_LOG", "trace")], "").expect(0, "");
    run(place.command(&READ), &[("HAFT_LOG", "haft=loud")], "")
        .expect(2, "HAFT_LOG: `haft=loud` is no filter");
}

#[test]
fn json_on_stdout_stays_json_beside_logs() {
    let ran = run(place().command(&[READ[0], READ[1], READ[2], "--json"]), &[("HAFT_LOG", "trace")], "");
    let told: Value = ran.json();
    assert_eq!(told["is_error"], false);
}

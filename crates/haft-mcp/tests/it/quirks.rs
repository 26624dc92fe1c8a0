//! Servers that misbehave: each in one way, seen in the field. Connected or refused in time, and never all lost for one.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use haft_mcp::client::{Connection, Era, Limits, NobodysDesk, Refused, RequestOptions, Server, Transport};
use serde_json::{Map, Value, json};

use crate::bridges::{greets_as_before, server};

const OK: &str = r#"[{"type":"text","text":"ok"}]"#;

/// What comes of a call: its content, or the beginning of what it was refused with.
#[derive(Debug, Clone, Copy)]
enum Comes {
    Content(&'static str),
    Refusal(&'static str),
    /// Content that is too much to write down: how many bytes.
    Long(usize),
}
use Comes::{Content, Long, Refusal};

/// Each misbehaviour that is not simply overlooked. All others give two things: one tool, and `ok`.
const TOLD: [(&str, usize, Comes); 12] = [
    ("one-bad-tool", 2, Content(OK)),
    (
        "unknown-content",
        1,
        Content(
            r#"[{"type":"text","text":"(a block of type \"video\", shown as it was sent)\n{\"type\":\"video\",\"data\":\"AA==\",\"mimeType\":\"video/mp4\"}"}]"#,
        ),
    ),
    ("content-missing", 1, Content(r#"[{"type":"text","text":"{\"a\":1}"}]"#)),
    ("content-string", 1, Content(r#"[{"type":"text","text":"plain"}]"#)),
    ("toolresult-legacy", 1, Content(r#"[{"type":"text","text":"x"}]"#)),
    ("text-null", 1, Content(r#"[{"type":"text","text":""}]"#)),
    ("empty-result", 1, Content("[]")),
    ("resource-nouri", 1, Content(r#"[{"type":"resource","resource":{"text":"x","uri":"unknown:"}}]"#)),
    ("audience-system", 1, Content(r#"[{"type":"text","text":"ok","annotations":{}}]"#)),
    ("error-nocode", 1, Refusal("x")),
    ("big-20mb", 1, Long((20 << 20) + 27)),
    ("none", 1, Content(OK)),
];

/// A file that is kept beside the project, if it is there.
pub(crate) fn beside(file: &str) -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.map(|place| place.join("shared").join(file)).find(|found| found.exists())
}

fn quirks(script: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(script).expect("the script");
    let names = text.split("Q === '").skip(1).filter_map(|rest| rest.split('\'').next());
    names.map(str::to_owned).chain(["none".to_owned()]).collect()
}

/// Where servers of others are kept for tests, whether something is there or not.
pub(crate) fn kit() -> Option<PathBuf> {
    let home = || Some(Path::new(&std::env::var_os("HOME")?).join(".cache/haft/mcp-kit"));
    std::env::var_os("HAFT_MCP_KIT").map(PathBuf::from).or_else(home)
}

/// A Node: the system's, or that of the kit.
pub(crate) fn node() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_system = std::env::split_paths(&path).map(|place| place.join("node")).collect::<Vec<_>>();
    let of_kit = kit().map(|kit| kit.join("npm/node_modules/.bin/node"));
    of_system.into_iter().chain(of_kit).find(|node| node.exists())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_misbehaving_server_is_understood_or_refused_in_time() {
    let (Some(script), Some(node)) = (beside("tools/mcp/quirk_server.mjs"), node()) else {
        println!("skipped: needs node and ../shared/tools/mcp/quirk_server.mjs");
        return;
    };
    let quirks = quirks(&script);
    assert!(quirks.len() >= 43, "{quirks:?}");
    for quirk in &quirks {
        let began = Instant::now();
        let (tools, comes) = tried(quirk, &script, &node).await;
        let told = TOLD.iter().find(|(name, ..)| name == quirk);
        let (expected, content) = told.map_or((1, Content(OK)), |(_, tools, comes)| (*tools, *comes));
        assert_eq!(tools, expected, "{quirk}: tools");
        match (content, comes) {
            (Content(content), Ok(found)) => assert_eq!(found, content, "{quirk}"),
            (Long(length), Ok(found)) => assert_eq!(found.len(), length, "{quirk}"),
            (Refusal(why), Err(refused)) => assert_eq!(refused.message, why, "{quirk}"),
            (expected, found) => panic!("{quirk}: {expected:?}, found {:.200}", format!("{found:?}")),
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{quirk} took {:?}", began.elapsed());
    }
}

/// How many tools it has, and what comes of a call.
async fn tried(quirk: &str, script: &Path, node: &Path) -> (usize, Result<String, Refused>) {
    let transport = Transport::Stdio {
        command: node.display().to_string(),
        args: vec![script.display().to_string()],
        env: BTreeMap::from([("QUIRK".to_owned(), quirk.to_owned())]),
        cwd: std::env::temp_dir(),
    };
    let connection = Connection::open(&Server::new(quirk, transport), None, Arc::new(NobodysDesk)).await;
    let connection = connection.unwrap_or_else(|err| panic!("{quirk}: {err}"));
    let listing = connection.list("tools/list", "tools").await.unwrap_or_else(|err| panic!("{quirk}: {err}"));
    let params = Map::from_iter([("name".to_owned(), json!("echo")), ("arguments".to_owned(), json!({}))]);
    let answer = connection.request("tools/call", params, &RequestOptions::default()).await;
    connection.close().await;
    (listing.entries.len(), answer.map(|answer| answer["content"].to_string()))
}

/// A server in this process whose answer to a call is these bytes, with `ID` for the request's number.
async fn check(bytes: &'static str, expected: Result<&str, (i64, &str)>) {
    let mut server = server(move |message, out| {
        if !greets_as_before(&message, out) {
            out.raw(&bytes.replace("ID", &message["id"].to_string()));
        }
        true
    });
    server.limits = Limits { message: 2000, idle: Duration::from_secs(5), ..server.limits };
    let connection =
        Connection::open(&server, Some(Era::Legacy), Arc::new(NobodysDesk)).await.expect("a connection");
    let answer = connection.request("tools/call", Map::new(), &RequestOptions::default()).await;
    let answer = answer.map(|answer| answer["content"].to_string());
    match expected {
        Ok(content) => assert_eq!(answer.expect(bytes), content),
        Err((code, message)) => {
            let refused = answer.expect_err(bytes);
            assert_eq!((refused.code, &*refused.message), (code, message), "{bytes}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_written_oddly_are_understood() {
    for bytes in [
        "{\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"result\":{\"content\":\"ok\"}}\r\n",
        "loading model...\n{\"level\":\"info\"}\n{\"id\":ID,\"result\":{\"content\":\"ok\"}}\n",
        "{\n  \"id\": ID,\n  \"result\": {\n    \"content\": \"ok\"\n  }\n}\n",
        "[{\"id\":ID,\"result\":{\"content\":\"ok\"}}]\n",
        "{\"method\":\"notifications/progress\",\"params\":{}}\n{\"id\":ID,\"result\":{\"content\":\"ok\"}}\n",
    ] {
        check(bytes, Ok(OK)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_cannot_be_understood_are_refused_at_once() {
    let cases: [(&str, i64, &str); 4] = [
        (
            "{\"id\":ID,\"result\":{\"content\":oops}}\n",
            Refused::UNREADABLE,
            "the answer is not JSON: expected value at line 1 column 29",
        ),
        ("{\"id\":ID}\n", Refused::UNREADABLE, "the answer has neither `result` nor `error`"),
        ("{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"parse error\"}}\n", -32700, "parse error"),
        ("", Refused::TIMED_OUT, "no answer to tools/call within 5 s"),
    ];
    for (bytes, code, message) in cases {
        check(bytes, Err((code, message))).await;
    }
    let long: &'static str = format!("{{\"id\":ID,\"result\":\"{}\"}}\n", "x".repeat(5000)).leak();
    check(
        long,
        Err((
            Refused::UNREADABLE,
            "the answer is longer than 2000 bytes, the most that is read from this server",
        )),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_list_without_end_ends() {
    let server = server(|message, out| {
        if !greets_as_before(&message, out) {
            let page = message["params"]["cursor"].as_u64().unwrap_or_default() + 1;
            out.answer(&message, json!({ "tools": [{ "name": format!("t{page}") }, 7], "nextCursor": page }));
        }
        true
    });
    let connection = Connection::open(&server, None, Arc::new(NobodysDesk)).await.expect("a connection");
    let listing = connection.list("tools/list", "tools").await.expect("a list");
    assert_eq!(listing.entries.len(), Limits::default().pages);
    assert_eq!(listing.entries[0].get("name"), Some(&Value::from("t1")));
    assert!(listing.remarks.iter().any(|remark| remark.contains("more pages")), "{:?}", listing.remarks);
}

//! Servers that want somebody to visit a page: while they work, or before they do.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_engine::{
    Call,
    policy::{Answer, Asker, Given, Inquiry, Question},
    result::ToolResult,
};
use haft_mcp::{
    client::Server,
    upstream::{Options, Upstreams},
};
use haft_tool::BoxFuture;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    bridges::{Out, greets_as_before, server},
    tasks::Heard,
    upstream::session,
};

pub(crate) const PAGE: &str = "https://login.example/start?x=1";

/// A server of the older era whose tool wants a page visited. `begin` answers the n-th call.
pub(crate) fn sends_away(
    heard: &Heard,
    begin: impl Fn(usize, &Value, &Out) + Send + Sync + 'static,
) -> Server {
    let (heard, waiting) = (heard.clone(), Mutex::new(Value::Null));
    server(move |message, out| {
        heard.note(&message);
        match message["method"].as_str() {
            _ if greets_as_before(&message, out) => {}
            Some("tools/list") => {
                out.answer(&message, json!({ "tools": [{ "name": "pay", "inputSchema": {} }] }));
            }
            Some("tools/call") => {
                begin(heard.count("tools/call"), &message, out);
                *waiting.lock().expect("no poison") = message;
            }
            // What somebody said to the question is the result of the call.
            None if message["id"] == "visit" => {
                let said = message.get("result").or(message.get("error")).expect("an answer").to_string();
                paid(&waiting.lock().expect("no poison"), out, &said);
            }
            _ => {}
        }
        true
    })
}

pub(crate) fn paid(call: &Value, out: &Out, text: &str) {
    out.answer(call, json!({ "content": [{ "type": "text", "text": text }] }));
}

/// Asks while it works.
pub(crate) fn asks(url: &'static str) -> impl Fn(usize, &Value, &Out) + Send + Sync {
    move |_, _, out| {
        let params = json!({ "mode": "url", "url": url, "message": "Sign in.", "elicitationId": "e-1" });
        out.say(json!({ "jsonrpc": "2.0", "id": "visit", "method": "elicitation/create", "params": params }));
    }
}

/// Refuses the first call, because a page has to be visited before.
pub(crate) fn refuses_first(n: usize, call: &Value, out: &Out) {
    if n > 1 {
        return paid(call, out, "paid");
    }
    let page = json!({ "mode": "url", "url": PAGE, "message": "Sign in.", "elicitationId": "e-1" });
    let error = json!({ "code": -32042, "message": "sign in first", "data": { "elicitations": [page] } });
    out.say(json!({ "jsonrpc": "2.0", "id": call["id"], "error": error }));
}

/// A person who answers forms with these words, one after another, and writes down what happens. None waits for ever.
#[derive(Default)]
struct Person {
    answers: Mutex<Vec<&'static str>>,
    diary: Mutex<Vec<String>>,
}

impl Person {
    fn saying(answers: &[&'static str]) -> Arc<Person> {
        let answers = answers.iter().rev().copied().collect();
        Arc::new(Person { answers: Mutex::new(answers), ..Person::default() })
    }
    fn write(&self, line: String) {
        self.diary.lock().expect("no poison").push(line);
    }
    fn diary(&self) -> String {
        self.diary.lock().expect("no poison").join("\n")
    }
}

impl Asker for Person {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        panic!("calls are allowed here")
    }
    fn inquire<'a>(&'a self, inquiry: Inquiry<'a>) -> BoxFuture<'a, Given> {
        self.write(format!("{} asks: {}", inquiry.who, inquiry.message));
        let answer = self.answers.lock().expect("no poison").pop();
        Box::pin(async move {
            match answer {
                Some(answer) => {
                    Given::Answers(json!({ "answer": answer }).as_object().cloned().expect("an object"))
                }
                None => std::future::pending().await,
            }
        })
    }
    fn open(&self, url: &str) -> bool {
        self.write(format!("opened {url}"));
        true
    }
    fn tell(&self, words: &str) {
        self.write(format!("told {words}"));
    }
}

async fn called(server: Server, person: Option<Arc<Person>>) -> ToolResult {
    let person = person.map(|person| person as Arc<dyn Asker>);
    let server = Server { name: "s".to_owned(), ..server };
    let all = Upstreams::new(vec![server], Options { person, ..Options::default() });
    all.acquaint().await;
    session(&all, |builder| builder).call(Call::new("call_1", "mcp__s__pay", "{}".to_owned())).await
}

#[tokio::test]
async fn a_page_is_shown_with_its_host_and_opened_when_the_person_says_yes() {
    let (heard, person) = (Heard::default(), Person::saying(&["yes"]));
    let result = called(sends_away(&heard, asks(PAGE)), Some(person.clone())).await;
    assert_eq!(result.text(), r#"{"action":"accept"}"#, "without any content: {result:?}");
    let diary = person.diary();
    assert!(
        diary.starts_with(
            "s asks: It wants you to visit a page of login.example:\nhttps://login.example/start?x=1\n"
        ),
        "{diary}"
    );
    assert!(diary.ends_with("opened https://login.example/start?x=1"), "{diary}");
    let declared = &heard.all("initialize")[0]["params"]["capabilities"]["elicitation"];
    assert_eq!(declared, &json!({ "form": {}, "url": {} }));
}

#[tokio::test]
async fn nothing_is_opened_without_a_yes() {
    for (answer, expected) in [("no", r#"{"action":"decline"}"#), ("perhaps", r#"{"action":"decline"}"#)] {
        let person = Person::saying(&[answer]);
        let result = called(sends_away(&Heard::default(), asks(PAGE)), Some(person.clone())).await;
        assert_eq!(result.text(), expected);
        assert!(!person.diary().contains("opened"), "{}", person.diary());
    }
    let result = called(sends_away(&Heard::default(), asks(PAGE)), None).await;
    assert_eq!(result.text(), r#"{"action":"decline"}"#, "nobody is there");
}

#[tokio::test]
async fn an_address_that_hides_where_it_leads_is_shown_to_nobody() {
    for url in ["https://bank.example@evil.example/", "file:///etc/passwd", "javascript:alert(1)", "nonsense"]
    {
        let person = Person::saying(&["yes"]);
        let result = called(sends_away(&Heard::default(), asks(url)), Some(person.clone())).await;
        assert!(result.text().contains("-32602") && result.text().contains("not shown"), "{url}: {result:?}");
        assert_eq!(person.diary(), "", "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_wants_a_page_visited_first_is_made_again_when_the_person_is_back() {
    let (heard, person) = (Heard::default(), Person::saying(&["yes", "done"]));
    let result = called(sends_away(&heard, refuses_first), Some(person.clone())).await;
    assert_eq!((result.text().as_str(), heard.count("tools/call")), ("paid", 2), "{result:?}");
    assert!(person.diary().contains(&format!("opened {PAGE}")), "{}", person.diary());
}

#[tokio::test(start_paused = true)]
async fn or_when_the_server_says_so_or_after_a_while() {
    for (tells, at_least) in [(true, 3), (false, 300)] {
        let (heard, person) = (Heard::default(), Person::saying(&["yes"]));
        let server = sends_away(&heard, move |n, call, out| {
            refuses_first(n, call, out);
            let out = out.clone();
            if n == 1 && tells {
                tokio::spawn(async move {
                    sleep(Duration::from_secs(3)).await;
                    let params = json!({ "elicitationId": "e-1" });
                    out.say(json!({ "jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": params }));
                });
            }
        });
        let began = Instant::now();
        let result = called(server, Some(person.clone())).await;
        assert_eq!((result.text().as_str(), heard.count("tools/call")), ("paid", 2), "{result:?}");
        assert_eq!(began.elapsed().as_secs(), at_least);
        let is_told = person.diary().ends_with("told The server s says that all is done at login.example.");
        assert_eq!(is_told, tells, "{}", person.diary());
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_not_visited_ends_the_call_and_says_so() {
    for (answers, expected) in [
        (&["no"][..], "does not want to visit https://login.example/start?x=1"),
        (&["yes", "no"][..], "gave up"),
    ] {
        let (heard, person) = (Heard::default(), Person::saying(answers));
        let result = called(sends_away(&heard, refuses_first), Some(person)).await;
        assert!(result.is_error() && result.text().contains(expected), "{result:?}");
        assert!(result.text().contains("sign in first"), "{result:?}");
        assert_eq!(heard.count("tools/call"), 1, "it is not made again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_always_wants_one_more_page_is_given_up() {
    let (heard, person) = (Heard::default(), Person::saying(&["yes", "done"].repeat(9)));
    let result = called(sends_away(&heard, |_, call, out| refuses_first(1, call, out)), Some(person)).await;
    assert!(result.is_error() && result.text().contains("sign in first"), "{result:?}");
    assert_eq!(heard.count("tools/call"), 4);
}

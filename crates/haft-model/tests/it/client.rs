//! HTTP, with a scripted model.

use std::time::{Duration, Instant};

use haft_model::{
    Client, Dialect, Endpoint, ErrorKind, History, Key, Message, ModelError, RequestOptions, Response, Stop,
    StreamEvent,
};
use haft_testkit::{ModelServer, Script, Turn};
use serde_json::json;

fn client(model: &ModelServer, dialect: Dialect) -> Client {
    let endpoint = Endpoint::new(dialect).base(model.url()).key(Key::new(" sk-very-secret\n"));
    Client::new(endpoint.idle_timeout(Duration::from_secs(20))).expect("a good address")
}

fn hello(dialect: Dialect) -> History {
    let mut history = History::new(dialect);
    history.push(Message::user("Hello."));
    history
}

async fn ask(model: &ModelServer, dialect: Dialect) -> Result<Response, ModelError> {
    client(model, dialect).ask(&hello(dialect).request(&RequestOptions::new("scripted"))).await
}

#[tokio::test]
async fn an_answer_comes_in_every_dialect_streamed_and_whole() {
    let turn = Turn::new().thinking("Hm.").text("I look.").call("Read", json!({ "path": "a.rs" }));
    let model = ModelServer::start(Script::always(turn)).await;
    for dialect in Dialect::ALL {
        for whole in [false, true] {
            let options = RequestOptions { whole, ..RequestOptions::new("scripted") };
            let response =
                client(&model, dialect).ask(&hello(dialect).request(&options)).await.expect("an answer");
            assert_eq!(
                (response.message.text().as_str(), &response.stop),
                ("I look.", &Stop::Calls),
                "{dialect}"
            );
            assert_eq!(
                response.message.calls().next().map(|call| call.name.as_str()),
                Some("Read"),
                "{dialect}"
            );
            assert_eq!((response.usage.input, response.usage.cached, response.usage.output), (100, 80, 20));
        }
    }
    let paths: Vec<String> = model.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(
        paths,
        [
            "/v1/messages",
            "/v1/messages",
            "/v1/chat/completions",
            "/v1/chat/completions",
            "/v1/responses",
            "/v1/responses",
            "/v1beta/models/scripted:streamGenerateContent?alt=sse",
            "/v1beta/models/scripted:generateContent",
        ]
    );
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    // A chat server that leaves `stream` aside is the same as one that was asked for the whole.
    let model = ModelServer::start(["Hello to you."]).await;
    let options = RequestOptions {
        extra: json!({ "stream": false, "stream_options": null }).as_object().cloned().expect("an object"),
        ..RequestOptions::new("scripted")
    };
    let response = client(&model, Dialect::OpenAi)
        .ask(&hello(Dialect::OpenAi).request(&options))
        .await
        .expect("an answer");
    assert_eq!(response.message.text(), "Hello to you.");
}

#[tokio::test]
async fn the_key_goes_where_each_api_wants_it_and_is_shown_nowhere() {
    let model = ModelServer::start(Script::always("Hi.".into())).await;
    for (dialect, header, value) in [
        (Dialect::Anthropic, "x-api-key", "sk-very-secret"),
        (Dialect::OpenAi, "authorization", "Bearer sk-very-secret"),
        (Dialect::Responses, "authorization", "Bearer sk-very-secret"),
        (Dialect::Gemini, "x-goog-api-key", "sk-very-secret"),
    ] {
        ask(&model, dialect).await.expect("an answer");
        let request = model.requests().pop().expect("a request");
        assert_eq!(request.header(header), Some(value), "{dialect}");
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert!(!format!("{:?}", client(&model, dialect)).contains("secret"));
    }
    assert_eq!(model.requests()[0].header("anthropic-version"), Some("2023-06-01"));
}

#[tokio::test]
async fn a_server_that_repeats_the_key_does_not_make_it_known() {
    let model = ModelServer::start([
        Turn::refusal(401, "no such key: sk-very-secret"),
        Turn::new().error("authentication_error", "no such key: sk-very-secret"),
    ])
    .await;
    for _ in 0..2 {
        let error = ask(&model, Dialect::Anthropic).await.expect_err("a refusal");
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Unauthorized, "no such key: …"));
    }
}

#[tokio::test]
async fn a_header_of_the_users_replaces_ours() {
    let model = ModelServer::start(["Hi."]).await;
    let endpoint = Endpoint::new(Dialect::OpenAi)
        .base(model.url())
        .key(Key::new("k"))
        .header("Authorization", "Basic eA==");
    let client = Client::new(endpoint).expect("a good address");
    client.ask(&hello(Dialect::OpenAi).request(&RequestOptions::new("m"))).await.expect("an answer");
    assert_eq!(model.requests()[0].header("authorization"), Some("Basic eA=="));
}

#[tokio::test]
async fn a_refusal_says_what_can_be_done_and_when() {
    let model = ModelServer::start([
        Turn::refusal(429, "slow down").header("retry-after", "7"),
        Turn::refusal(529, "too much to do"),
        Turn::refusal(400, "prompt is too long: 300000 tokens > 200000 maximum"),
        Turn::refusal(401, "no such key"),
    ])
    .await;
    let mut seen = Vec::new();
    for _ in 0..5 {
        let error = ask(&model, Dialect::Anthropic).await.expect_err("a refusal");
        seen.push(format!(
            "{:?}, {}, retryable {}, after {:?}",
            error.kind,
            error,
            error.is_retryable(),
            error.retry_after
        ));
    }
    assert_eq!(
        seen,
        [
            "RateLimited, slow down (HTTP 429), retryable true, after Some(7s)",
            "Overloaded, too much to do (HTTP 529), retryable true, after None",
            "ContextWindow, prompt is too long: 300000 tokens > 200000 maximum (HTTP 400), retryable false, after None",
            "Unauthorized, no such key (HTTP 401), retryable false, after None",
            "Refused, the script has no more turns (HTTP 400), retryable false, after None",
        ]
    );
}

#[tokio::test]
async fn a_connection_that_breaks_is_an_error_that_may_be_tried_again() {
    let model = ModelServer::start([
        Turn::new().text("I was about to").cut(),
        Turn::new().text("Hel").error("overloaded_error", "Overloaded"),
    ])
    .await;
    let error = ask(&model, Dialect::Anthropic).await.expect_err("a cut");
    assert_eq!((error.kind, error.is_retryable()), (ErrorKind::CutOff, true), "{error}");
    let error = ask(&model, Dialect::Anthropic).await.expect_err("an error in the stream");
    assert_eq!((error.kind, error.is_retryable()), (ErrorKind::Overloaded, true), "{error}");
}

#[tokio::test]
async fn nobody_at_the_address_is_an_error_without_the_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its port");
    drop(listener);
    let endpoint = Endpoint::new(Dialect::OpenAi).base(format!("http://user:pass@{address}"));
    let client = Client::new(endpoint).expect("a good address");
    let error =
        client.ask(&hello(Dialect::OpenAi).request(&RequestOptions::new("m"))).await.expect_err("nobody");
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error}");
    assert!(!error.to_string().contains("pass"), "{error}");
}

#[tokio::test]
async fn silence_ends_at_the_idle_time_out_before_and_within_an_answer() {
    for turn in
        [Turn::new().pause(Duration::from_secs(60)), Turn::new().text("Hel").pause(Duration::from_secs(60))]
    {
        let model = ModelServer::start([turn]).await;
        let endpoint =
            Endpoint::new(Dialect::OpenAi).base(model.url()).idle_timeout(Duration::from_millis(200));
        let client = Client::new(endpoint).expect("a good address");
        let start = Instant::now();
        let error = client
            .ask(&hello(Dialect::OpenAi).request(&RequestOptions::new("m")))
            .await
            .expect_err("silence");
        assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}

#[tokio::test]
async fn a_call_is_told_while_the_model_still_writes() {
    let turn =
        Turn::new().call("Read", json!({ "path": "a" })).pause(Duration::from_secs(600)).text("never said");
    let model = ModelServer::start(Script::always(turn)).await;
    for dialect in Dialect::ALL {
        let request = hello(dialect).request(&RequestOptions::new("scripted"));
        let mut stream = client(&model, dialect).stream(&request).await.expect("an answer");
        loop {
            match stream.next().await.expect("more") {
                StreamEvent::Call(call) => break assert_eq!(call.name, "Read"),
                StreamEvent::Done(_) | StreamEvent::Failed(_) => panic!("{dialect}: the call was not told"),
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn one_connection_serves_a_whole_conversation() {
    let model = ModelServer::start(Script::always("Hi.".into())).await;
    for dialect in Dialect::ALL {
        let client = client(&model, dialect);
        for _ in 0..3 {
            client.ask(&hello(dialect).request(&RequestOptions::new("m"))).await.expect("an answer");
        }
    }
    let mut connections: Vec<usize> = model.requests().iter().map(|request| request.connection).collect();
    connections.dedup();
    assert_eq!(connections.len(), Dialect::ALL.len());
}

#[tokio::test]
async fn addresses_are_put_together_as_each_vendors_clients_do() {
    let model = ModelServer::start(Script::always("Hi.".into())).await;
    for (dialect, path, expected) in [
        (Dialect::OpenAi, "", "/v1/chat/completions"),
        (Dialect::OpenAi, "/v1/", "/v1/chat/completions"),
        (Dialect::OpenAi, "/api/v1", "/api/v1/chat/completions"),
        (
            Dialect::OpenAi,
            "/openai/deployments/x?api-version=1",
            "/openai/deployments/x/chat/completions?api-version=1",
        ),
        (Dialect::OpenAi, "/v1/chat/completions", "/v1/chat/completions"),
        (Dialect::Responses, "/", "/v1/responses"),
        (Dialect::Anthropic, "", "/v1/messages"),
        (Dialect::Anthropic, "/v1", "/v1/messages"),
        (Dialect::Anthropic, "/v1/messages/", "/v1/messages"),
        (Dialect::Anthropic, "/anthropic", "/anthropic/v1/messages"),
        (Dialect::Gemini, "", "/v1beta/models/m:streamGenerateContent?alt=sse"),
        (Dialect::Gemini, "/v1alpha?key=1", "/v1alpha/models/m:streamGenerateContent?key=1&alt=sse"),
    ] {
        let endpoint = Endpoint::new(dialect).base(format!("{}{path}", model.url()));
        let client = Client::new(endpoint).expect("a good address");
        client.ask(&hello(dialect).request(&RequestOptions::new("m"))).await.expect("an answer");
        assert_eq!(
            model.requests().pop().map(|request| request.path).as_deref(),
            Some(expected),
            "{dialect} {path}"
        );
    }
    for wrong in ["", "localhost:80", "ftp://x", "http://", "file:///etc/passwd"] {
        let error = Client::new(Endpoint::new(Dialect::OpenAi).base(wrong)).expect_err("no address");
        assert_eq!(error.kind, ErrorKind::Refused, "{wrong}");
    }
}

#[test]
fn a_vendors_own_address_is_known_however_it_is_written() {
    let is_vendors = |dialect, base: &str| Endpoint::new(dialect).base(base).is_vendors();
    assert!(Dialect::ALL.into_iter().all(|dialect| Endpoint::new(dialect).is_vendors()));
    assert!(is_vendors(Dialect::OpenAi, "https://API.openai.com/v1/"));
    for other in [
        "http://127.0.0.1:8080",
        "https://api.openai.com.example.org/v1",
        "https://api.groq.com/openai/v1",
        "",
    ] {
        assert!(!is_vendors(Dialect::Responses, other), "{other}");
    }
}

#[tokio::test]
async fn a_request_in_another_dialect_is_not_sent() {
    let model = ModelServer::start(["Hi."]).await;
    let request = hello(Dialect::Gemini).request(&RequestOptions::new("m"));
    let error = client(&model, Dialect::OpenAi).ask(&request).await.expect_err("another dialect");
    assert_eq!(error.to_string(), "the request is in gemini, and the endpoint speaks openai");
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let model =
        ModelServer::start([Turn::refusal(307, "over there").header("location", "/elsewhere/messages")])
            .await;
    let error = ask(&model, Dialect::Anthropic).await.expect_err("a redirect");
    assert_eq!((error.status, model.requests().len()), (Some(307), 1));
}

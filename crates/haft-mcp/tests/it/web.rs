//! A web server in this process, written as a function from a request to an answer.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, Response},
};
use futures::StreamExt;
use serde_json::Value;

/// A request, as a script sees it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) verb: String,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// The message, or null.
    pub(crate) message: Value,
}

impl Asked {
    pub(crate) fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// An answer: a status, headers and a body.
pub(crate) type Told = Response<Body>;

pub(crate) fn status(code: u16, text: &str) -> Told {
    Response::builder().status(code).body(Body::from(text.to_owned())).expect("an answer")
}

pub(crate) fn json(value: Value) -> Told {
    Response::builder()
        .header("content-type", "application/json")
        .body(Body::from(value.to_string()))
        .expect("an answer")
}

/// The answer to a request, as JSON.
pub(crate) fn result(asked: &Asked, result: Value) -> Told {
    json(serde_json::json!({ "jsonrpc": "2.0", "id": asked.message["id"], "result": result }))
}

/// A stream of these texts, which stays open if it says so. `held` lives as long as the stream does.
pub(crate) fn events(texts: &[String], stays_open: bool, held: Arc<()>) -> Told {
    let texts = futures::stream::iter(texts.to_vec());
    let rest = futures::stream::once(async move {
        if stays_open {
            tokio::time::sleep(Duration::from_secs(600)).await;
        }
        String::new()
    });
    let stream = texts.chain(rest).map(move |text| {
        let _ = &held;
        Ok::<_, Infallible>(text)
    });
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(Body::from_stream(stream))
        .expect("an answer")
}

/// A running server, and what it was asked.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Web {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All that was asked so far: verb, path, method.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no poison").clone()
    }

    pub(crate) fn count(&self, verb: &str, method: &str) -> usize {
        self.asked().iter().filter(|asked| asked.verb == verb && asked.method() == method).count()
    }
}

/// Serves until the test ends.
pub(crate) async fn serve(script: impl Fn(&Asked) -> Told + Send + Sync + 'static) -> Web {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its number");
    let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
    let (script, diary) = (Arc::new(script), asked.clone());
    let handler = move |request: Request| {
        let (script, diary) = (script.clone(), diary.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = to_bytes(body, 1 << 24).await.unwrap_or_default();
            let asked = Asked {
                verb: head.method.to_string(),
                path: head.uri.path().to_owned(),
                headers: head.headers,
                message: serde_json::from_slice(&body).unwrap_or_default(),
            };
            let told = script(&asked);
            diary.lock().expect("no poison").push(asked);
            told
        }
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handler)).await });
    Web { address, asked }
}

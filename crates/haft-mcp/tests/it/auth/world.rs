//! A server that wants tokens, and the authorization server that gives them: one listener on this machine, and a record of
//! everything that it was asked.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{
        HeaderMap, HeaderValue, Method, Response, StatusCode, Uri,
        header::{CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE},
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use haft_mcp::auth::{Authorizer, Identity, TokenStore, Visitor};
use haft_tool::BoxFuture;
use reqwest::{Client, redirect};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{net::TcpListener, task::JoinHandle};

/// How this world is unlike the usual one.
#[derive(Clone, Default)]
pub(super) struct Oddities {
    /// How long tokens last, in seconds.
    pub(super) lasts: Option<u64>,
    /// The issuer that people come back with.
    pub(super) issuer: Option<String>,
    /// The authorization server that the server names.
    pub(super) names: Option<String>,
    /// Where metadata redirects to.
    pub(super) redirects: Option<String>,
    /// The scope without which the server refuses.
    pub(super) wants: Option<String>,
    /// Refresh tokens are not taken.
    pub(super) forgets: bool,
    /// What `/authorize` is called.
    pub(super) authorize: Option<String>,
    /// People say no.
    pub(super) refuses: bool,
}

#[derive(Default)]
struct Record {
    oddities: Oddities,
    asked: Vec<String>,
    /// Challenges and scopes by code.
    codes: HashMap<String, (String, String)>,
    /// Scopes by token.
    access: HashMap<String, String>,
    /// Scopes by refresh token. Each is taken once.
    refresh: HashMap<String, String>,
}

/// The listener. Ends with the value.
pub(super) struct World {
    pub(super) address: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    address: String,
    count: AtomicUsize,
    record: Mutex<Record>,
}

impl World {
    pub(super) async fn new(oddities: Oddities) -> World {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let record = Mutex::new(Record { oddities, ..Record::default() });
        let shared = Arc::new(Shared { address: address.clone(), count: AtomicUsize::new(0), record });
        let router = Router::new().fallback(answer).with_state(shared.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("served") });
        World { address, shared, server }
    }

    pub(super) fn url(&self) -> String {
        format!("{}/mcp", self.address)
    }

    /// From now on.
    pub(super) fn change(&self, change: impl FnOnce(&mut Oddities)) {
        change(&mut self.shared.record().oddities);
    }

    /// What was asked: methods and paths, and of tokens what for.
    pub(super) fn asked(&self, what: &str) -> Vec<String> {
        self.shared.record().asked.iter().filter(|asked| asked.starts_with(what)).cloned().collect()
    }

    pub(super) fn authorizer(&self, tokens: TokenStore) -> Authorizer {
        Authorizer::new("notes", &self.url(), Identity::default(), tokens).expect("an authorizer")
    }

    pub(super) fn with_person(&self, tokens: TokenStore) -> Authorizer {
        self.authorizer(tokens).with_visitor(Arc::new(Person::default()))
    }

    /// Every token that was given out.
    pub(super) fn secrets(&self) -> Vec<String> {
        let record = self.shared.record();
        record.access.keys().chain(record.refresh.keys()).cloned().collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("nobody panicked")
    }

    fn next(&self, what: &str) -> String {
        format!("{what}-{}-0123456789", self.count.fetch_add(1, Ordering::Relaxed))
    }
}

type Answer = Response<String>;

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let path = uri.path().to_owned();
    let given = pairs(uri.query().unwrap_or_default().as_bytes());
    let form = pairs(&body);
    let grant = form.get("grant_type").or(given.get("scope")).cloned().unwrap_or_default();
    shared.record().asked.push(format!("{method} {path} {grant}").trim_end().to_owned());
    match path.as_str() {
        "/mcp" => serve(&shared, &headers, &body),
        "/register" => json_of(201, &json!({ "client_id": "registered", "redirect_uris": [] })),
        "/authorize" => authorize(&shared, &given),
        "/token" => token(&shared, &form),
        "/.well-known/oauth-protected-resource/mcp" => resource(&shared),
        "/.well-known/oauth-authorization-server" => metadata(&shared),
        _ => status(404),
    }
}

fn pairs(text: &[u8]) -> HashMap<String, String> {
    url::form_urlencoded::parse(text).into_owned().collect()
}

fn status(code: u16) -> Answer {
    let mut answer = Response::new(String::new());
    *answer.status_mut() = StatusCode::from_u16(code).expect("a status");
    answer
}

fn json_of(code: u16, value: &Value) -> Answer {
    let mut answer = status(code);
    *answer.body_mut() = value.to_string();
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn redirect_to(place: &str) -> Answer {
    let mut answer = status(302);
    answer.headers_mut().insert(LOCATION, HeaderValue::from_str(place).expect("a place"));
    answer
}

/// The server itself: it repeats the token that it was sent.
fn serve(shared: &Shared, headers: &HeaderMap, body: &[u8]) -> Answer {
    let token = headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let record = shared.record();
    let Some(scope) = token.and_then(|token| record.access.get(token)) else {
        let pointer = format!("{}/.well-known/oauth-protected-resource/mcp", shared.address);
        return challenge(401, &format!("Bearer resource_metadata=\"{pointer}\", scope=\"read\""));
    };
    if let Some(wanted) = record.oddities.wants.as_ref().filter(|wanted| !scope.contains(wanted.as_str())) {
        return challenge(403, &format!("Bearer error=\"insufficient_scope\", scope=\"{wanted}\""));
    }
    let Ok(asked) = serde_json::from_slice::<Value>(body) else { return status(405) };
    let said = format!("you sent {}", token.unwrap_or_default());
    let result = match asked["method"].as_str() {
        Some("initialize") => {
            json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "n", "version": "1" } })
        }
        Some("tools/call") => json!({ "content": [{ "type": "text", "text": said }] }),
        Some("tools/list") => json!({ "tools": [] }),
        _ => return status(202),
    };
    json_of(200, &json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }))
}

fn challenge(code: u16, words: &str) -> Answer {
    let mut answer = status(code);
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_str(words).expect("words"));
    answer
}

fn resource(shared: &Shared) -> Answer {
    let oddities = shared.record().oddities.clone();
    if let Some(place) = oddities.redirects {
        return redirect_to(&place);
    }
    let server = oddities.names.unwrap_or_else(|| shared.address.clone());
    json_of(200, &json!({ "resource": format!("{}/mcp", shared.address), "authorization_servers": [server] }))
}

fn metadata(shared: &Shared) -> Answer {
    let at = |path: &str| format!("{}{path}", shared.address);
    let authorize = shared.record().oddities.authorize.clone().unwrap_or_else(|| at("/authorize"));
    json_of(
        200,
        &json!({
            "issuer": shared.address,
            "authorization_endpoint": authorize,
            "token_endpoint": at("/token"),
            "registration_endpoint": at("/register"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        }),
    )
}

fn authorize(shared: &Shared, given: &HashMap<String, String>) -> Answer {
    assert_eq!(given["code_challenge_method"], "S256");
    let oddities = shared.record().oddities.clone();
    let code = shared.next("code");
    let (challenge, scope) =
        (given["code_challenge"].clone(), given.get("scope").cloned().unwrap_or_default());
    shared.record().codes.insert(code.clone(), (challenge, scope));
    let mut back = url::Url::parse(&given["redirect_uri"]).expect("an address");
    let issuer = oddities.issuer.unwrap_or_else(|| shared.address.clone());
    let outcome = if oddities.refuses { ("error", "access_denied") } else { ("code", code.as_str()) };
    back.query_pairs_mut().extend_pairs([outcome, ("state", &given["state"]), ("iss", &issuer)]);
    redirect_to(back.as_str())
}

fn token(shared: &Shared, form: &HashMap<String, String>) -> Answer {
    let scope = match form["grant_type"].as_str() {
        "authorization_code" => {
            let (challenge, scope) = shared.record().codes.remove(&form["code"]).expect("a code of ours");
            let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(&form["code_verifier"]));
            assert_eq!(proof, challenge, "PKCE");
            Some(scope)
        }
        _ => {
            let mut record = shared.record();
            let forgets = record.oddities.forgets;
            record.refresh.remove(&form["refresh_token"]).filter(|_| !forgets)
        }
    };
    let Some(scope) = scope else { return json_of(400, &json!({ "error": "invalid_grant" })) };
    let (access, refresh) = (shared.next("access"), shared.next("refresh"));
    let mut record = shared.record();
    record.access.insert(access.clone(), scope.clone());
    record.refresh.insert(refresh.clone(), scope.clone());
    let lasts = record.oddities.lasts.unwrap_or(3600);
    json_of(
        200,
        &json!({ "access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": lasts, "scope": scope }),
    )
}

/// Somebody who goes where they are sent, and says yes.
#[derive(Default)]
pub(super) struct Person {
    pub(super) visits: AtomicUsize,
}

impl Visitor for Person {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:1/callback".to_owned()
    }

    fn visit<'a>(&'a self, address: &'a str) -> BoxFuture<'a, io::Result<String>> {
        self.visits.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let client =
                Client::builder().redirect(redirect::Policy::none()).build().map_err(io::Error::other)?;
            let answer = client.get(address).send().await.map_err(io::Error::other)?;
            Ok(answer.headers()[LOCATION].to_str().expect("a place").to_owned())
        })
    }
}

//! Tokens: got, kept, renewed, extended, and shown to nobody.

mod world; // a server that wants tokens, and who gives them

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc, time::Duration};

use haft_mcp::{
    auth::{Authorizer, Loopback, TokenStore, Unauthorized, Visitor},
    client::{Challenge, Connection, Era, NobodysDesk, RequestOptions, Server, Tokens, Transport},
};
use serde_json::{Map, json};
use tempfile::TempDir;

use world::{Oddities, World};

/// What a server says to somebody without a token.
const STRANGER: Challenge<'_> = Challenge { status: 401, header: "", refused: None, before: 0 };

async fn logged_in(oddities: Oddities) -> (World, TempDir, Authorizer) {
    let (world, directory) = (World::new(oddities).await, tempfile::tempdir().expect("a directory"));
    let authorizer = world.with_person(store(&directory));
    authorizer.login(&[]).await.expect("a token");
    (world, directory, authorizer)
}

fn store(directory: &TempDir) -> TokenStore {
    TokenStore::at(directory.path().join("tokens"))
}

async fn token(authorizer: &Authorizer) -> Option<String> {
    Authorizer::token(authorizer).await.expect("no failure")
}

fn words(outcome: Result<impl Sized, Unauthorized>) -> String {
    outcome.err().map(|err| err.to_string()).expect("a refusal")
}

#[tokio::test]
async fn a_person_logs_in_once_and_the_token_is_kept() {
    let (world, directory, authorizer) = logged_in(Oddities::default()).await;
    let first = token(&authorizer).await.expect("a token");
    let another = world.authorizer(store(&directory));
    assert_eq!(token(&another).await, Some(first), "another process has it too");
    assert_eq!(world.asked("GET /authorize"), ["GET /authorize read"], "what the server's challenge says");
    assert_eq!(world.asked("POST /token"), ["POST /token authorization_code"]);
    assert!(another.is_logged_in().expect("a file") && another.logout().expect("removed"));
    assert_eq!(token(&authorizer).await, None);
}

#[tokio::test]
async fn tokens_are_in_a_file_that_only_the_user_can_read() {
    let (world, directory, authorizer) = logged_in(Oddities::default()).await;
    let place = directory.path().join("tokens");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&place), 0o700);
    let files: Vec<_> =
        fs::read_dir(&place).expect("files").map(|entry| entry.expect("one").path()).collect();
    let kept = files.iter().find(|path| path.extension().is_some_and(|end| end == "json")).expect("a file");
    assert_eq!(mode(kept), 0o600);
    let name = kept.file_stem().expect("a name").to_string_lossy().into_owned();
    // A number, which may happen to have the digits of an address in it.
    let is_number = name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(is_number, "{name} says nothing of the server");
    let secrets = store(&directory).secrets();
    assert!(world.secrets().iter().all(|secret| secrets.contains(secret)), "whoever redacts knows them");

    fs::set_permissions(kept, fs::Permissions::from_mode(0o644)).expect("changed");
    let refused = words(Authorizer::token(&authorizer).await);
    assert!(refused.ends_with("it must be yours alone (mode 0600)"), "{refused}");
}

#[tokio::test]
async fn an_ended_token_is_renewed_before_it_is_sent() {
    let (world, _directory, authorizer) = logged_in(Oddities { lasts: Some(5), ..Oddities::default() }).await;
    world.change(|oddities| oddities.lasts = None);
    let renewed = token(&authorizer).await.expect("a token");
    assert_eq!(token(&authorizer).await, Some(renewed), "and then it holds");
    assert_eq!(world.asked("POST /token"), ["POST /token authorization_code", "POST /token refresh_token"]);
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_and_then_a_person_is_asked() {
    let (world, _directory, authorizer) = logged_in(Oddities::default()).await;
    let old = token(&authorizer).await.expect("a token");
    let challenge = Challenge { refused: Some(&old), ..STRANGER };
    let renewed = authorizer.answer(challenge).await.expect("a token");
    assert_eq!(authorizer.answer(challenge).await, Ok(renewed.clone()), "who comes late gets what is there");
    assert_eq!(world.asked("GET /authorize").len(), 1);
    let again = Challenge { refused: Some(&renewed), before: 1, ..STRANGER };
    assert_ne!(authorizer.answer(again).await.expect("a token"), renewed);
    assert_eq!(world.asked("GET /authorize").len(), 2);
}

#[tokio::test]
async fn where_nobody_is_there_the_command_to_run_is_named() {
    let (world, directory, authorizer) = logged_in(Oddities { forgets: true, ..Oddities::default() }).await;
    let old = token(&authorizer).await.expect("a token");
    let alone = world.authorizer(store(&directory));
    let refused = words(alone.answer(Challenge { refused: Some(&old), ..STRANGER }).await);
    assert_eq!(refused, "notes wants to know who asks: run `haft login notes`");
    let header = "Bearer error=\"insufficient_scope\", scope=\"write x';reboot;'\"";
    let wanted = Challenge { status: 403, header, refused: Some(&old), before: 0 };
    assert_eq!(
        words(alone.answer(wanted).await),
        "notes wants to know who asks: run `haft login notes --scope write`"
    );
}

#[tokio::test]
async fn a_server_that_wants_more_gets_what_was_granted_and_more_but_only_once() {
    let (world, _directory, authorizer) = logged_in(Oddities::default()).await;
    let old = token(&authorizer).await.expect("a token");
    let header = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    let wanted = Challenge { status: 403, header, refused: Some(&old), before: 0 };
    let better = authorizer.answer(wanted).await.expect("a token");
    assert_eq!(world.asked("GET /authorize"), ["GET /authorize read", "GET /authorize read write"]);
    let still = Challenge { refused: Some(&better), before: 1, ..wanted };
    assert_eq!(
        words(authorizer.answer(still).await),
        "no token: notes refuses although it was asked for what it wants (write)"
    );
}

#[tokio::test]
async fn two_processes_renew_a_token_once() {
    let (world, directory, _) = logged_in(Oddities { lasts: Some(5), ..Oddities::default() }).await;
    world.change(|oddities| oddities.lasts = None);
    // Each has its own open files, as two processes have.
    let (one, other) = (world.authorizer(store(&directory)), world.authorizer(store(&directory)));
    let (one, other) = tokio::join!(token(&one), token(&other));
    assert!(one.is_some() && one == other, "{one:?} {other:?}");
    assert_eq!(world.asked("POST /token refresh_token").len(), 1);
}

#[tokio::test]
async fn an_answer_of_another_issuer_is_not_taken() {
    let world =
        World::new(Oddities { issuer: Some("https://other.example".into()), ..Oddities::default() }).await;
    let refused = words(world.with_person(TokenStore::in_memory()).login(&[]).await);
    assert!(refused.contains("issuer mismatch") && world.asked("POST /token").is_empty(), "{refused}");
}

#[tokio::test]
async fn a_no_at_the_authorization_server_is_said() {
    let world = World::new(Oddities { refuses: true, ..Oddities::default() }).await;
    let refused = words(world.with_person(TokenStore::in_memory()).login(&[]).await);
    assert_eq!(refused, "no token: the authorization server refused: access_denied");
}

#[tokio::test]
async fn a_server_cannot_send_us_to_addresses_of_the_users_network() {
    for place in ["http://10.1.2.3", "https://10.1.2.3", "http://169.254.169.254", "https://[fd00::1]"] {
        let world = World::new(Oddities { names: Some(place.into()), ..Oddities::default() }).await;
        let login = world.with_person(TokenStore::in_memory());
        let outcome = tokio::time::timeout(Duration::from_secs(5), login.login(&[])).await;
        assert!(outcome.expect("at once").is_err(), "{place}");
        assert!(world.asked("POST /token").is_empty());
    }
}

#[tokio::test]
async fn a_person_is_sent_to_addresses_of_the_web_only() {
    for place in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://login.example/authorize",
        "https://10.1.2.3/authorize",
    ] {
        let world = World::new(Oddities { authorize: Some(place.into()), ..Oddities::default() }).await;
        let person = Arc::new(world::Person::default());
        let login = world.authorizer(TokenStore::in_memory()).with_visitor(person.clone());
        assert!(login.login(&[]).await.is_err(), "{place}");
        assert_eq!(person.visits.load(std::sync::atomic::Ordering::Relaxed), 0, "{place}");
    }
}

#[tokio::test]
async fn metadata_that_redirects_elsewhere_is_not_followed() {
    let elsewhere = World::new(Oddities::default()).await;
    let place = format!("{}/.well-known/oauth-protected-resource/mcp", elsewhere.address);
    let world = World::new(Oddities { redirects: Some(place), ..Oddities::default() }).await;
    let refused = words(world.with_person(TokenStore::in_memory()).login(&[]).await);
    assert!(refused.contains("redirect"), "{refused}");
    assert!(elsewhere.asked("").is_empty());
}

#[tokio::test]
async fn tokens_of_one_authorization_server_are_not_shown_to_another() {
    let (world, directory, authorizer) = logged_in(Oddities { lasts: Some(5), ..Oddities::default() }).await;
    let other = World::new(Oddities::default()).await;
    world.change(|oddities| oddities.names = Some(other.address.clone()));
    assert_eq!(token(&authorizer).await, None);
    assert!(other.asked("POST /token").is_empty() && world.asked("POST /token refresh_token").is_empty());
    drop(directory);
}

#[tokio::test]
async fn a_token_does_not_travel_in_the_clear() {
    let refused = |url: &str| {
        let authorizer = Authorizer::new("x", url, Default::default(), TokenStore::in_memory()).expect("one");
        async move { words(authorizer.answer(STRANGER).await) }
    };
    assert!(refused("http://mcp.example/mcp").await.contains("is not https"));
}

#[tokio::test]
async fn a_connection_gets_its_token_and_shows_it_to_nobody() {
    let world = World::new(Oddities { wants: Some("write".into()), ..Oddities::default() }).await;
    let authorizer = Arc::new(world.with_person(TokenStore::in_memory()));
    let mut server = Server::new("notes", Transport::Http { url: world.url(), headers: BTreeMap::new() });
    server.tokens = Some(authorizer.clone());
    let connection =
        Connection::open(&server, Some(Era::Legacy), Arc::new(NobodysDesk)).await.expect("connected");
    let params = Map::from_iter([("name".to_owned(), json!("x")), ("arguments".to_owned(), json!({}))]);
    let answer =
        connection.request("tools/call", params, &RequestOptions::default()).await.expect("an answer");
    assert_eq!(answer["content"][0]["text"], "you sent [redacted: token]");
    assert_eq!(world.asked("GET /authorize"), ["GET /authorize read", "GET /authorize read write"]);
    let shown = format!("{server:?} {authorizer:?} {answer}");
    assert!(world.secrets().iter().all(|secret| !shown.contains(secret)), "{shown}");
    connection.close().await;
}

#[tokio::test]
async fn a_connection_without_a_person_says_what_to_do() {
    let world = World::new(Oddities::default()).await;
    let mut server = Server::new("notes", Transport::Http { url: world.url(), headers: BTreeMap::new() });
    server.tokens = Some(Arc::new(world.authorizer(TokenStore::in_memory())) as Arc<dyn Tokens>);
    let refused = Connection::open(&server, None, Arc::new(NobodysDesk)).await.err().expect("refused");
    assert!(refused.message.contains("run `haft login notes`"), "{}", refused.message);
}

#[tokio::test]
async fn only_who_was_sent_is_heard_when_they_come_back() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let loopback = Loopback::listen(0, |_| {}).await.expect("a port");
    let back = loopback.redirect_uri();
    assert!(back.starts_with("http://127.0.0.1:") && back.ends_with("/callback"), "{back}");
    let knock = async {
        for query in ["state=guessed&code=bad", "code=bad", "state=s1&code=good"] {
            reqwest::get(format!("{back}?{query}")).await.expect("an answer");
        }
    };
    let (returned, ()) = tokio::join!(loopback.visit("https://login.example/authorize?state=s1"), knock);
    assert!(returned.expect("somebody").ends_with("state=s1&code=good"));
}

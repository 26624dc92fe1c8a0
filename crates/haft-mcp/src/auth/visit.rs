//! The person at the authorization server: sent there with an address, and back to a listener of ours with a code.

use std::{io, time::Duration};

use axum::{Router, extract::State, http::Uri, response::Html, routing::get};
use haft_tool::BoxFuture;
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc},
    task::JoinHandle,
};
use url::Url;

/// Takes somebody to an authorization server, and brings back where they were sent to from there.
pub trait Visitor: Send + Sync {
    /// Where the authorization server sends people back to.
    fn redirect_uri(&self) -> String;

    /// Takes somebody to `address`, which is http or https. Gives the whole address that they came back with, or why they did
    /// not. The future is dropped when it takes too long.
    fn visit<'a>(&'a self, address: &'a str) -> BoxFuture<'a, io::Result<String>>;
}

/// How long a person may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(5 * 60);
/// The path that people come back to.
const BACK: &str = "/callback";

/// A listener on this machine alone, for the time of one visit.
pub struct Loopback {
    port: u16,
    returned: Mutex<mpsc::Receiver<String>>,
    server: JoinHandle<()>,
    /// Shows the address to the person.
    show: Box<dyn Fn(&str) + Send + Sync>,
}

impl Loopback {
    /// Listens on a port of 127.0.0.1; 0 for any that is free. `show` is given the address that the person must open.
    pub async fn listen(port: u16, show: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Loopback> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let port = listener.local_addr()?.port();
        let (tx, rx) = mpsc::channel(8);
        let router = Router::new().route(BACK, get(came_back)).with_state(tx);
        // Ended with the value: see `drop`.
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Loopback { port, returned: Mutex::new(rx), server, show: Box::new(show) })
    }
}

async fn came_back(State(tx): State<mpsc::Sender<String>>, uri: Uri) -> Html<&'static str> {
    // Nobody listens any more to those who come too late; they are told the same.
    let _ = tx.try_send(format!("http://127.0.0.1{uri}"));
    Html("<!doctype html><title>haft</title><p>haft has what it needs. You can close this page.")
}

impl Visitor for Loopback {
    fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{BACK}", self.port)
    }

    fn visit<'a>(&'a self, address: &'a str) -> BoxFuture<'a, io::Result<String>> {
        Box::pin(async move {
            (self.show)(address);
            let (mut returned, sent) = (self.returned.lock().await, state(address));
            while let Some(back) = returned.recv().await {
                // Any page and any program here can knock: who was sent is known by what they were given.
                if state(&back) == sent {
                    return Ok(back);
                }
            }
            Err(io::Error::other("the listener has ended"))
        })
    }
}

/// What tells one visit from another.
fn state(address: &str) -> Option<String> {
    let address = Url::parse(address).ok()?;
    address.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned())
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.server.abort();
    }
}

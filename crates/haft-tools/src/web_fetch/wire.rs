//! The real network: the system's names, and one HTTP client.
//!
//! The client is made when the first page is fetched, so that nobody else pays for TLS. It cannot look up anything by
//! itself: the only addresses that it knows are those that were checked for the request that is under way.

use std::{
    error::Error,
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use haft_tool::BoxFuture;
use reqwest::{
    Client, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    header::ACCEPT,
    redirect,
};
use url::Url;

use super::network::{Answer, Body, Network};

/// How long one connection may take to be made.
const PATIENCE: Duration = Duration::from_secs(10);

/// Text first: many servers have a lighter form for whoever asks for it.
const WANTED: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5";

const NAME: &str = concat!("haft/", env!("CARGO_PKG_VERSION"));

/// See the module.
#[derive(Default)]
pub(super) struct Wire {
    client: OnceLock<Client>,
    pins: Pins,
}

impl Network for Wire {
    fn look_up<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }

    fn get<'a>(&'a self, url: &'a Url, addresses: &'a [SocketAddr]) -> BoxFuture<'a, io::Result<Answer>> {
        Box::pin(async move {
            let client = self.client()?;
            let _pin = self.pins.pin(url.host_str().unwrap_or_default(), addresses);
            let response = client.get(url.clone()).header(ACCEPT, WANTED).send().await.map_err(plain)?;
            Ok(answer(response))
        })
    }
}

impl Wire {
    fn client(&self) -> io::Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Whoever installed a provider before has made the same choice for the whole process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(NAME)
            .connect_timeout(PATIENCE)
            .redirect(redirect::Policy::none())
            .referer(false)
            // What the environment says of proxies is not the session's to trust.
            .no_proxy()
            // A connection that is kept would be one that the next request did not check.
            .pool_max_idle_per_host(0)
            .dns_resolver(self.pins.clone())
            .build()
            .map_err(plain)?;
        Ok(self.client.get_or_init(|| client))
    }
}

fn answer(response: Response) -> Answer {
    let headers = response.headers().iter();
    Answer {
        status: response.status().as_u16(),
        headers: headers.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect(),
        body: Box::new(Coming(response)),
    }
}

struct Coming(Response);

impl Body for Coming {
    fn next(&mut self) -> BoxFuture<'_, io::Result<Option<Vec<u8>>>> {
        Box::pin(async {
            let piece = self.0.chunk().await.map_err(plain)?;
            Ok(piece.map(|bytes| bytes.to_vec()))
        })
    }
}

/// What went wrong at the bottom: the layers above repeat the address and say "error sending request".
fn plain(err: reqwest::Error) -> io::Error {
    let mut deepest: &(dyn Error + 'static) = &err;
    let mut kind = io::ErrorKind::Other;
    while let Some(source) = deepest.source() {
        deepest = source;
        kind = deepest.downcast_ref::<io::Error>().map_or(kind, io::Error::kind);
    }
    io::Error::new(kind, deepest.to_string())
}

/// The addresses of the requests that are under way, by name. Two requests for one name may swap theirs: both were checked.
#[derive(Clone, Default)]
struct Pins(Arc<Mutex<Vec<Pinned>>>);

struct Pinned {
    id: u64,
    name: String,
    addresses: Vec<SocketAddr>,
}

/// Forgets the addresses when the request has been answered, or dropped.
struct Pin {
    id: u64,
    pins: Pins,
}

impl Pins {
    fn pin(&self, name: &str, addresses: &[SocketAddr]) -> Pin {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        self.lock().push(Pinned { id, name: name.to_owned(), addresses: addresses.to_vec() });
        Pin { id, pins: self.clone() }
    }

    fn find(&self, name: &str) -> Option<Vec<SocketAddr>> {
        self.lock().iter().rev().find(|pinned| pinned.name == name).map(|pinned| pinned.addresses.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Pinned>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.lock().retain(|pinned| pinned.id != self.id);
    }
}

/// The client's only idea of names.
impl Resolve for Pins {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.find(name.as_str());
        Box::pin(async move {
            let found = found.ok_or("no address was checked for this name")?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_known_only_while_its_request_is_under_way() {
        let pins = Pins::default();
        let (one, two) = (([1, 1, 1, 1], 80).into(), ([2, 2, 2, 2], 80).into());
        let first = pins.pin("docs.rs", &[one]);
        let second = pins.pin("docs.rs", &[two]);
        assert_eq!((pins.find("docs.rs"), pins.find("evil.test")), (Some(vec![two]), None));
        drop(second);
        assert_eq!(pins.find("docs.rs"), Some(vec![one]));
        drop(first);
        assert_eq!(pins.find("docs.rs"), None);
    }
}

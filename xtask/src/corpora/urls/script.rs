//! The network of a case.

use std::{
    collections::{HashMap, VecDeque},
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use haft_tool::BoxFuture;
use haft_tools::{Answer, Body, Network, Url};
use serde::Deserialize;

/// What names are, each either for ever or look-up by look-up. The last answer holds on.
pub(super) struct Names {
    pub(super) dns: HashMap<String, Vec<IpAddr>>,
    pub(super) dns_sequence: HashMap<String, VecDeque<Vec<IpAddr>>>,
}

/// What a server answers that has the page elsewhere.
#[derive(Clone, Deserialize)]
pub(super) struct Redirect {
    status: u16,
    location: String,
}

/// Whoever was contacted.
#[derive(Clone, Default)]
pub(super) struct Events(Arc<Mutex<Vec<IpAddr>>>);

impl Events {
    pub(super) fn contacted(&self) -> Vec<IpAddr> {
        lock(&self.0).clone()
    }
}

pub(super) struct Script {
    names: Mutex<Names>,
    redirects: Mutex<VecDeque<Redirect>>,
    repeats: bool,
    events: Events,
}

/// What a host has that no case speaks of.
const PUBLIC: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(93, 184, 216, 34));

impl Script {
    pub(super) fn new(names: Names, redirects: Vec<Redirect>, repeats: bool, events: Events) -> Script {
        Script { names: Mutex::new(names), redirects: Mutex::new(redirects.into()), repeats, events }
    }

    fn address(&self, name: &str) -> Vec<IpAddr> {
        let mut names = lock(&self.names);
        if let Some(sequence) = names.dns_sequence.get_mut(name) {
            let first = sequence.pop_front().unwrap_or_default();
            if sequence.is_empty() {
                sequence.push_back(first.clone());
            }
            return first;
        }
        match names.dns.get(name) {
            Some(addresses) => addresses.clone(),
            // What the system itself knows.
            None if name == "localhost" => vec![[127, 0, 0, 1].into()],
            None => vec![PUBLIC],
        }
    }

    fn redirect(&self) -> Option<Redirect> {
        let mut redirects = lock(&self.redirects);
        let next = redirects.pop_front()?;
        if self.repeats {
            redirects.push_back(next.clone());
        }
        Some(next)
    }
}

impl Network for Script {
    fn look_up<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::ready(Ok(self.address(name))))
    }

    /// A client may try any of the addresses.
    fn get<'a>(&'a self, _: &'a Url, addresses: &'a [SocketAddr]) -> BoxFuture<'a, io::Result<Answer>> {
        lock(&self.events.0).extend(addresses.iter().map(SocketAddr::ip));
        let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
        let (status, headers) = match self.redirect() {
            Some(Redirect { status, location }) => (status, vec![header("location", &location)]),
            None => (200, vec![header("content-type", "text/plain")]),
        };
        Box::pin(std::future::ready(Ok(Answer { status, headers, body: Box::new(Nothing) })))
    }
}

struct Nothing;

impl Body for Nothing {
    fn next(&mut self) -> BoxFuture<'_, io::Result<Option<Vec<u8>>>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! A network that is a script.

use std::{
    collections::{HashMap, VecDeque},
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use haft_tool::BoxFuture;
use url::Url;

use super::super::network::{Answer, Body, Network};

/// Names without an entry have a public address; after the last page comes a plain one.
#[derive(Default)]
pub(super) struct Script {
    names: HashMap<String, Mutex<VecDeque<Vec<IpAddr>>>>,
    pages: Mutex<VecDeque<Page>>,
    /// Every address that a request could have gone to.
    pub(super) contacted: Arc<Mutex<Vec<IpAddr>>>,
}

pub(super) struct Page {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Page {
    pub(super) fn new(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Page {
        let header = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
        Page { status, headers: headers.iter().map(header).collect(), body: body.as_ref().to_vec() }
    }

    pub(super) fn redirect(status: u16, location: &str) -> Page {
        Page::new(status, &[("location", location)], "")
    }
}

impl Script {
    /// The answers of successive look-ups of a name.
    pub(super) fn name(mut self, name: &str, answers: &[&[&str]]) -> Script {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        self.names.insert(name.to_owned(), Mutex::new(answers.iter().map(parse).collect()));
        self
    }

    /// The answer of the next request.
    pub(super) fn page(self, page: Page) -> Script {
        self.pages.lock().unwrap().push_back(page);
        self
    }
}

impl Network for Script {
    fn look_up<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let answers = self.names.get(name).map(|answers| answers.lock().unwrap().pop_front());
        let answer = match answers {
            Some(answer) => answer.ok_or_else(|| io::Error::other("one look-up too many")),
            None => Ok(vec![[93, 184, 216, 34].into()]),
        };
        Box::pin(std::future::ready(answer))
    }

    fn get<'a>(&'a self, _: &'a Url, addresses: &'a [SocketAddr]) -> BoxFuture<'a, io::Result<Answer>> {
        self.contacted.lock().unwrap().extend(addresses.iter().map(SocketAddr::ip));
        let plain = || Page::new(200, &[("content-type", "text/plain")], "hello");
        let Page { status, headers, body } = self.pages.lock().unwrap().pop_front().unwrap_or_else(plain);
        let body = Box::new(Whole(Some(body)));
        Box::pin(std::future::ready(Ok(Answer { status, headers, body })))
    }
}

struct Whole(Option<Vec<u8>>);

impl Body for Whole {
    fn next(&mut self) -> BoxFuture<'_, io::Result<Option<Vec<u8>>>> {
        Box::pin(std::future::ready(Ok(self.0.take())))
    }
}

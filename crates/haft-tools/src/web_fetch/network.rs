//! The network, as far as WebFetch has to do with it.
//!
//! Two questions, so that what is decided between them can be tried without any network: what addresses has a name, and
//! what does one of *these* addresses answer. Whoever implements them decides nothing.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use haft_tool::BoxFuture;
use url::Url;

/// Looks up names and carries requests. `Wire`, inside, is the real one.
pub trait Network: Send + Sync + 'static {
    /// The addresses of a name, all of them.
    fn look_up<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;

    /// Sends a GET for this URL to one of these addresses and to nobody else: they were checked, the name was not. No
    /// cookies, no credentials, and where the answer points to is not followed.
    fn get<'a>(&'a self, url: &'a Url, addresses: &'a [SocketAddr]) -> BoxFuture<'a, io::Result<Answer>>;
}

/// What a server answers.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// What follows, unpacked.
    pub body: Box<dyn Body>,
}

/// A body that comes piece by piece. Dropping it ends the connection.
pub trait Body: Send {
    /// The next piece, or that there is none.
    fn next(&mut self) -> BoxFuture<'_, io::Result<Option<Vec<u8>>>>;
}

impl Answer {
    /// The text of a header; nothing if it is none.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(header, _)| header == name)?;
        std::str::from_utf8(value).ok().map(str::trim)
    }

    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(header, _)| header == name)
    }
}

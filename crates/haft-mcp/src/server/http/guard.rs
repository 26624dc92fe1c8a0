//! May a request come in?
//!
//! A server on loopback can be reached by any web page that its user opens, under a name that the page's owner points at
//! 127.0.0.1. So the name that a request was made for has to be one of ours, and the page that made it, if it was one, too.
//! Then there is the token: what runs on this machine is not all the user's.

use std::{net::SocketAddr, sync::Arc};

use super::{
    HttpOptions,
    badge::{Visitor, Visitors},
    reply,
};
use axum::{
    http::{HeaderMap, header},
    response::Response,
};

/// Looks at requests before they are read.
pub(super) struct Guard {
    visitors: Visitors,
    /// Lower case, without port; IPv6 without brackets.
    hosts: Vec<String>,
}

impl Guard {
    pub(super) fn new(address: SocketAddr, options: HttpOptions) -> Guard {
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        if !address.ip().is_unspecified() {
            hosts.push(address.ip().to_string());
        }
        hosts.extend(options.hosts.iter().map(|host| name(host)));
        Guard { visitors: Visitors::new(options.badges), hosts }
    }

    /// Who it is, if they may come in.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<Arc<Visitor>, Box<Response>> {
        if !one(headers, header::HOST).is_some_and(|host| self.knows(host)) {
            return Err(Box::new(reply::plain(403, "Forbidden: this server is not called by that Host")));
        }
        if headers.contains_key(header::ORIGIN)
            && !one(headers, header::ORIGIN).is_some_and(|origin| self.trusts(origin))
        {
            return Err(Box::new(reply::plain(
                403,
                "Forbidden: pages of that Origin may not use this server",
            )));
        }
        self.visitors.who(bearer(headers)).ok_or_else(|| Box::new(reply::unauthorized()))
    }

    fn knows(&self, authority: &str) -> bool {
        self.hosts.contains(&name(authority))
    }

    /// A page that was served from here, or by something else on this machine.
    fn trusts(&self, origin: &str) -> bool {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| !host.contains('/') && self.knows(host))
    }
}

/// The header's only value.
fn one(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = one(headers, header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The name in an authority: without port and brackets, in lower case. What is no authority is no name of ours.
fn name(authority: &str) -> String {
    let authority = authority.trim();
    let host = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) if port.is_empty() || is_port(port) => host,
        Some(_) => "",
        None => match authority.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                host
            }
            // An address with several colons and no brackets is one that a user wrote in a setting.
            _ => authority,
        },
    };
    host.to_ascii_lowercase()
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::{
        super::badge::{Badge, Token},
        *,
    };

    fn guard(token: Option<&str>) -> Guard {
        let badges = token.map(|token| vec![Badge::new(Token::new(token).unwrap())]);
        let options = HttpOptions { badges, hosts: vec!["Box.lan:80".to_owned()], sse: false };
        Guard::new("127.0.0.1:80".parse().unwrap(), options)
    }

    #[track_caller]
    fn check(guard: &Guard, sent: &[(&'static str, &str)], expected: u16) {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(*name, value.parse().unwrap());
        }
        let status = guard.check(&headers).map_or_else(|refused| refused.status().as_u16(), |_| 200);
        assert_eq!(status, expected, "{sent:?}");
    }

    #[test]
    fn only_names_of_ours_are_let_in() {
        let guard = guard(None);
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:80", "[::1]", "box.lan"] {
            check(&guard, &[("host", host)], 200);
        }
        for host in
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::1]x", "[evil]:80", ""]
        {
            check(&guard, &[("host", host)], 403);
        }
        check(&guard, &[], 403);
        check(&guard, &[("host", "localhost"), ("host", "evil.example")], 403);
    }

    #[test]
    fn a_page_from_elsewhere_may_not_use_us() {
        let guard = guard(None);
        for (origin, status) in [
            ("http://localhost:3000", 200),
            ("https://[::1]", 200),
            ("http://evil.example", 403),
            ("null", 403),
            ("http://localhost@evil.example", 403),
            ("http://evil.example/localhost", 403),
            ("file://localhost", 403),
        ] {
            check(&guard, &[("host", "localhost"), ("origin", origin)], status);
        }
    }

    #[test]
    fn without_the_token_nobody_is_let_in() {
        let guard = guard(Some("secret"));
        let host = ("host", "localhost");
        check(&guard, &[host], 401);
        check(&guard, &[host, ("authorization", "Bearer wrong")], 401);
        check(&guard, &[host, ("authorization", "Basic secret")], 401);
        check(&guard, &[host, ("authorization", "Bearer secret")], 200);
        check(&guard, &[host, ("authorization", "bearer  secret")], 200);
        check(&guard, &[("host", "evil.example"), ("authorization", "Bearer secret")], 403);
    }
}

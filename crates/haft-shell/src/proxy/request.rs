//! What a client wants: HTTP `CONNECT`, a request for a whole address, or SOCKS 5.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, Ipv6Addr, TcpStream},
    time::Duration,
};

use super::hosts::Refusal;

/// What a client wants.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) host: String,
    pub(super) port: u16,
    manner: Manner,
}

/// How it was asked for, and so how it is answered.
#[derive(Debug)]
enum Manner {
    /// A tunnel.
    Connect,
    /// A request, which is passed on in these words.
    Request(Vec<u8>),
    Socks,
}

/// How long a first word may be, and how long one waits for it.
const LONGEST: usize = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads what a client wants.
pub(super) fn read(client: &mut TcpStream) -> io::Result<Wish> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    match byte(client)? {
        5 => socks(client),
        first => http(client, first),
    }
}

impl Wish {
    /// Says yes, and passes on what was said already.
    pub(super) fn granted(&self, client: &mut impl Write, server: &mut impl Write) -> io::Result<()> {
        match &self.manner {
            Manner::Connect => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n"),
            Manner::Request(words) => server.write_all(words),
            Manner::Socks => client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
        }
    }

    /// Says no, and why.
    pub(super) fn denied(&self, client: &mut impl Write, why: &Refusal) -> io::Result<()> {
        if let Manner::Socks = self.manner {
            let code = if why.is_policy() { 2 } else { 4 };
            return client.write_all(&[5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
        }
        let status = if why.is_policy() { "403 Forbidden" } else { "502 Bad Gateway" };
        let text = format!("haft: {}: {why}\n", self.host);
        let length = text.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        client.write_all((head + &text).as_bytes())
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

fn byte(client: &mut impl Read) -> io::Result<u8> {
    bytes::<1>(client).map(|[byte]| byte)
}

fn bytes<const N: usize>(client: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn socks(client: &mut (impl Read + Write)) -> io::Result<Wish> {
    let methods = byte(client)?;
    client.take(methods.into()).read_to_end(&mut Vec::new())?;
    client.write_all(&[5, 0])?;
    let [version, command, _, kind] = bytes(client)?;
    if (version, command) != (5, 1) {
        return Err(wrong("only connections can be asked for"));
    }
    let host = match kind {
        1 => Ipv4Addr::from(bytes::<4>(client)?).to_string(),
        4 => Ipv6Addr::from(bytes::<16>(client)?).to_string(),
        3 => name(client)?,
        _ => return Err(wrong("an unknown kind of address")),
    };
    let port = u16::from_be_bytes(bytes(client)?);
    Ok(Wish { host, port, manner: Manner::Socks })
}

fn name(client: &mut impl Read) -> io::Result<String> {
    let length = byte(client)?;
    let mut name = Vec::new();
    client.take(length.into()).read_to_end(&mut name)?;
    String::from_utf8(name).map_err(|_| wrong("the name is not text"))
}

fn http(client: &mut impl Read, first: u8) -> io::Result<Wish> {
    let head = head(client, first)?;
    let mut lines = head.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = words[..] else { return Err(wrong("a request has three words")) };
    if !version.starts_with("HTTP/1.") {
        return Err(wrong("only HTTP/1 is understood"));
    }
    if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Ok(Wish { host, port, manner: Manner::Connect });
    }
    let rest = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://")).map(|_| &target[7..]);
    let rest = rest.ok_or_else(|| wrong("a proxy wants the whole address"))?;
    let (place, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = authority(place, Some(80))?;
    framed_once(lines.clone())?;
    let words = rewritten(method, place, path, version, lines);
    Ok(Wish { host, port, manner: Manner::Request(words.into_bytes()) })
}

/// All until the empty line, byte by byte: what comes after it is not ours.
fn head(client: &mut impl Read, first: u8) -> io::Result<String> {
    let mut head = vec![first];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= LONGEST {
            return Err(wrong("the head is too long"));
        }
        head.push(byte(client)?);
    }
    String::from_utf8(head).map_err(|_| wrong("the head is not text"))
}

/// A host and its port, and nothing else: no user, no second colon.
fn authority(text: &str, default: Option<u16>) -> io::Result<(String, u16)> {
    let after_host = if text.starts_with('[') { text.find(']').map(|at| at + 1) } else { text.find(':') };
    let (host, rest) = text.split_at(after_host.unwrap_or(text.len()));
    let port = match rest.strip_prefix(':') {
        Some(digits) => digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit())),
        None => default.filter(|_| rest.is_empty()),
    };
    port.map(|port| (host.to_owned(), port)).ok_or_else(|| wrong("a host and a port are wanted"))
}

/// Refuses a head that servers read in different ways: two lengths of a body, a length beside chunks, a line that goes on
/// in the next, a name with a blank behind it, a lone carriage return or line feed.
fn framed_once<'a>(lines: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let (mut lengths, mut chunks) = (0, 0);
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').ok_or_else(|| wrong("a field has a name and a value"))?;
        if name.is_empty() || name.contains(|c: char| c.is_ascii_whitespace()) || line.contains(['\r', '\n'])
        {
            return Err(wrong("a field is not written as HTTP/1.1 has it"));
        }
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            lengths += 1;
            if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(wrong("a length is a number"));
            }
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunks += 1;
            if !value.eq_ignore_ascii_case("chunked") {
                return Err(wrong("only chunks are passed on"));
            }
        }
    }
    if lengths + chunks > 1 { Err(wrong("the length of the body is said twice")) } else { Ok(()) }
}

/// The request for the server: for this host whatever the head says, and the last one on this connection, so that no
/// second one can be for somebody else.
fn rewritten<'a>(
    method: &str,
    place: &str,
    path: &str,
    version: &str,
    lines: impl Iterator<Item = &'a str>,
) -> String {
    const OURS: [&str; 5] = ["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive"];
    let slash = if path.starts_with('/') { "" } else { "/" };
    let path = path.split('#').next().unwrap_or_default();
    let mut words = format!("{method} {slash}{path} {version}\r\nHost: {place}\r\nConnection: close\r\n");
    let name = |line: &str| line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
    for line in lines.filter(|line| !line.is_empty() && !OURS.contains(&&*name(line))) {
        words += line;
        words += "\r\n";
    }
    words + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &str, expected: Option<(&str, u16, &str)>) {
        let mut rest = &head.as_bytes()[1..];
        let wish = http(&mut rest, head.as_bytes()[0]).ok().map(|wish| match wish.manner {
            Manner::Request(words) => (wish.host, wish.port, String::from_utf8(words).unwrap()),
            _ => (wish.host, wish.port, String::new()),
        });
        assert_eq!(
            wish,
            expected.map(|(host, port, words)| (host.to_owned(), port, words.to_owned())),
            "{head}"
        );
    }

    #[test]
    fn a_tunnel_needs_a_host_and_a_port() {
        check("CONNECT a.com:443 HTTP/1.1\r\nHost: b.com\r\n\r\n", Some(("a.com", 443, "")));
        check("CONNECT [::1]:8080 HTTP/1.1\r\n\r\n", Some(("[::1]", 8080, "")));
        for target in ["a.com", "a.com:", "a.com:+1", "a.com:99999", "a.com:1:2", "[::1]x:1"] {
            check(&format!("CONNECT {target} HTTP/1.1\r\n\r\n"), None);
        }
    }

    #[test]
    fn a_request_is_passed_on_for_the_host_that_was_judged() {
        check(
            "GET http://a.com/x?y HTTP/1.1\r\nHost: b.com\r\nProxy-Authorization: z\r\nAccept: */*\r\n\r\n",
            Some((
                "a.com",
                80,
                "GET /x?y HTTP/1.1\r\nHost: a.com\r\nConnection: close\r\nAccept: */*\r\n\r\n",
            )),
        );
        check(
            "GET HTTP://a.com:81 HTTP/1.1\r\n\r\n",
            Some(("a.com", 81, "GET / HTTP/1.1\r\nHost: a.com:81\r\nConnection: close\r\n\r\n")),
        );
        check("GET /x HTTP/1.1\r\nHost: a.com\r\n\r\n", None);
        check("GET https://a.com/ HTTP/1.1\r\n\r\n", None);
        check("GET é HTTP/1.1\r\n\r\n", None);
    }

    #[test]
    fn a_body_has_one_length() {
        let head = |fields: &str| format!("POST http://a.com/ HTTP/1.1\r\n{fields}\r\n");
        let passed = |fields: &str| {
            let words = format!("POST / HTTP/1.1\r\nHost: a.com\r\nConnection: close\r\n{fields}\r\n");
            check(&head(fields), Some(("a.com", 80, &words)));
        };
        passed("Content-Length: 3\r\n");
        passed("transfer-encoding: Chunked\r\n");
        for fields in [
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            "Content-Length: 3\r\nContent-Length: 4\r\n",
            "Content-Length: 3, 3\r\n",
            "Content-Length: +3\r\n",
            "Transfer-Encoding: identity, chunked\r\n",
            "Transfer-Encoding : chunked\r\nContent-Length: 3\r\n",
            "X: y\r\n Content-Length: 3\r\n",
            "X: y\nContent-Length: 3\r\n",
            "X: y\rContent-Length: 3\r\n",
            "X\r\n",
        ] {
            check(&head(fields), None);
        }
    }

    #[test]
    fn a_user_in_front_of_the_host_is_no_part_of_it() {
        // It stays in the name, which no policy allows.
        check(
            "GET http://a.com@b.com/ HTTP/1.1\r\n\r\n",
            Some(("a.com@b.com", 80, "GET / HTTP/1.1\r\nHost: a.com@b.com\r\nConnection: close\r\n\r\n")),
        );
    }
}

//! Which host a word names.
//!
//! A word that does not plainly name one is an unknown host, never a guess: programs disagree about odd URLs.

use haft_tool::split_port;

use super::Arg;
use crate::sandbox::is_loopback;

/// The host of a URL, or of what curl takes for one: `x.test/a`.
pub(super) fn of_url(arg: &Arg) -> Arg {
    let (text, open) = match arg {
        Arg::Known(text) => (text.as_str(), false),
        Arg::Unknown { prefix, splits: false } => (prefix.as_str(), true),
        _ => return unknown(),
    };
    let after_scheme = text.split_once("://").map_or(text, |(_, rest)| rest);
    let end = after_scheme.find(['/', '?', '#']);
    if open && end.is_none() {
        return unknown();
    }
    let authority = &after_scheme[..end.unwrap_or(after_scheme.len())];
    // Some read `\` as `/`, and some as part of the user's name.
    if authority.contains('\\') {
        return unknown();
    }
    plain(authority.rsplit_once('@').map_or(authority, |(_, host)| host))
}

/// A host as ssh, ping and nc take it: `user@host`, `host:port`.
pub(super) fn of_name(arg: &Arg) -> Arg {
    match arg {
        Arg::Known(text) if text.contains("://") => of_url(arg),
        Arg::Known(text) => plain(text.rsplit_once('@').map_or(text, |(_, host)| host)),
        _ => unknown(),
    }
}

/// The host of `host:path`, if it is of that form: a path with a slash before the colon is none.
pub(super) fn before_colon(arg: &Arg) -> Option<Arg> {
    let text = match arg {
        Arg::Known(text) | Arg::Unknown { prefix: text, .. } => text,
        Arg::Glob(_) => return None,
    };
    if text.contains("://") {
        return Some(of_url(arg));
    }
    let (host, _) = text.split_once(':')?;
    (!host.contains('/')).then(|| of_name(&Arg::Known(host.to_owned())))
}

/// The name, without its port unless it is this machine's, if it is made of letters that cannot be misread.
fn plain(host: &str) -> Arg {
    if let Some(address) =
        host.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(address, _)| address)
    {
        let fits = address.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'));
        let known = || own_port(host).unwrap_or_else(|| address.to_owned());
        return if fits { Arg::Known(known()) } else { unknown() };
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if name.is_empty() || !name.bytes().all(fits) {
        return unknown();
    }
    Arg::Known(own_port(host).unwrap_or_else(|| name.to_ascii_lowercase()))
}

/// A host of this machine's loopback with its port: a grant of it is to be no wider than what is asked for.
fn own_port(host: &str) -> Option<String> {
    let (_, port) = split_port(host)?;
    port.filter(|_| is_loopback(host)).map(|_| host.to_ascii_lowercase())
}

fn unknown() -> Arg {
    Arg::Unknown { prefix: String::new(), splits: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_what_stands_between_the_slashes() {
        for (url, host) in [
            ("http://x.test", Some("x.test")),
            ("https://X.Test:8443/a?b#c", Some("x.test")),
            ("x.test/a", Some("x.test")),
            ("http://good.test@evil.test/", Some("evil.test")),
            ("http://[::1]:80/", Some("[::1]:80")),
            ("http://[::1]/", Some("::1")),
            ("http://LocalHost:3000/x", Some("localhost:3000")),
            ("http://localhost:http/x", Some("localhost")),
            ("http://good.test\\@evil.test/", None),
            ("http://{a,b}.test/", None),
            ("", None),
        ] {
            let expected = host.map_or_else(unknown, |host| Arg::Known(host.to_owned()));
            assert_eq!(of_url(&Arg::Known(url.to_owned())), expected, "{url}");
        }
    }

    #[test]
    fn a_url_that_is_known_past_its_host_has_a_known_host() {
        let url = |prefix: &str| of_url(&Arg::Unknown { prefix: prefix.to_owned(), splits: false });
        assert_eq!(url("http://x.test/"), Arg::Known("x.test".to_owned()));
        assert_eq!(url("http://x.test"), unknown(), "what follows may be `.evil.test`");
    }

    #[test]
    fn a_colon_after_a_slash_names_no_host() {
        assert_eq!(
            before_colon(&Arg::Known("me@h.test:a/b".to_owned())),
            Some(Arg::Known("h.test".to_owned()))
        );
        assert_eq!(before_colon(&Arg::Known("./a:b".to_owned())), None);
    }
}

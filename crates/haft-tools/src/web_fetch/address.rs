//! What a text means as an address of the web, decided once.
//!
//! Rules, look-ups and the connection all take the host from here: where two parsers read the same text, sooner or later one
//! of them sees the permitted host and the other one contacts another. What a parser would repair in silence is refused.

use std::{fmt, net::IpAddr};

use haft_tool::{Fault, is_local_name};
use url::{Host, Url};

/// An address that can be fetched: http or https, a plain host, no user, no fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address(Url);

/// Why a text is no such address, and what would be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfit {
    problem: String,
    instead: &'static str,
}

/// Longer ones are attempts at something else.
const LONGEST: usize = 8 * 1024;

const FORM: &str = "Give the whole address, like https://docs.rs/tokio.";
const ONLY_WEB: &str =
    "Only http:// and https:// are fetched; for files use Read, for everything else a shell command.";
const ESCAPE: &str = "Write it with its plain characters only; what belongs into the path can be %-escaped.";
const NO_USER: &str =
    "Leave out what stands before the @: no credentials are sent, and the host must be plain to see.";
const PLAIN_HOST: &str = "A host is labels of letters, digits, - and _ with dots between, or an IP address.";

impl Address {
    /// Reads what a model wrote.
    pub(super) fn parse(text: &str) -> Result<Address, Unfit> {
        check_characters(text)?;
        check_beginning(text)?;
        let url = Url::parse(text).map_err(|err| no_address(text, err))?;
        Address::of(url)
    }

    /// Reads where a server points to from here.
    pub(super) fn join(&self, location: &str) -> Result<Address, Unfit> {
        check_characters(location)?;
        let url = self.0.join(location).map_err(|err| no_address(location, err))?;
        Address::of(url)
    }

    fn of(mut url: Url) -> Result<Address, Unfit> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Unfit::new(format!("`{}:` is not fetched", url.scheme()), ONLY_WEB));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Unfit::new("it names a user".to_owned(), NO_USER));
        }
        if url.port() == Some(0) {
            return Err(Unfit::new("there is no port 0".to_owned(), FORM));
        }
        drop_final_dot(&mut url)?;
        check_host(&url)?;
        // It is for whoever looks at the page; servers never get it.
        url.set_fragment(None);
        Ok(Address(url))
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    /// The host in the one form in which rules compare it; IPv6 in brackets.
    pub(super) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    pub(super) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// The address itself, where no name has to be looked up.
    pub(super) fn literal(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
            Host::Domain(_) => None,
        }
    }

    /// Whether a rule that names this host means just this address: it is written out, or it is what `localhost` always is.
    /// What any other name leads to is somebody else's to say.
    pub(super) fn means(&self, address: IpAddr) -> bool {
        let host = self.host();
        let is_this_machine = host == "localhost" || host.ends_with(".localhost");
        self.literal() == Some(address) || (is_this_machine && address.is_loopback())
    }

    /// Whether it says by itself that it is no place of the open internet.
    pub(super) fn is_private_by_name(&self) -> bool {
        match self.literal() {
            Some(address) => !haft_tool::is_public(address),
            None => is_local_name(self.host()),
        }
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// Tabs and line ends are dropped by parsers, invisible characters deceive whoever reads.
fn check_characters(text: &str) -> Result<(), Unfit> {
    if text.len() > LONGEST {
        return Err(Unfit::new(format!("it has more than {LONGEST} bytes"), FORM));
    }
    match text.chars().find(|character| is_unseen(*character)) {
        Some(found) => Err(Unfit::new(
            format!("it has a character that cannot be seen, U+{:04X}", u32::from(found)),
            ESCAPE,
        )),
        None => Ok(()),
    }
}

/// Controls, and what Unicode has for directions, joins, fillers, variants and tags.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            u32::from(character),
            0xad | 0x34f
                | 0x61c
                | 0x115f..=0x1160
                | 0x17b4..=0x17b5
                | 0x180b..=0x180f
                | 0x200b..=0x200f
                | 0x2028..=0x202e
                | 0x2060..=0x206f
                | 0x3164
                | 0xfe00..=0xfe0f
                | 0xfeff
                | 0xffa0
                | 0xfff0..=0xfffb
                | 0x1d173..=0x1d17a
                | 0xe0000..=0xe0fff
        )
}

/// A parser takes `https:docs.rs` and `https:///docs.rs` for the same as the full form; a reader does not.
fn check_beginning(text: &str) -> Result<(), Unfit> {
    let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    match rest.strip_prefix("//") {
        Some(rest) if is_web && !rest.starts_with(['/', '\\']) => Ok(()),
        _ if is_scheme && !is_web && !scheme.contains('.') => {
            Err(Unfit::new(format!("`{scheme}:` is not fetched"), ONLY_WEB))
        }
        _ => Err(Unfit::new("it does not begin with https:// or http:// and a host".to_owned(), FORM)),
    }
}

fn no_address(text: &str, err: url::ParseError) -> Unfit {
    match err {
        url::ParseError::InvalidPort => Unfit::new("its port is not a number up to 65535".to_owned(), FORM),
        url::ParseError::EmptyHost => Unfit::new("it has no host".to_owned(), FORM),
        _ if text.is_empty() => Unfit::new("it is empty".to_owned(), FORM),
        _ => Unfit::new(format!("it cannot be read as an address ({err})"), PLAIN_HOST),
    }
}

/// `docs.rs.` is `docs.rs` for everybody but certificates and rules.
fn drop_final_dot(url: &mut Url) -> Result<(), Unfit> {
    let Some(host) = url.host_str().and_then(|host| host.strip_suffix('.')).map(str::to_owned) else {
        return Ok(());
    };
    url.set_host(Some(&host)).map_err(|_| odd_host(&host))
}

fn check_host(url: &Url) -> Result<(), Unfit> {
    match url.host() {
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => Ok(()),
        Some(Host::Domain(name)) if is_name(name) => Ok(()),
        Some(Host::Domain(name)) => Err(odd_host(name)),
        None => Err(Unfit::new("it has no host".to_owned(), FORM)),
    }
}

fn is_name(name: &str) -> bool {
    let is_letter =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(is_letter);
    name.len() <= 253 && name.split('.').all(is_label)
}

fn odd_host(host: &str) -> Unfit {
    let shown: String = host.chars().take(80).collect();
    Unfit::new(format!("its host `{shown}` is none"), PLAIN_HOST)
}

impl Unfit {
    fn new(problem: String, instead: &'static str) -> Unfit {
        Unfit { problem, instead }
    }

    /// As a model is told that wrote it.
    pub(super) fn rejected(&self) -> Fault {
        Fault::rejected(self.to_string())
    }
}

/// What is wrong and what would be right, a line each.
impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this address is not fetched: {}.\n{}", self.problem, self.instead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn host(text: &str, expected: &str) {
        assert_eq!(
            Address::parse(text).map(|address| address.host().to_owned()),
            Ok(expected.to_owned()),
            "{text}"
        );
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let told = Address::parse(text).expect_err(text).to_string();
        assert!(told.contains(expected), "{text:?}: {told}");
        assert_eq!(told.lines().count(), 2, "{told}");
    }

    #[test]
    fn a_host_has_one_form_however_it_is_written() {
        host("https://Docs.RS/a", "docs.rs");
        host("https://docs.rs.:443/a", "docs.rs");
        host("https://docs%2ers/", "docs.rs");
        host("https://docs\u{3002}rs/", "docs.rs");
        host("https://\u{ff44}ocs.rs/", "docs.rs");
        host("https://b\u{fc}cher.example/", "xn--bcher-kva.example");
        host("https://evil.test\\@docs.rs/", "evil.test");
        host("https://evil.test?@docs.rs/", "evil.test");
    }

    #[test]
    fn a_number_is_an_address_however_it_is_written() {
        for text in
            ["127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.1.", "%31%32%37.0.0.1", "\u{2460}27.1"]
        {
            host(&format!("http://{text}/"), "127.0.0.1");
        }
        host("http://[0:0::1]/", "[::1]");
        host("http://[::ffff:127.0.0.1]/", "[::ffff:7f00:1]");
    }

    #[test]
    fn only_the_web_is_fetched() {
        for text in [
            "file:///etc/passwd",
            "FTP://docs.rs/",
            "javascript:alert(1)",
            "data:text/html,x",
            "ws://docs.rs/",
        ] {
            refused(text, "is not fetched");
        }
        for text in [
            "docs.rs",
            "docs.rs:443/x",
            "//docs.rs/",
            "/x",
            "",
            "https:docs.rs",
            "https:///docs.rs",
            "https://",
        ] {
            refused(text, "Give the whole address");
        }
    }

    #[test]
    fn nobody_is_named_before_the_host() {
        refused("https://user:password@docs.rs/", "names a user");
        refused("https://docs.rs@evil.test/", "names a user");
        refused("https://:x@docs.rs/", "names a user");
        host("https://docs.rs/a@b", "docs.rs");
    }

    #[test]
    fn what_cannot_be_seen_is_refused_where_a_parser_would_drop_it() {
        for unseen in
            ["\t", "\n", "\r", "\0", "\u{7f}", "\u{200b}", "\u{202e}", "\u{ad}", "\u{feff}", "\u{e0041}"]
        {
            refused(&format!("https://docs.rs{unseen}.evil.test/"), "cannot be seen");
            refused(&format!("https://docs.rs/{unseen}x"), "cannot be seen");
        }
    }

    #[test]
    fn odd_hosts_and_ports_are_refused() {
        for host in ["docs.rs,evil.test", "docs.rs..", "..", ".docs.rs", "docs..rs", "a*b", "a!b", "(docs)"] {
            refused(&format!("https://{host}/"), "labels of letters");
        }
        refused(&format!("https://{}.example/", "a".repeat(64)), "labels of letters");
        refused("https://docs.rs:99999/", "65535");
        refused("https://docs.rs:0/", "port 0");
        refused("https://docs.rs%00.evil.test/", "cannot be read");
        refused(&format!("https://docs.rs/{}", "a".repeat(LONGEST)), "more than 8192 bytes");
    }

    #[test]
    fn a_fragment_is_nobodys_business() {
        assert_eq!(Address::parse("https://docs.rs/a?b#c").unwrap().to_string(), "https://docs.rs/a?b");
    }

    #[test]
    fn where_a_server_points_to_is_read_in_the_same_way() {
        let here = Address::parse("https://docs.rs/a/b?c").unwrap();
        let there = |location: &str| here.join(location).map(|there| there.to_string());
        assert_eq!(there("d").unwrap(), "https://docs.rs/a/d");
        assert_eq!(there("//evil.test/").unwrap(), "https://evil.test/");
        assert_eq!(there("/\\evil.test").unwrap(), "https://evil.test/");
        assert!(there("https://docs.rs@evil.test/").is_err());
        assert!(there("file:///etc/passwd").is_err());
        assert!(there("/x\u{202e}").is_err());
    }
}

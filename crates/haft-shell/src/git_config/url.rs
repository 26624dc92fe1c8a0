//! Addresses of repositories: which of them only connect, and which name a program.

/// What git contacts by itself. For any other scheme it runs `git-remote-SCHEME`.
const SCHEMES: [&str; 7] = ["https", "http", "ssh", "git", "git+ssh", "ssh+git", "file"];

/// Returns whether git can only contact a server or open a directory by this address: `https://`, `ssh://`, `git://`,
/// `file://`, `host:path` and local paths.
///
/// `NAME::…` runs the program `git-remote-NAME`, and `ext::` any program. A dash in front can be an option of ssh.
#[must_use]
pub fn is_harmless_url(url: &[u8]) -> bool {
    let Ok(url) = str::from_utf8(url) else { return false };
    if url.is_empty() || url.starts_with('-') || url.contains(char::is_control) || names_helper(url) {
        return false;
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        let authority = rest.split('/').next().unwrap_or_default();
        return SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) && is_harmless_host(authority);
    }
    let Some((host, path)) = host_and_path(url) else { return true };
    is_harmless_host(host) && !path.starts_with('-')
}

/// `ext::sh …`, `fd::3`: the name of a program, and two colons.
fn names_helper(url: &str) -> bool {
    let is_scheme = |char: char| char.is_ascii_alphanumeric() || matches!(char, '+' | '-' | '.' | '_');
    url.trim_start_matches(is_scheme).starts_with("::")
}

/// `user@host`, of which nothing is an option. Git decodes `%2d`.
fn is_harmless_host(authority: &str) -> bool {
    let starts_option = |part: &str| part.trim_start_matches('[').starts_with('-');
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    !starts_option(user) && !starts_option(host) && !host.contains('%') && !user.starts_with('%')
}

/// `host:path`, unless a slash comes first. An address of IPv6 stands in brackets.
fn host_and_path(url: &str) -> Option<(&str, &str)> {
    let from = if url.starts_with('[') { url.find(']')? } else { 0 };
    let colon = from + url[from..].find(':')?;
    (!url[..colon].contains('/')).then(|| (&url[..colon], &url[colon + 1..]))
}

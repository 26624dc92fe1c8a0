//! Patterns of rules, parsed: paths, hosts and the words of commands.

use globset::{ErrorKind, Glob, GlobBuilder};

use super::{
    hosts,
    rule::{Anchor, CommandPattern, HostPattern, PathPattern, Piece, SyntaxError, belongs_to_a_name},
};

/// Braces beyond this are mistakes, and deep nesting would cost stack.
const MOST_BRACES: usize = 16;

pub(super) fn path(piece: Piece<'_>) -> Result<PathPattern, SyntaxError> {
    let (anchor, rest) = anchored(piece)?;
    let rest = rest.cut(0, rest.as_str().trim_end_matches('/').len());
    check_glob(rest)?;
    let text = rest.as_str();
    // The fixed part ends at the last slash before the first wildcard; a slash inside `{…}` comes after one.
    let split = match first_wildcard(text) {
        None => text.len(),
        Some(wildcard) => text[..wildcard].rfind('/').map_or(0, |slash| slash + 1),
    };
    let (up, names) = fixed_names(rest.cut(0, split))?;
    let glob = glob_parts(rest.cut(split, text.len()))?;
    Ok(PathPattern { anchor, from_slash: piece.as_str().starts_with('/'), up, names, glob })
}

fn anchored(piece: Piece<'_>) -> Result<(Anchor, Piece<'_>), SyntaxError> {
    let text = piece.as_str();
    let from = |start: usize| piece.cut(start, text.len());
    if text.starts_with("//") {
        return Ok((Anchor::Root, from(2)));
    }
    if text == "~" || text.starts_with("~/") {
        return Ok((Anchor::Home, from(1)));
    }
    if text.starts_with('~') {
        let instead = "write `//home/…` for another user's home, `./~…` for a name that begins so";
        return Err(piece.wrong(0, "`~` stands for one home only, as in `~/notes`", instead));
    }
    Ok((Anchor::Workspace, piece))
}

fn fixed_names(piece: Piece<'_>) -> Result<(usize, Vec<String>), SyntaxError> {
    let (mut up, mut names, mut at) = (0, Vec::new(), 0);
    for part in piece.as_str().split('/') {
        match part {
            "" | "." => {}
            ".." if names.is_empty() => up += 1,
            ".." => return Err(piece.wrong(at, "`..` after a name", "write the path that it leads to")),
            name => names.push(unescaped(name)),
        }
        at += part.len() + 1;
    }
    Ok((up, names))
}

fn glob_parts(piece: Piece<'_>) -> Result<Option<String>, SyntaxError> {
    let (mut parts, mut at) = (Vec::new(), 0);
    for part in piece.as_str().split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(piece.wrong(at, "`..` after a wildcard", "write the path that it leads to")),
            part => parts.push(part),
        }
        at += part.len() + 1;
    }
    Ok((!parts.is_empty()).then(|| parts.join("/")))
}

fn first_wildcard(text: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => drop(chars.next()),
            '*' | '?' | '[' | '{' => return Some(at),
            _ => {}
        }
    }
    None
}

/// A pattern that is one name without wildcards, unescaped.
pub(super) fn plain_name(pattern: &str) -> Option<String> {
    let plain = first_wildcard(pattern).is_none() && !pattern.contains(['/', '}']);
    plain.then(|| unescaped(pattern))
}

fn unescaped(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(char) = chars.next() {
        plain.extend(if char == '\\' { chars.next() } else { Some(char) });
    }
    plain
}

/// A path as a pattern that means just that path.
pub(super) fn escaped(path: &str) -> String {
    let mut pattern = String::with_capacity(path.len());
    for char in path.chars() {
        if matches!(char, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern
}

/// Compiles a glob as path rules mean it: `*` stays within a name, names are case-sensitive.
pub(super) fn glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build()
}

fn check_glob(piece: Piece<'_>) -> Result<(), SyntaxError> {
    let text = piece.as_str();
    if let Some((at, _)) = text.match_indices('{').nth(MOST_BRACES) {
        return Err(piece.wrong(
            at,
            "too many `{`",
            format!("use at most {MOST_BRACES}, or write several rules"),
        ));
    }
    if let Some(at) = class_with_slash(text) {
        let problem = "`[…]` may not stand for a slash, and `[!…]` would";
        return Err(piece.wrong(at, problem, "name the characters that may stand here, as in `[a-z0-9]`"));
    }
    let Err(err) = glob(text) else { return Ok(()) };
    Err(match err.kind() {
        ErrorKind::UnclosedClass => piece.wrong(
            text.rfind('[').unwrap_or(0),
            "`[` is not closed",
            "write `[ab]`, or `\\[` for the character",
        ),
        ErrorKind::UnclosedAlternates => piece.wrong(
            text.rfind('{').unwrap_or(0),
            "`{` is not closed",
            "write `{a,b}`, or `\\{` for the character",
        ),
        ErrorKind::UnopenedAlternates => piece.wrong(
            text.find('}').unwrap_or(0),
            "`}` was never opened",
            "write `{a,b}`, or `\\}` for the character",
        ),
        ErrorKind::DanglingEscape => piece.wrong(
            text.len().saturating_sub(1),
            "`\\` escapes nothing",
            "write `\\\\` for the character",
        ),
        kind => piece.wrong(
            0,
            format!("the pattern is not valid: {kind}"),
            "write a path, or a glob such as `src/**`",
        ),
    })
}

/// The first character class that would match a slash, which only `**` may.
fn class_with_slash(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = first_wildcard(&text[from..]).map(|at| from + at) {
        let Some(class) = text[at..].strip_prefix('[') else {
            from = at + 1;
            continue;
        };
        let end = class.char_indices().skip(1).find(|(_, char)| *char == ']')?.0;
        let chars: Vec<char> = class[..end].chars().collect();
        let spans_slash = |range: &[char]| range[1] == '-' && range[0] <= '/' && '/' <= range[2];
        if matches!(chars[0], '!' | '^') || chars.contains(&'/') || chars.windows(3).any(spans_slash) {
            return Some(at);
        }
        from = at + 1 + end + 1;
    }
    None
}

pub(super) fn host(piece: Piece<'_>) -> Result<HostPattern, SyntaxError> {
    let Some(text) = piece.as_str().strip_prefix("domain:") else {
        return Err(piece.wrong(
            0,
            "a host begins with `domain:`",
            "write it as in `WebFetch(domain:docs.rs)`",
        ));
    };
    let piece = piece.cut("domain:".len(), piece.as_str().len());
    if text == "*" {
        return Ok(HostPattern::Any);
    }
    let (name, below) = text.strip_prefix("*.").map_or((text, false), |name| (name, true));
    check_host(piece.cut(if below { 2 } else { 0 }, text.len()))?;
    let name = haft_tool::host_in_one_form(name).into_owned();
    if below && name.rsplit('.').next().is_some_and(|label| label.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err(piece.wrong(0, "an address has no labels in front", "write the whole address"));
    }
    Ok(if below { HostPattern::Below(name) } else { HostPattern::Exact(name) })
}

fn check_host(piece: Piece<'_>) -> Result<(), SyntaxError> {
    let name = piece.as_str();
    if hosts::ipv6(name).is_some() {
        return Ok(());
    }
    if let Some((at, char)) = name.char_indices().find(|(_, char)| !belongs_to_a_name(*char)) {
        let instead = match char {
            ':' | '/' => "write the host alone, without scheme, port and path",
            '*' => "a `*.` may only stand in front, for one or more labels",
            _ if !char.is_ascii() => "write the name as it is looked up, as in `xn--bcher-kva.example`",
            _ => "a host is made of letters, digits, `-`, `_` and dots",
        };
        return Err(piece.wrong(at, format!("{char:?} does not belong to a host"), instead));
    }
    if name.strip_suffix('.').unwrap_or(name).split('.').any(str::is_empty) {
        return Err(piece.wrong(0, "a label of the host is empty", "write it as in `domain:docs.rs`"));
    }
    Ok(())
}

pub(super) fn command(piece: Piece<'_>) -> Result<CommandPattern, SyntaxError> {
    let text = piece.as_str();
    let (words, open) = text.strip_suffix(":*").map_or((text, false), |words| (words, true));
    let words = split_words(piece.cut(0, words.len()))?;
    if words.first().is_none_or(String::is_empty) {
        return Err(piece.wrong(
            0,
            "no program is named",
            "write it as in `Bash(git diff:*)`, or `Bash` for all",
        ));
    }
    Ok(CommandPattern { words, open })
}

/// The words of a simple command, as a rule would have them; `None` where a shell would do more than split it.
pub(super) fn words(text: &str) -> Option<Vec<String>> {
    split_words(Piece::whole(text)).ok()
}

/// Words as a shell splits them, with quotes and backslashes, and without anything that a shell expands.
fn split_words(piece: Piece<'_>) -> Result<Vec<String>, SyntaxError> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut chars = piece.as_str().char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            ' ' | '\t' => words.extend(word.take()),
            '*' => {
                let instead = "write `:*` at the end for anything after these words, `'*'` for the character";
                return Err(piece.wrong(at, "`*` stands for nothing here", instead));
            }
            '\'' | '"' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some((_, end)) if end == char => break,
                        Some((_, inner)) => quoted.push(inner),
                        None => {
                            return Err(piece.wrong(
                                at,
                                "the quote is not closed",
                                "close it, or put `\\` in front",
                            ));
                        }
                    }
                }
            }
            '\\' => {
                let Some((_, next)) = chars.next() else {
                    return Err(piece.wrong(at, "`\\` escapes nothing", "write `\\\\` for the character"));
                };
                word.get_or_insert_default().push(next);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

//! Rust, as far as chores need to read it: which text is code, and what it imports.
//!
//! Not a parser. It knows comments, literals and `use`, keeps every line where it was, and believes rustfmt for the rest.

/// What of a text is not blanked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Code,
    CodeAndLiterals,
}

/// The text with its comments and literals blanked.
pub(crate) fn code(text: &str) -> String {
    blanked(text, Keep::Code)
}

/// The text with its comments blanked.
pub(crate) fn without_comments(text: &str) -> String {
    blanked(text, Keep::CodeAndLiterals)
}

/// The code before the module of tests, which is the last thing in a file.
pub(crate) fn without_tests(code: &str) -> &str {
    let is_tests = |at: &usize| {
        let after = code[*at..].trim_start_matches("#[cfg(test)]").trim_start();
        let head = after.lines().next().unwrap_or_default();
        head.starts_with("mod ") && head.ends_with('{')
    };
    let end = code.match_indices("#[cfg(test)]").map(|(at, _)| at).find(is_tests);
    &code[..end.unwrap_or(code.len())]
}

/// Every path that is imported, written out, and the line where its `use` begins.
pub(crate) fn imports(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut from = 0;
    for (index, line) in code.split_inclusive('\n').enumerate() {
        if let Some(at) = after_use(line) {
            let statement = code[from + at..].split(';').next().unwrap_or_default();
            let tree: String = statement.chars().filter(|ch| !ch.is_whitespace()).collect();
            flatten("", &tree, &mut |path| found.push((index + 1, path)));
        }
        from += line.len();
    }
    found
}

/// Where the path begins in a line with a `use`.
fn after_use(line: &str) -> Option<usize> {
    let rest = line.trim_start();
    let rest = match rest.strip_prefix("pub") {
        Some(public) => public.strip_prefix("(crate)").unwrap_or(public).trim_start(),
        None => rest,
    };
    rest.strip_prefix("use ").map(|path| line.len() - path.len())
}

/// `a::{b,c::d}` is `a::b` and `a::c::d`.
fn flatten(prefix: &str, tree: &str, found: &mut impl FnMut(String)) {
    let Some((head, group)) = tree.split_once('{') else {
        return found(format!("{prefix}{tree}"));
    };
    let group = group.strip_suffix('}').unwrap_or(group);
    let prefix = format!("{prefix}{head}");
    let (mut depth, mut from) = (0, 0);
    for (at, ch) in group.char_indices() {
        match ch {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                flatten(&prefix, &group[from..at], found);
                from = at + 1;
            }
            _ => {}
        }
    }
    if from < group.len() {
        flatten(&prefix, &group[from..], found);
    }
}

/// Lines, from 1, in which the word stands by itself.
pub(crate) fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let has = |line: &str| line.match_indices(word).any(|(at, _)| stands_alone(line, at, word.len()));
    let lines = code.lines().enumerate().filter(|(_, line)| has(line));
    lines.map(|(index, _)| index + 1).collect()
}

fn stands_alone(line: &str, at: usize, length: usize) -> bool {
    !line[..at].ends_with(is_of_a_word) && !line[at + length..].starts_with(is_of_a_word)
}

fn is_of_a_word(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_'
}

fn blanked(text: &str, keep: Keep) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, is_kept) = match (comment(rest), literal(rest, &kept)) {
            (Some(length), _) => (length, false),
            (None, Some(length)) => (length, keep == Keep::CodeAndLiterals),
            (None, None) => (first.len_utf8(), true),
        };
        let (piece, after) = rest.split_at(length);
        match is_kept {
            true => kept.push_str(piece),
            false => kept.extend(piece.chars().map(|ch| if ch == '\n' { '\n' } else { ' ' })),
        }
        rest = after;
    }
    kept
}

/// How long the comment is that the text begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.strip_prefix("/*")?;
    let (mut depth, mut at) = (1, 2);
    while depth > 0 && at < text.len() {
        let here = &text.as_bytes()[at..];
        match here {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    Some(at)
}

/// How long the string or character is that the text begins with.
fn literal(text: &str, before: &str) -> Option<usize> {
    match text.as_bytes()[0] {
        b'"' => Some(1 + quoted(&text[1..], '"')),
        b'r' if !before.trim_end_matches(['b', 'c']).ends_with(is_of_a_word) => raw(text),
        // A lifetime has no second quote, or has it further off.
        b'\'' if text[1..].starts_with('\\') => Some(1 + quoted(&text[1..], '\'')),
        b'\'' => {
            let ch = text[1..].chars().next()?;
            text[1 + ch.len_utf8()..].starts_with('\'').then_some(ch.len_utf8() + 2)
        }
        _ => None,
    }
}

/// Up to and with the quote that is not escaped.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, ch) in text.char_indices() {
        match ch {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ch if ch == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw(text: &str) -> Option<usize> {
    let hashes = text[1..].bytes().take_while(|byte| *byte == b'#').count();
    let body = text[1 + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&end).map_or(text.len(), |at| text.len() - body.len() + at + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = code(text);
        assert_eq!(found.split_whitespace().collect::<Vec<_>>().join(" "), expected);
        assert_eq!(found.lines().count(), text.lines().count());
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        check("a // b\nc", "a c");
        check("a /* b /* c */ d\n */ e", "a e");
        check(r#"f("unsafe \" x", b"y")"#, "f( , b )");
        check(r##"f(r#"a " b"#, br"c")"##, "f( , b )");
        check(r"g('a', '\'', '\u{41}', '→')", "g( , , , )");
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
        check("let for_r = var\"\"", "let for_r = var");
    }

    #[test]
    fn literals_are_kept_where_they_are_asked_for() {
        assert_eq!(without_comments("a(\"// b\") // c"), "a(\"// b\")     ");
    }

    #[test]
    fn imports_are_written_out() {
        let text = "use std::{\n    fs::{self, File},\n    path::Path,\n};\npub(crate) use a::b as c;\n";
        let found = imports(text);
        let paths: Vec<String> = found.iter().map(|(line, path)| format!("{line} {path}")).collect();
        assert_eq!(paths, ["1 std::fs::self", "1 std::fs::File", "1 std::path::Path", "5 a::basc"]);
    }

    #[test]
    fn tests_are_the_end_of_the_product() {
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests;\nb\n"), "a\n#[cfg(test)]\nmod tests;\nb\n");
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\n    b\n}\n"), "a\n");
    }

    #[test]
    fn a_word_is_not_a_part_of_one() {
        assert_eq!(lines_with("unsafe_code\nan unsafe {\nmy_unsafe", "unsafe"), [2]);
    }
}

//! What is looked for, compiled; or what is wrong with it, and what would be right.

use grep_regex::{Error, ErrorKind, RegexMatcher, RegexMatcherBuilder};
use haft_tool::Fault;

use super::GrepInput;

/// A compiled pattern may take so much memory, and so may what is built while it is used.
const MOST_BYTES: usize = 10 << 20;

pub(super) fn compile(input: &GrepInput) -> Result<RegexMatcher, Fault> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(input.ignore_case).multi_line(true).size_limit(MOST_BYTES);
    if input.multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&input.pattern).map_err(|err| wrong(&input.pattern, &err))
}

fn wrong(pattern: &str, err: &Error) -> Fault {
    let said = err.to_string();
    let (problem, instead) = match err.kind() {
        ErrorKind::NotAllowed(_) => (
            "it holds a line end, and lines are searched one by one",
            "set `multiline` to match across lines",
        ),
        _ => {
            let problem = said.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or(&said);
            (problem, instead(problem, pattern))
        }
    };
    let place = column(&said, pattern).map_or(String::new(), |column| format!(" at column {column}"));
    Fault::rejected(format!(
        "the pattern is not valid{place}: {problem}; {instead} (the pattern is in Rust's regex syntax)"
    ))
}

/// Where the error's own drawing points at: a caret below the pattern, which is indented by four blanks and stands in a
/// group of its own.
fn column(said: &str, pattern: &str) -> Option<usize> {
    const BEFORE: usize = "    (?:".len();
    let caret = said.lines().find(|line| line.trim_start().starts_with('^'))?.find('^')?;
    // It points at the group around all where one inside is open.
    if caret < BEFORE { open_group(pattern) } else { Some(caret - BEFORE + 1) }
}

/// Where a group begins that is never closed.
fn open_group(pattern: &str) -> Option<usize> {
    let (mut open, mut escaped, mut in_class) = (Vec::new(), false, false);
    for (at, c) in pattern.chars().enumerate() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' | ']' => in_class = c == '[',
            '(' if !in_class => open.push(at + 1),
            ')' if !in_class => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

fn instead(problem: &str, pattern: &str) -> &'static str {
    let has = |words: &str| problem.contains(words);
    if has("look-around") {
        "there is no look-ahead or look-behind: match the text around it, too, or search in two steps"
    } else if has("backreference") {
        "there are no backreferences: write what is meant once more"
    } else if has("unclosed group") || has("unopened group") {
        "close the group, or write `\\(` and `\\)` for the characters"
    } else if has("character class") {
        "close the class, or write `\\[` for the character"
    } else if has("repetition") && pattern.contains('{') && !has("operator missing") {
        "write `\\{` and `\\}` for the characters, `{2,5}` to repeat"
    } else if has("repetition") {
        "write `\\*`, `\\+` or `\\?` for the characters, `.*` for anything"
    } else if has("escape") {
        "write `\\\\` for a backslash"
    } else if has("size limit") {
        "repeat less, or search for a part of it"
    } else {
        "put a backslash before characters that are meant as such"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(pattern: &str) -> String {
        let input = serde_json::from_value(json!({ "pattern": pattern })).unwrap();
        compile(&input).unwrap_err().message().to_owned()
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_what_would_be_right() {
        insta::assert_snapshot!(refused("fn main("), @r#"the pattern is not valid at column 8: unclosed group; close the group, or write `\(` and `\)` for the characters (the pattern is in Rust's regex syntax)"#);
        insta::assert_snapshot!(refused("interface{}"), @r#"the pattern is not valid at column 11: repetition quantifier expects a valid decimal; write `\{` and `\}` for the characters, `{2,5}` to repeat (the pattern is in Rust's regex syntax)"#);
        insta::assert_snapshot!(refused("a{b"), @r#"the pattern is not valid at column 3: repetition quantifier expects a valid decimal; write `\{` and `\}` for the characters, `{2,5}` to repeat (the pattern is in Rust's regex syntax)"#);
        insta::assert_snapshot!(refused("*.rs"), @r#"the pattern is not valid at column 1: repetition operator missing expression; write `\*`, `\+` or `\?` for the characters, `.*` for anything (the pattern is in Rust's regex syntax)"#);
        insta::assert_snapshot!(refused("a[b"), @r#"the pattern is not valid at column 2: unclosed character class; close the class, or write `\[` for the character (the pattern is in Rust's regex syntax)"#);
        insta::assert_snapshot!(refused("(?=x)"), @"the pattern is not valid at column 1: look-around, including look-ahead and look-behind, is not supported; there is no look-ahead or look-behind: match the text around it, too, or search in two steps (the pattern is in Rust's regex syntax)");
        insta::assert_snapshot!(refused(r"(a)\1"), @"the pattern is not valid at column 4: backreferences are not supported; there are no backreferences: write what is meant once more (the pattern is in Rust's regex syntax)");
        insta::assert_snapshot!(refused(r"\y"), @r#"the pattern is not valid at column 1: unrecognized escape sequence; write `\\` for a backslash (the pattern is in Rust's regex syntax)"#);
        insta::assert_snapshot!(refused("a\nb"), @"the pattern is not valid: it holds a line end, and lines are searched one by one; set `multiline` to match across lines (the pattern is in Rust's regex syntax)");
        insta::assert_snapshot!(refused("((((a{100}){100}){100}){100}){100}"), @"the pattern is not valid: compiled regex exceeds size limit of 10485760; repeat less, or search for a part of it (the pattern is in Rust's regex syntax)");
    }
}

//! Words in what could not be read.
//!
//! Bash may see a command where we see none, so rules that forbid something are matched on whatever looks like one. Too much
//! is found here rather than too little; nothing may ever be allowed on the strength of it.

/// Words before the program's name.
const BEFORE: [&str; 10] = ["if", "then", "elif", "else", "do", "while", "until", "time", "!", "in"];

/// The runs of plain words in a text: split at whatever could end a command, quotes taken off.
pub fn salvage(text: &str) -> Vec<Vec<String>> {
    let mut runs = split(text, |_| false);
    // What is in quotes may be a command of its own: once more, with quotes as ends.
    if text.contains(['\'', '"']) {
        for run in split(text, |letter| matches!(letter, '\'' | '"')) {
            if runs.last() != Some(&run) {
                runs.push(run);
            }
        }
    }
    runs
}

fn split(text: &str, ends: impl Fn(char) -> bool) -> Vec<Vec<String>> {
    // A joined line is one line.
    let text = text.replace("\\\n", "");
    let ends_run = |letter: char| {
        ends(letter)
            || matches!(letter, ';' | '&' | '|' | '(' | ')' | '<' | '>' | '{' | '}' | '`' | '$' | '\n' | '\0')
    };
    text.split(ends_run).map(words).filter(|run| !run.is_empty()).collect()
}

fn words(run: &str) -> Vec<String> {
    let bare = |word: &str| word.replace(['\'', '"', '\\'], "");
    let words = run.split([' ', '\t']).map(bare).filter(|word| !word.is_empty());
    words.skip_while(|word| BEFORE.contains(&word.as_str()) || is_assignment(word)).collect()
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

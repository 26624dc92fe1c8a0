//! Texts that begin with fields, as skills and agents are written: `---`, YAML, `---`, and the rest.
//!
//! Only the text of it: whoever reads the fields brings a reader of YAML along. It is here because those who do have nothing else
//! in common.

/// Front matter and the rest.
///
/// # Errors
/// What is missing, in words.
pub fn divided(text: &str) -> Result<(&str, &str), &'static str> {
    let first = text.strip_prefix("---").map(|rest| rest.trim_start_matches([' ', '\t', '\r']));
    let rest = first.and_then(|rest| rest.strip_prefix('\n'));
    let rest = rest.ok_or("it does not begin with `---`, front matter, `---`")?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    Err("its front matter has no end: the line `---` after it is missing")
}

/// Front matter in which values stand in quotes that YAML wants there, and people leave out: `description: Use it so: …`. Lines
/// that go on with such a value join it.
pub fn mended(front: &str) -> String {
    let mut values: Vec<(&str, String)> = Vec::new();
    for line in front.lines() {
        match (key(line), values.last_mut()) {
            (Some(key), _) => values.push((key, line[key.len() + 1..].trim().to_owned())),
            // A list, a block or a comment is YAML's own affair.
            (None, Some((_, value))) if is_plain(value) && !line.trim_start().starts_with(['-', '#']) => {
                value.push(' ');
                value.push_str(line.trim());
            }
            (None, Some((_, value))) => {
                value.push('\n');
                value.push_str(line);
            }
            (None, None) => values.push(("", line.to_owned())),
        }
    }
    let written = values.iter().map(|(key, value)| match (*key, value.trim()) {
        ("", line) => format!("{line}\n"),
        (key, value) if is_plain(value) && value.contains(':') => {
            format!("{key}: '{}'\n", value.replace('\'', "''"))
        }
        (key, _) => format!("{key}: {value}\n"),
    });
    written.collect()
}

/// A value without quotes, which is neither a list nor a block nor anything else that begins with a sign.
fn is_plain(value: &str) -> bool {
    value.starts_with(|char: char| char.is_alphanumeric() || char == '<' || char == '(')
}

/// The key that a line begins with. What a conversation in an example begins with is none.
fn key(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let is_key = key.starts_with(|char: char| char.is_ascii_lowercase())
        && key.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char))
        && !["user", "assistant"].contains(&key);
    (is_key && (rest.is_empty() || rest.starts_with([' ', '\t', '\r']))).then_some(key)
}

/// Whether something may be called so: letters, digits, `-`, `_`, `.` and `:`, at most 64.
pub fn is_name(name: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.:".contains(char);
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}

/// A text on one line, cut after so many characters.
pub fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_text_are_told_apart_and_what_is_missing_is_said() {
        assert_eq!(divided("--- \nname: a\n---\nbody\n"), Ok(("name: a\n", "body\n")));
        assert_eq!(divided("---\r\nname: a\r\n---\r\n"), Ok(("name: a\r\n", "")));
        assert!(divided("name: a\n").unwrap_err().contains("does not begin"));
        assert!(divided("---\nname: a\n").unwrap_err().contains("has no end"));
    }

    #[test]
    fn a_value_with_a_colon_gets_the_quotes_that_yaml_wants() {
        let front =
            "name: a\ndescription: Use it: it's so\n<example>\nuser: go\n</example>\ntools:\n- Read\n";
        let quoted =
            "name: a\ndescription: 'Use it: it''s so <example> user: go </example>'\ntools: \n- Read\n";
        assert_eq!(mended(front), quoted);
        assert_eq!(mended("a: [b: c]\n"), "a: [b: c]\n", "a list is YAML's own affair");
    }
}

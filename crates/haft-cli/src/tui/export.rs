//! What was said, as a document for people: the words, the calls with what they were given, and their results.

use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::{self, Write as _},
};

use haft_agent::Agent;
use haft_engine::{Call, Session, turn::Arguments};
use haft_model::{Message, Said as Spoken};
use haft_tool::Block;

use super::{doing::Said, transcript::Tone};

/// Writes what was said to a file that is not there yet: nothing is lost by it.
pub(super) async fn export(session: &Session, agent: &Agent, name: Option<String>) -> Said {
    let name = name.unwrap_or_else(|| format!("haft-{}.md", session.id()));
    let path = session.facts().cwd.join(name);
    let text = markdown(agent.history().messages());
    let text = match session.redactor() {
        Some(redactor) => redactor.redact(&text).text.into_owned(),
        None => text,
    };
    let target = path.clone();
    let write = tokio::task::spawn_blocking(move || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&target)?;
        file.write_all(text.as_bytes())
    });
    match write.await.unwrap_or_else(|err| Err(io::Error::other(err))) {
        Ok(()) => Said::Note(Tone::Plain, format!("written to {}", path.display())),
        Err(err) => Said::Note(Tone::Warning, format!("{}: {err}", path.display())),
    }
}

fn markdown(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        match message {
            Message::User(blocks) => {
                let words: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
                let _ = writeln!(text, "## You\n\n{}\n", words.join("\n\n"));
            }
            Message::Assistant(assistant) => {
                text.push_str("## haft\n\n");
                for part in &assistant.parts {
                    match &part.said {
                        Spoken::Text(words) => drop(writeln!(text, "{}\n", words.trim_end())),
                        Spoken::Call(call) => called(&mut text, call),
                        Spoken::Thinking(_) | Spoken::Other(_) => {}
                    }
                }
            }
            Message::Results(results) => {
                for result in results {
                    let how = if result.is_error() { "did not work" } else { "gave" };
                    let _ = writeln!(text, "`{}` {how}:\n", result.tool);
                    fenced(&mut text, "text", result.text().trim_end());
                }
            }
        }
    }
    text
}

/// A call, with what it was given as the model wrote it.
fn called(text: &mut String, call: &Call) {
    let _ = writeln!(text, "Calls `{}`:\n", call.name);
    match &call.input {
        Arguments::Text(input) => fenced(text, "json", input),
        Arguments::Value(input) => fenced(text, "json", &input.to_string()),
    }
}

fn fenced(text: &mut String, language: &str, words: &str) {
    let fence = "`".repeat(longest_fence(words).max(2) + 1);
    let _ = writeln!(text, "{fence}{language}\n{words}\n{fence}\n");
}

/// The longest run of backticks: what stands around a text must be longer.
fn longest_fence(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use haft_model::{Assistant, Part};

    use super::*;

    #[test]
    fn what_was_said_and_called_becomes_a_document() {
        let call = Call::new("1", "Bash", r#"{"command":"echo ```"}"#);
        let parts = vec![Part::new(Spoken::Text("I look.\n".to_owned())), Part::new(Spoken::Call(call))];
        let messages = [Message::user("Why?"), Message::Assistant(Assistant { parts }), Message::user("`x`")];
        assert_eq!(
            markdown(&messages),
            "## You\n\nWhy?\n\n## haft\n\nI look.\n\nCalls `Bash`:\n\n\
             ````json\n{\"command\":\"echo ```\"}\n````\n\n## You\n\n`x`\n\n"
        );
    }

    #[test]
    fn a_fence_is_longer_than_any_within() {
        assert_eq!([longest_fence("a"), longest_fence("```\n````x"), longest_fence("")], [0, 4, 0]);
    }
}

//! A conversation in fewer words: pure, from messages to messages.
//!
//! What the person asked last is never among what goes.

use haft_engine::result::{ToolResult, preview, size};
use haft_model::{History, Message};
use haft_tool::Block;

/// So much is shown of a long result to whoever writes a summary, where the whole does not fit.
const GLIMPSE: usize = 2_000;

/// What stands in the place of a picture, a sound or a document.
pub(super) const GONE: &str = "[A picture or document was here. It was left out to make room.]";

/// The beginning and the end of a text, in so many bytes, with a line that says what is missing.
pub(super) fn glimpse(text: &str, room: usize) -> String {
    let shown = preview(text, room);
    match shown.hidden_bytes {
        0 if text.is_empty() => String::new(),
        0 => format!("{text}\n"),
        hidden => format!("{}\n[… {} left out …]\n{}\n", shown.head, size(hidden), shown.tail),
    }
}

/// What the person asked, for a conversation that does not hold it any more.
pub(super) fn asked_last(prompt: &[Block]) -> Vec<Block> {
    if prompt.is_empty() {
        return Vec::new();
    }
    let head = Block::Text("What the person asked last, word for word:".to_owned());
    std::iter::once(head).chain(prompt.iter().cloned()).collect()
}

/// Blocks with a word in the place of pictures, sounds and documents.
pub(super) fn worded(blocks: &[Block]) -> Vec<Block> {
    let word = |block: &Block| match block {
        Block::Text(_) | Block::Link { .. } => block.clone(),
        Block::Image { .. } | Block::Audio { .. } | Block::Document { .. } => Block::Text(GONE.to_owned()),
    };
    blocks.iter().map(word).collect()
}

/// Everything that was said, with words in the place of media, and of long results their beginning and end.
pub(super) fn in_short(history: &mut History) {
    for place in 0..history.messages().len() {
        let message = match &history.messages()[place] {
            Message::Assistant(_) => continue,
            Message::User(blocks) => Message::User(worded(blocks)),
            Message::Results(results) => Message::Results(results.iter().map(result_in_short).collect()),
        };
        history.replace(place, message);
    }
}

fn result_in_short(result: &ToolResult) -> ToolResult {
    let mut blocks = worded(&result.blocks);
    if blocks.iter().map(Block::len).sum::<usize>() > GLIMPSE {
        let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
        blocks = vec![Block::Text(glimpse(&texts.join("\n"), GLIMPSE))];
    }
    ToolResult { blocks, ..result.clone() }
}

/// Leaves out the oldest messages, with the results that belong to them. Says no if there are none but the last one.
pub(super) fn forget_oldest(history: &mut History, prompt: &[Block]) -> bool {
    forget_before(history, OLDEST, prompt)
}

/// Leaves out the older half.
pub(super) fn forget_half(history: &mut History, prompt: &[Block]) -> bool {
    forget_before(history, (history.messages().len() / 2).max(OLDEST), prompt)
}

/// At least so many are left out at once: one word is put in their place, so that one would not be less.
const OLDEST: usize = 2;

fn forget_before(history: &mut History, least: usize, prompt: &[Block]) -> bool {
    let messages = history.messages();
    let cut = (least..messages.len()).find(|at| !matches!(messages[*at], Message::Results(_)));
    cut.is_some_and(|cut| forget(history, cut, prompt))
}

/// Leaves out what is before a message, but not what the person asked last.
fn forget(history: &mut History, cut: usize, prompt: &[Block]) -> bool {
    let rest = history.messages()[cut..].to_vec();
    history.truncate(0);
    let lost = if rest.iter().any(|message| holds(message, prompt)) { &[] } else { prompt };
    // APIs want a conversation to begin with the person.
    if !matches!(rest.first(), Some(Message::User(_))) || !lost.is_empty() {
        let mut first = vec![Block::Text("[What was said before this is left out.]".to_owned())];
        first.extend(asked_last(lost));
        history.push(Message::User(first));
    }
    history.extend(rest);
    true
}

fn holds(message: &Message, prompt: &[Block]) -> bool {
    let Message::User(blocks) = message else { return false };
    prompt.is_empty() || blocks.windows(prompt.len()).any(|window| window == prompt)
}

#[cfg(test)]
mod tests {
    use haft_engine::Call;
    use haft_model::{Assistant, Dialect, Part, Said};
    use serde_json::json;

    use super::*;

    /// Messages as letters: `u`ser, `a`ssistant, `r`esults.
    fn history(letters: &str) -> History {
        let mut history = History::new(Dialect::Anthropic);
        for letter in letters.chars() {
            let call = Call::new("1", "Read", json!({}));
            history.push(match letter {
                'u' => Message::user("Go"),
                'a' => Message::Assistant(Assistant { parts: vec![Part::new(Said::Call(call))] }),
                _ => Message::Results(Vec::new()),
            });
        }
        history
    }

    fn letters(history: &History) -> String {
        let letter = |message: &Message| match message {
            Message::User(_) => 'u',
            Message::Assistant(_) => 'a',
            Message::Results(_) => 'r',
        };
        history.messages().iter().map(letter).collect()
    }

    #[test]
    fn what_is_left_begins_with_the_person_and_becomes_shorter_until_only_the_last_is_left() {
        let mut history = history("uararauaru");
        let mut seen = vec![letters(&history)];
        while forget_oldest(&mut history, &[]) {
            seen.push(letters(&history));
        }
        assert_eq!(seen, ["uararauaru", "uarauaru", "uauaru", "uaru", "u"]);
    }

    #[test]
    fn half_of_it_is_left_out_at_once() {
        let mut history = history("uararararu");
        assert!(forget_half(&mut history, &[]));
        assert_eq!(letters(&history), "uararu");
    }

    #[test]
    fn what_the_person_asked_is_never_left_out() {
        let mut history = history("uarar");
        history.replace(0, Message::user("Count the legs"));
        let prompt = [Block::Text("Count the legs".to_owned())];
        history.push(Message::user("Summarise"));
        while forget_oldest(&mut history, &prompt) {}
        assert_eq!(letters(&history), "u");
        let request = history.request(&haft_model::RequestOptions::new("m"));
        assert_eq!(request.json().matches("Count the legs").count(), 1, "{}", request.json());
        assert!(request.json().contains("Summarise"));
    }
}

//! What is made of bytes that no server would write.

use serde_json::Value;

use super::{
    Envelope,
    lines::{Lines, Piece},
    open, repair,
};
use crate::client::Refused;

/// The answers to calls among the bytes of a server that writes lines, which come in pieces of this size.
pub fn answers(bytes: &[u8], piece: usize, most: usize) -> Vec<Result<Value, Refused>> {
    let (mut lines, mut pieces) = (Lines::new(most), Vec::new());
    bytes.chunks(piece.max(1)).for_each(|chunk| lines.push(chunk, &mut pieces));
    lines.finish(&mut pieces);
    pieces.into_iter().flat_map(understood).collect()
}

fn understood(piece: Piece) -> Vec<Result<Value, Refused>> {
    let message = match piece {
        Piece::Message(message) => message,
        Piece::Broken { why, .. } => return vec![Err(Refused::new(Refused::UNREADABLE, why))],
    };
    let answers = open(message).into_iter().filter_map(|envelope| match envelope {
        Envelope::Answer { outcome, .. } => {
            Some(outcome.and_then(|result| repair::result("tools/call", result)))
        }
        _ => None,
    });
    answers.collect()
}

/// Whether every client could read this result of a call.
pub fn is_readable(answer: &Value) -> bool {
    let is_unfinished = answer.get("resultType").is_some_and(|kind| kind != "complete");
    let has_kind = |block: &Value| block.get("type").is_some_and(Value::is_string);
    is_unfinished
        || answer.get("content").and_then(Value::as_array).is_some_and(|blocks| blocks.iter().all(has_kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 24] = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        "\n",
        "\r\n",
        ",",
        ":",
        "null",
        "7",
        "\"id\":7",
        "\"id\":\"7\"",
        "\"result\":",
        "\"error\":",
        "\"content\":",
        "\"type\":\"text\"",
        "\"text\":",
        "\"jsonrpc\":\"2.0\"",
        "\"method\":\"m\"",
        "log line",
        "é",
        "                ",
    ];

    #[test]
    fn any_soup_of_words_is_read_alike_whole_and_in_pieces() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let soup: String = (0..random.usize(1..40)).map(|_| WORDS[random.usize(..WORDS.len())]).collect();
            let whole = answers(soup.as_bytes(), soup.len(), 100);
            assert_eq!(whole, answers(soup.as_bytes(), 1, 100), "{soup:?}");
            assert!(whole.iter().flatten().all(is_readable), "{soup:?}: {whole:?}");
        }
    }

    #[test]
    fn a_message_with_a_few_bytes_changed_is_answered_or_refused_and_nothing_breaks() {
        let good = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}],\"isError\":false}}\n";
        let mut random = fastrand::Rng::with_seed(8);
        for _ in 0..20_000 {
            let mut bytes = good.as_bytes().to_vec();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            let whole = answers(&bytes, bytes.len(), 1000);
            assert_eq!(whole, answers(&bytes, 3, 1000));
            assert!(whole.iter().flatten().all(is_readable));
        }
    }
}

//! How much of a result the model gets.
//!
//! Over a tool's own limit, or over the budget of the turn (largest results first), the whole text goes to the result
//! store and the model gets head and tail, the size, and a path.

use std::{fmt::Write, mem, path::Path, sync::Arc};

use haft_tool::{Block, Limit, SessionId};

use super::{Preview, ResultStore, ToolResult, Truncation, preview};
use crate::pool::Pool;

/// How much text goes back to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// For one result whose tool keeps the default limit. `None`: as the tool's spec says.
    pub per_call: Option<usize>,
    /// For all results of a turn together.
    pub per_turn: usize,
    /// For what is shown of a result that was cut.
    pub preview: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { per_call: None, per_turn: 400 * 1024, preview: 8 * 1024 }
    }
}

/// Where what is too large goes, and with which tools the model gets at it.
pub(crate) struct Attic<'a> {
    pub(crate) store: &'a dyn ResultStore,
    pub(crate) session: &'a SessionId,
    pub(crate) pool: &'a Pool,
}

impl Budget {
    fn limit(&self, tool: Limit) -> usize {
        match (tool, self.per_call) {
            (Limit::Unlimited, _) => usize::MAX,
            (Limit::Bytes(limit), None) => limit,
            (Limit::Bytes(limit), Some(setting)) => limit.min(setting),
        }
    }

    /// Cuts one result down to its tool's limit.
    pub(crate) async fn fit(&self, result: &mut ToolResult, tool: Limit, attic: &Attic<'_>) {
        let limit = self.limit(tool);
        if text_len(result) > limit {
            // Boxed: it is rare, and its state should not make every call's larger.
            Box::pin(spill(result, self.preview.min(limit), attic)).await;
        }
        if let Some(Truncation { path: Some(path), handle: handle @ None, .. }) = &mut result.meta.truncated {
            *handle = attic.store.handle(path);
        }
        if result.data.as_ref().is_some_and(|data| json_len(data) > limit) {
            result.data = None;
            result.meta.notes.insert("data".to_owned(), "left out: too large".into());
        }
    }

    /// Cuts the largest results of a turn until all together fit. Gives the places of those that it cut.
    pub(crate) async fn fit_turn(&self, results: &mut [ToolResult], attic: &Attic<'_>) -> Vec<usize> {
        let (mut total, mut cut) = (results.iter().map(text_len).sum::<usize>(), Vec::new());
        if total <= self.per_turn {
            return cut;
        }
        let mut by_size: Vec<usize> = (0..results.len()).collect();
        by_size.sort_by_key(|index| std::cmp::Reverse(text_len(&results[*index])));
        for index in by_size {
            let result = &mut results[index];
            let before = text_len(result);
            if total <= self.per_turn || before <= self.preview {
                break;
            }
            // What is a preview already stays. What a tool shows of something larger is more than that, most often.
            let is_preview = |cut: &Truncation| cut.shown <= self.preview as u64;
            if !result.meta.truncated.as_ref().is_some_and(is_preview) {
                spill(result, self.preview, attic).await;
                total = total - before + text_len(result);
                cut.push(index);
            }
        }
        cut
    }
}

fn text_len(result: &ToolResult) -> usize {
    result.blocks.iter().filter_map(Block::as_text).map(str::len).sum()
}

/// The size of a value as JSON, without writing it anywhere.
fn json_len(value: &serde_json::Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

/// Puts the whole text away and leaves a preview in its place.
async fn spill(result: &mut ToolResult, room: usize, attic: &Attic<'_>) {
    let blocks = Arc::new(mem::take(&mut result.blocks));
    let kept = attic.store.keep(attic.session, &result.call, blocks.clone()).await;
    let bytes: usize = blocks.iter().filter_map(Block::as_text).map(str::len).sum();

    let mut text = String::with_capacity(room + 256);
    let shown = match kept.as_deref() {
        Ok(path) => show(&blocks, room, &attic.stored_at(path), &mut text),
        Err(err) => show(&blocks, room, &format!("the whole could not be kept: {err}"), &mut text),
    };
    result.blocks.push(Block::Text(text));
    match Arc::try_unwrap(blocks) {
        Ok(blocks) => result.blocks.extend(blocks.into_iter().filter(|block| block.as_text().is_none())),
        // A store that still holds on to the blocks keeps the pictures; the text says where it is.
        Err(_) => result.meta.notes.extend([("blocks".to_owned(), "kept by the store".into())]),
    }
    let path = kept.ok();
    let handle = path.as_deref().and_then(|path| attic.store.handle(path));
    let (bytes, shown) = (bytes as u64, shown as u64);
    result.meta.truncated = Some(match result.meta.truncated.take() {
        // A part of something larger, of which less is shown now.
        Some(whole @ Truncation { path: Some(_), .. }) => Truncation { shown, ..whole },
        Some(Truncation { bytes: whole, .. }) => Truncation { bytes: whole.max(bytes), shown, path, handle },
        None => Truncation { bytes, shown, path, handle },
    });
}

impl Attic<'_> {
    /// Where the whole is, and what to do with it. No tool is named that the model does not have.
    fn stored_at(&self, path: &Path) -> String {
        let ways = [("Read", "read parts of it with Read (offset, limit)"), ("Grep", "search it with Grep")];
        let ways: Vec<&str> =
            ways.iter().filter(|(tool, _)| self.pool.find(tool).is_some()).map(|(_, way)| *way).collect();
        let then = if ways.is_empty() { "" } else { "; " };
        format!("the whole is in {}{then}{}", path.display(), ways.join(" or "))
    }
}

/// Writes the preview of several texts as if they were one; says how many bytes of them it shows.
fn show(blocks: &[Block], room: usize, whereabouts: &str, out: &mut String) -> usize {
    let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
    if let [only] = texts.as_slice() {
        let Preview { head, tail, hidden_bytes, hidden_lines } = preview(only, room);
        write_cut(out, head, tail, hidden_bytes, hidden_lines, whereabouts);
        return head.len() + tail.len();
    }
    let total: usize = texts.iter().map(|text| text.len()).sum();
    let (head, whole) = beginning(&texts, room * 2 / 3);
    // Of a text that is cut in its middle, the end comes after what was shown of its beginning.
    let begun = if whole + 1 == texts.len() { head.last().map_or(0, |piece| piece.len()) } else { 0 };
    let tail = texts[whole..].last().map_or("", |last| ending(&last[begun..], room / 3));
    let shown = head.iter().map(|piece| piece.len()).sum::<usize>() + tail.len();
    if shown > 0 {
        write_cut(out, &joined(&head), tail, total.saturating_sub(shown), 0, whereabouts);
    }
    shown
}

/// The texts that fit, and the beginning of the first that does not; how many are whole.
fn beginning<'a>(texts: &[&'a str], mut room: usize) -> (Vec<&'a str>, usize) {
    let mut pieces = Vec::new();
    for (whole, text) in texts.iter().enumerate() {
        if text.len() > room {
            pieces.push(preview(text, room).head);
            return (pieces, whole);
        }
        pieces.push(*text);
        room -= text.len();
    }
    (pieces, texts.len())
}

fn ending(text: &str, room: usize) -> &str {
    let Preview { head, tail, .. } = preview(text, room);
    if tail.is_empty() { head } else { tail }
}

/// A line each, at least.
fn joined(pieces: &[&str]) -> String {
    let mut all = String::new();
    for piece in pieces {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        all.push_str(piece);
    }
    all
}

fn write_cut(out: &mut String, head: &str, tail: &str, bytes: usize, lines: usize, whereabouts: &str) {
    let lines = if lines > 0 { format!(", {lines} lines") } else { String::new() };
    out.push_str(head);
    // Writing to a String cannot fail.
    let before = if head.ends_with('\n') { "" } else { "\n" };
    let _ = writeln!(out, "{before}[… {}{lines} hidden; {whereabouts} …]", size(bytes));
    out.push_str(tail);
}

/// A size for people and models.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_texts_the_beginning_of_the_long_one_is_shown_with_the_short_one() {
        let long: String = (0..1000).map(|line| format!("line {line}\n")).collect();
        for texts in [["An observation.", long.as_str()], [long.as_str(), "The end."]] {
            let (blocks, mut out) = (texts.map(|text| Block::Text(text.into())), String::new());
            let shown = show(&blocks, 600, "see FILE", &mut out);
            assert!(shown <= 600, "{shown}");
            for words in ["line 0\n", "line 10\n", "see FILE"] {
                assert!(out.contains(words), "{words} is not in {out}");
            }
            assert!(
                out.starts_with(&texts[0][..5]) && out.ends_with(&texts[1][texts[1].len() - 5..]),
                "{out}"
            );
        }
    }

    #[test]
    fn what_is_shown_is_shown_once() {
        let blocks = ["x".repeat(395), "y".repeat(10), "z".repeat(900)].map(Block::Text);
        for room in 0..1300 {
            let mut out = String::new();
            let shown = show(&blocks, room, "-", &mut out);
            let count =
                out.bytes().filter(|byte| b"xyz".contains(byte)).count() - out.matches("bytes").count();
            assert!(shown <= room && count == shown, "{room}: {shown}, {count} of them");
        }
    }
}

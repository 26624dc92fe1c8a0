//! What was read of a source, as bytes that the next process understands.
//!
//! Reading some thousand tools takes longer than asking them a question, and their definitions rarely change. The bytes
//! begin with a fingerprint of everything that was read and of how: bytes of other tools, of other weights or of another
//! form are as good as none, and so are broken ones. Names are not in them: who asks has them, and keys of a process are
//! its own.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{
    Document, Weights,
    part::{Part, Said, ToolWords},
};

/// The form of the bytes, and of what is made of a text: to be counted up when either changes.
const FORM: u32 = 1;

/// Keeps what was read of a source for the next process.
///
/// It is asked when somebody first searches, so it may read and write a file. It need not understand the bytes, and may
/// lose them.
pub trait Readings: Send + Sync {
    /// The bytes that were kept last.
    fn recall(&self) -> Option<Vec<u8>>;

    /// Keeps these in the place of those before.
    fn keep(&self, reading: &[u8]);
}

/// All that goes into a part, in one number. Only a server could make two of its own lists alike, and would be found by the
/// older of them.
fn fingerprint(documents: &[Document<'_>], weights: &Weights) -> u64 {
    let mut hasher = DefaultHasher::new();
    (FORM, format!("{weights:?}"), documents.len()).hash(&mut hasher);
    for document in documents {
        let Document { name, tool, server, aliases, hint, prompt, schema } = document;
        (name, tool, server, aliases, hint, prompt, schema).hash(&mut hasher);
    }
    hasher.finish()
}

/// A part as bytes.
pub(super) fn written(part: &Part, documents: &[Document<'_>], weights: &Weights) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16 + part.said.len() * 9 + part.stems.len() * 12);
    bytes.extend(fingerprint(documents, weights).to_le_bytes());
    number(&mut bytes, part.stems.len());
    for (_, stem) in &part.stems {
        number(&mut bytes, stem.len());
        bytes.extend(stem.as_bytes());
    }
    for tool in &part.tools {
        number(&mut bytes, tool.words.len());
        tool.words.iter().for_each(|word| number(&mut bytes, *word as usize));
    }
    // Sorted by stem: how many there are of each, then those.
    let mut rest = &part.said[..];
    for stem in 0..part.stems.len() as u32 {
        let (these, others) = rest.split_at(rest.partition_point(|said| said.stem <= stem));
        number(&mut bytes, these.len());
        for said in these {
            number(&mut bytes, said.tool as usize);
            bytes.extend(said.says.to_le_bytes());
        }
        rest = others;
    }
    bytes
}

/// The part that these bytes are, if they are of these documents and whole.
pub(super) fn understood(bytes: &[u8], documents: &[Document<'_>], weights: &Weights) -> Option<Part> {
    let mut rest = Bytes(bytes);
    if u64::from_le_bytes(*rest.take()?) != fingerprint(documents, weights) {
        return None;
    }
    let stems = rest.many(|rest| {
        let length = rest.number()?;
        std::str::from_utf8(rest.slice(length)?).ok().map(Box::from)
    })?;
    let words = documents.iter().map(|_| rest.many(|rest| rest.below(stems.len())).map(Vec::into));
    let words: Vec<ToolWords> = words.collect::<Option<_>>()?;
    let mut said = Vec::new();
    for stem in 0..stems.len() as u32 {
        let tools = rest.many(|rest| {
            let tool = rest.below(documents.len())?;
            let says = f32::from_le_bytes(*rest.take()?);
            says.is_finite().then_some(Said { stem, tool, says })
        })?;
        said.extend(tools);
    }
    rest.0.is_empty().then(|| Part::of(documents, words, stems, said))
}

/// Seven bits a byte, the lowest first: most numbers are small.
fn number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// What is left to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(taken)
    }

    fn slice(&mut self, length: usize) -> Option<&'a [u8]> {
        let (slice, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(slice)
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = *self.take()?;
            number |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// One of so many.
    fn below(&mut self, count: usize) -> Option<u32> {
        let number = self.number()?;
        (number < count).then_some(number as u32)
    }

    /// As many as are said to come. Each takes a byte or more, so that no number makes room for what is not there.
    fn many<T>(&mut self, mut next: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        if count > self.0.len() {
            return None;
        }
        (0..count).map(|_| next(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::pool::search::{Placed, SearchIndex, Stems};

    fn schema() -> Value {
        json!({ "properties": { "title": { "description": "what the issue is called" } } })
    }

    fn documents(schema: &Value) -> Vec<Document<'_>> {
        let of = |name, prompt| Document { prompt, ..Document::new(name, schema) };
        vec![
            of("mcp__hub__create_issue", "Opens an issue in a repository."),
            of("mcp__hub__list_issues", "Lists the issues of a repository."),
            of("mcp__hub__größe", ""),
        ]
    }

    fn index(part: Part) -> SearchIndex {
        let places = (0..part.tools.len() as u32).map(Some).collect();
        SearchIndex::of(vec![Placed { part: part.into(), places }], &Weights::default())
    }

    #[test]
    fn what_was_kept_answers_as_what_was_read() {
        let (schema, weights) = (schema(), Weights::default());
        let documents = documents(&schema);
        let read = Part::read(&documents, &mut Stems::new(), &weights);
        let bytes = written(&read, &documents, &weights);
        let kept = understood(&bytes, &documents, &weights).expect("ours");
        let (read, kept) = (index(read), index(kept));
        for query in
            ["open an issue", "list", "titel", "select:größe", "create_issue", "sue", "+hub repository"]
        {
            assert_eq!(read.search(query, 5), kept.search(query, 5), "{query}");
        }
        assert_eq!(kept.search("open an issue", 1)[0].name, "mcp__hub__create_issue");
    }

    #[test]
    fn what_was_read_of_other_tools_or_in_another_way_is_not_used() {
        let (schema, weights) = (schema(), Weights::default());
        let documents = documents(&schema);
        let read = Part::read(&documents, &mut Stems::new(), &weights);
        let bytes = written(&read, &documents, &weights);
        assert!(understood(&bytes, &documents[1..], &weights).is_none());
        let mut other = documents.clone();
        other[0].prompt = "Opens an issue.";
        assert!(understood(&bytes, &other, &weights).is_none());
        let (other, changed) = (json!({}), Weights { saturation: 9.0, ..weights });
        other_schema(&bytes, &documents, &other);
        assert!(understood(&bytes, &documents, &changed).is_none());
    }

    fn other_schema(bytes: &[u8], documents: &[Document<'_>], schema: &Value) {
        let other: Vec<Document<'_>> =
            documents.iter().map(|document| Document { schema, ..*document }).collect();
        assert!(understood(bytes, &other, &Weights::default()).is_none());
    }

    #[test]
    fn broken_bytes_are_as_good_as_none() {
        let (schema, weights) = (schema(), Weights::default());
        let documents = documents(&schema);
        let read = Part::read(&documents, &mut Stems::new(), &weights);
        let whole = written(&read, &documents, &weights);
        for end in 0..whole.len() {
            assert!(understood(&whole[..end], &documents, &weights).is_none(), "cut at {end}");
        }
        for at in 8..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut broken = whole.clone();
                broken[at] = value;
                // Another number may be as possible as the right one; what it leads to must be there.
                if let Some(part) = understood(&broken, &documents, &weights) {
                    index(part).search("open an issue list", 5);
                }
            }
        }
    }
}

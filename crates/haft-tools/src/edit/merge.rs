//! The new passage, with the bytes of the file wherever the model changed nothing.
//!
//! The model's old text and the passage in the file have the same lines but for what was forgiven. So what the model
//! left alone between its old and its new text is taken from the file, and only the rest from the model.

use std::{collections::HashMap, ops::Range};

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::{
    indent::{self, Reindent},
    typography,
    view::{Line, Rules, lines},
};

/// What is merged: the lines of the file, of the old text that stands for them, and of the new one.
pub(super) struct Merge<'a> {
    file: Vec<Line<'a>>,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    rules: Rules,
    /// What new lines end with.
    end: &'a str,
    reindent: Option<Reindent<'a>>,
    /// The plain characters of the file for which the model wrote typographic ones.
    plain: Plain,
}

/// None for a character that stands for several.
type Plain = HashMap<char, Option<char>>;

impl<'a> Merge<'a> {
    /// None if the passage differs from the old text in more than the rules forgive.
    pub(super) fn new(
        passage: &'a str,
        old: &'a str,
        new: &'a str,
        rules: Rules,
        end: &'a str,
        whole_file: &str,
    ) -> Option<Self> {
        let text_of = |line: Line<'a>| line.text;
        let (file, old): (Vec<_>, Vec<_>) = (lines(passage).collect(), lines(old).map(text_of).collect());
        if file.len() != old.len() {
            return None;
        }
        let reindent = match rules.leading {
            true => Some(Reindent::between(indentations(&file, &old), whole_file)?),
            false => None,
        };
        let plain = if rules.typography { plain(&file, &old) } else { Plain::new() };
        Some(Merge { file, old, new: lines(new).map(text_of).collect(), rules, end, reindent, plain })
    }

    /// The passage as it shall be; none if a new line cannot be indented without guessing.
    pub(super) fn text(&self) -> Option<String> {
        let mut text = String::new();
        for (tag, old, new) in changes(&self.old, &self.new) {
            let twins = match tag {
                DiffTag::Equal => (0..old.len()).map(Some).collect(),
                _ => twins(&self.old[old.clone()], &self.new[new.clone()]),
            };
            if tag == DiffTag::Insert && new.len() == 1 && self.is_adrift(new.start) {
                return None;
            }
            for (at, twin) in new.zip(twins) {
                let twin = twin.map(|twin| old.start + twin);
                match twin {
                    Some(twin) if tag == DiffTag::Equal => text.push_str(self.file[twin].text),
                    Some(twin) => text.push_str(&self.changed(self.new[at], twin)?),
                    None => text.push_str(&self.added(self.new[at])?),
                }
                if at + 1 < self.new.len() {
                    let end = twin.map_or("", |twin| self.file[twin].end);
                    text.push_str(if end.is_empty() { self.end } else { end });
                }
            }
        }
        Some(text)
    }

    /// Whether a lone new line stands at the left margin of a shifted passage, before a blank line: it may belong to what
    /// is above it or to the margin of the file, and a wrong guess would not be seen.
    fn is_adrift(&self, at: usize) -> bool {
        let new = self.new[at];
        let is_moved = self.reindent.as_ref().is_some_and(Reindent::moves);
        let is_at_margin = indent::of(new).is_empty() && !is_blank(new);
        is_moved && is_at_margin && self.new.get(at + 1).is_some_and(|below| is_blank(below))
    }

    fn added(&self, new: &str) -> Option<String> {
        let (indentation, body) = self.indented(new)?;
        Some(indentation + &self.spelled(body))
    }

    /// A line that replaces another: its words that did not change are the file's.
    fn changed(&self, new: &str, twin: usize) -> Option<String> {
        let (old, file) = (self.old[twin], self.file[twin].text);
        let (indentation, body) = self.indented(new)?;
        let body = match self.rules.typography {
            // Blanks between words are not to be taken for indentation.
            true => reword(indent::rest(file), indent::rest(old), body, |word| self.spelled(word)),
            false => body.to_owned(),
        };
        Some(indentation + &body + self.tail(file, old, new))
    }

    /// The indentation that a new line gets, and the rest of it.
    fn indented<'n>(&self, new: &'n str) -> Option<(String, &'n str)> {
        match &self.reindent {
            Some(_) if is_blank(new) => Some((String::new(), "")),
            Some(reindent) => Some((reindent.apply(indent::of(new))?, indent::rest(new))),
            None => Some((indent::of(new).to_owned(), indent::rest(new))),
        }
    }

    /// What is new, without the typographic characters that the model wrote for the plain ones of the file.
    fn spelled(&self, new: &str) -> String {
        new.chars()
            .map(|character| self.plain.get(&character).copied().flatten().unwrap_or(character))
            .collect()
    }

    /// The trailing blanks of the file, which the model did not see.
    fn tail(&self, file: &'a str, old: &str, new: &str) -> &'a str {
        let ends_blank = |line: &str| line.ends_with(typography::is_blank);
        if !self.rules.trailing || ends_blank(old) || ends_blank(new) || new.is_empty() {
            return "";
        }
        let kept = Rules { leading: false, ..self.rules }.trim(file);
        &file[kept.len()..]
    }
}

fn indentations<'a>(file: &[Line<'a>], old: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    let both = old.iter().zip(file).filter(|(old, _)| !is_blank(old));
    both.map(|(old, file)| (indent::of(old), indent::of(file.text))).collect()
}

/// The other way round would be a guess: a plain quote is an opening or a closing one, or belongs to new code.
fn plain(file: &[Line<'_>], old: &[&str]) -> Plain {
    let mut plain = Plain::new();
    let pairs = file.iter().zip(old).map(|(file, old)| (file.text.trim_start(), old.trim_start()));
    for (file, old) in pairs.flat_map(|(file, old)| file.chars().zip(old.chars())) {
        if !old.is_ascii() {
            let same = Some(file).filter(|file| file.is_ascii() && typography::is_plain_form(*file, old));
            plain
                .entry(old)
                .and_modify(|seen| *seen = seen.filter(|seen| Some(*seen) == same))
                .or_insert(same);
        }
    }
    plain
}

fn is_blank(line: &str) -> bool {
    line.trim_matches([' ', '\t']).is_empty()
}

/// Beyond this many steps, what differs is taken as one change: more of the model's bytes, never other words.
const MOST_STEPS: usize = 4_000_000;

fn changes<T: Eq + std::hash::Hash>(old: &[T], new: &[T]) -> Vec<(DiffTag, Range<usize>, Range<usize>)> {
    if old.len().saturating_mul(new.len()) <= MOST_STEPS {
        let ops = capture_diff_slices(Algorithm::Myers, old, new);
        return ops.iter().map(|op| op.as_tag_tuple()).collect();
    }
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = rest.take_while(|(old, new)| old == new).count();
    vec![
        (DiffTag::Equal, 0..head, 0..head),
        (DiffTag::Replace, head..old.len() - tail, head..new.len() - tail),
        (DiffTag::Equal, old.len() - tail..old.len(), new.len() - tail..new.len()),
    ]
}

/// Beyond this many pairs of lines, they are taken as they come.
const MOST_PAIRS: usize = 10_000;

/// For each new line the old one that it comes from, in order: so that as much as possible is kept.
fn twins(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    if old.len().saturating_mul(new.len()) > MOST_PAIRS {
        return (0..new.len()).map(|at| Some(at).filter(|at| *at < old.len())).collect();
    }
    let old_words: Vec<_> = old.iter().map(|line| counts(line)).collect();
    let new_words: Vec<_> = new.iter().map(|line| counts(line)).collect();
    let mut shared: Vec<Vec<usize>> =
        old_words.iter().map(|old| new_words.iter().map(|new| in_common(old, new)).collect()).collect();
    // As many as before: where nothing else tells, a line replaces the one in its place.
    if old.len() == new.len() {
        (0..old.len()).for_each(|at| shared[at][at] += 1);
    }
    // What can be kept of the lines from here on, for each pair of them.
    let mut best = vec![vec![0; new.len() + 1]; old.len() + 1];
    for (at_old, at_new) in
        (0..old.len()).rev().flat_map(|old| (0..new.len()).rev().map(move |new| (old, new)))
    {
        let paired = shared[at_old][at_new] + best[at_old + 1][at_new + 1];
        best[at_old][at_new] = paired.max(best[at_old + 1][at_new]).max(best[at_old][at_new + 1]);
    }
    let (mut twins, mut at) = (vec![None; new.len()], (0, 0));
    while at.0 < old.len() && at.1 < new.len() {
        let here = best[at.0][at.1];
        if here == best[at.0 + 1][at.1] {
            at.0 += 1;
        } else if here == best[at.0][at.1 + 1] {
            at.1 += 1;
        } else {
            twins[at.1] = Some(at.0);
            at = (at.0 + 1, at.1 + 1);
        }
    }
    twins
}

fn counts(line: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for word in words(line).into_iter().filter(|word| !word.trim().is_empty()) {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// How many bytes of words two lines share.
fn in_common(old: &HashMap<&str, usize>, new: &HashMap<&str, usize>) -> usize {
    old.iter().map(|(word, count)| word.len() * count.min(new.get(word).unwrap_or(&0))).sum()
}

/// `new`, with the spelling of `file` for the words that it shares with `old`.
fn reword(file: &str, old: &str, new: &str, spelled: impl Fn(&str) -> String) -> String {
    // Hard spaces are no indentation: then the lines are out of step.
    if folded(file).trim_end() != folded(old).trim_end() {
        return spelled(new);
    }
    let (old_words, new_words) = (words(old), words(new));
    let boundaries = Boundaries::of(file);
    let mut at = 0;
    let spans: Vec<_> = (old_words.iter())
        .map(|word| {
            let from = at;
            at += folded(word).len();
            from..at
        })
        .collect();
    let mut text = String::new();
    for (tag, old, new) in changes(&old_words, &new_words) {
        for (old, new) in old.map(Some).chain(std::iter::repeat(None)).zip(new) {
            let same = old.filter(|_| tag == DiffTag::Equal);
            let kept = same.and_then(|old| boundaries.slice(file, &spans[old]));
            match kept {
                Some(kept) => text.push_str(kept),
                None => text.push_str(&spelled(new_words[new])),
            }
        }
    }
    text
}

/// Runs of letters and digits, and every other character by itself.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        // An accent of its own belongs to its letter.
        let in_word =
            |character: char| character.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&character);
        let run = rest.len() - rest.trim_start_matches(in_word).len();
        let (word, behind) = rest.split_at(run.max(first.len_utf8()));
        words.push(word);
        rest = behind;
    }
    words
}

fn folded(text: &str) -> String {
    let mut plain = String::new();
    text.chars().for_each(|character| typography::fold(character, &mut plain));
    plain
}

/// Where the characters of a line start, and where they would if it were folded.
struct Boundaries(Vec<(usize, usize)>);

impl Boundaries {
    fn of(line: &str) -> Boundaries {
        let mut plain = String::new();
        let mut boundaries = vec![(0, 0)];
        for (at, character) in line.char_indices() {
            typography::fold(character, &mut plain);
            boundaries.push((plain.len(), at + character.len_utf8()));
        }
        Boundaries(boundaries)
    }

    fn slice<'a>(&self, line: &'a str, folded: &Range<usize>) -> Option<&'a str> {
        let find = |folded: usize| {
            let found = self.0.binary_search_by_key(&folded, |boundary| boundary.0).ok()?;
            Some(self.0[found].1)
        };
        line.get(find(folded.start)?..find(folded.end)?)
    }
}

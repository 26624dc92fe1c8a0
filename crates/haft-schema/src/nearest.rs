//! Which name was meant? Models misspell names in two ways: by a letter, or by another convention (`filePath`).
//!
//! Used for the keys of an input here, and by others for names of tools, files and settings.

use std::mem;

/// No name that is worth suggesting is longer. It bounds what a hostile one can cost.
const LONGEST: usize = 96;
/// A name inside another says little if it is shorter than this.
const TELLING: usize = 4;

/// The candidate that is most likely meant by `name`, if one is near enough to be worth naming.
///
/// ```
/// assert_eq!(haft_schema::nearest("filePth", ["limit", "file_path"]), Some("file_path"));
/// assert_eq!(haft_schema::nearest("recursive", ["limit", "file_path"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = Letters::of(name);
    let near = candidates
        .into_iter()
        .filter_map(|candidate| Some((wanted.distance(&Letters::of(candidate))?, candidate)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// What counts of a name when it is compared: letters and digits, in lower case. `file_path`, `filePath` and `FILE-PATH`
/// are the same.
pub struct Letters {
    chars: Vec<char>,
    /// A bit for each that occurs; rare ones share bits.
    set: u64,
}

impl Letters {
    /// The letters of a name. Those of an endless one are none: it is like nothing.
    pub fn of(name: &str) -> Letters {
        let chars = name.chars().filter(|ch| ch.is_alphanumeric()).flat_map(char::to_lowercase);
        let mut chars: Vec<char> = chars.take(LONGEST + 1).collect();
        if chars.len() > LONGEST {
            chars.clear();
        }
        let set = chars.iter().fold(0, |set, ch| set | 1 << (u32::from(*ch) % u64::BITS));
        Letters { chars, set }
    }

    /// How far apart two names are, if one can be meant by the other.
    pub fn distance(&self, name: &Letters) -> Option<usize> {
        if self.chars.is_empty() || name.chars.is_empty() {
            return None;
        }
        let longer = self.chars.len().max(name.chars.len());
        let limit = (longer / 3).max(1);
        // Each edit brings or takes at most one letter, which a look at the sets tells for nearly all names.
        let different = (self.set & !name.set).count_ones().max((name.set & !self.set).count_ones());
        if different as usize <= limit
            && let Some(edits) = edits(&self.chars, &name.chars, limit)
            && edits < longer
        {
            return Some(edits);
        }
        let (short, long) = if self.chars.len() < name.chars.len() { (self, name) } else { (name, self) };
        let is_inside = short.chars.len() >= TELLING && short.set & !long.set == 0 && long.contains(short);
        // After every near miss: one name inside another is a weaker sign.
        is_inside.then(|| LONGEST + long.chars.len() - short.chars.len())
    }

    fn contains(&self, part: &Letters) -> bool {
        self.chars.windows(part.chars.len()).any(|window| window == part.chars)
    }
}

/// Insertions, deletions, replacements and swaps of neighbours that make one of the other, if at most `limit`.
fn edits(from: &[char], to: &[char], limit: usize) -> Option<usize> {
    if from.len().abs_diff(to.len()) > limit {
        return None;
    }
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut row = Vec::with_capacity(to.len() + 1);
    for (i, &ch) in from.iter().enumerate() {
        row.clear();
        row.push(i + 1);
        for (j, &other) in to.iter().enumerate() {
            let replaced = last[j] + usize::from(ch != other);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && ch == to[j - 1] && from[i - 1] == other {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        // A swap reaches back two rows, so one bad row alone proves nothing.
        if row.iter().chain(&last).all(|edits| *edits > limit) {
            return None;
        }
        mem::swap(&mut before_last, &mut last);
        mem::swap(&mut last, &mut row);
    }
    last.last().copied().filter(|edits| *edits <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        assert_eq!(nearest(name, ["file_path", "old_text", "new_text", "limit", "id"]), expected);
    }

    #[test]
    fn a_misspelt_name_finds_the_real_one() {
        check("file_pth", Some("file_path"));
        check("limti", Some("limit"));
        check("new_txt", Some("new_text"));
        check("ids", Some("id"));
    }

    #[test]
    fn another_convention_is_the_same_name() {
        check("filePath", Some("file_path"));
        check("FILE-PATH", Some("file_path"));
        check("oldText", Some("old_text"));
    }

    #[test]
    fn a_part_of_a_name_is_near() {
        check("path", Some("file_path"));
        check("file", Some("file_path"));
        check("the_limit", Some("limit"));
    }

    #[test]
    fn an_unrelated_name_finds_nothing() {
        check("recursive", None);
        check("x", None);
        check("", None);
        check(&"file_path".repeat(1000), None);
    }

    #[test]
    fn swapped_neighbours_count_once() {
        let distance = |from: &str, to: &str| Letters::of(from).distance(&Letters::of(to));
        assert_eq!(distance("abcd", "acbd"), Some(1));
        assert_eq!(distance("kitten", "sitten"), Some(1));
        assert_eq!(distance("abc", "xyz"), None);
    }
}

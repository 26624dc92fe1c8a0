//! Which name was meant? Models misspell keys in two ways: by a letter, or by another convention (`filePath`).

/// Longer names are not compared: the distance costs the product of the lengths.
const MAX_CHARS: usize = 64;

/// The candidate that is most likely meant by `name`, if one is near enough to be worth naming.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(name);
    let near = candidates
        .into_iter()
        .filter_map(|candidate| Some((penalty(&wanted, &folded(candidate))?, candidate)));
    near.min_by_key(|(penalty, _)| *penalty).map(|(_, candidate)| candidate)
}

/// How unlikely it is that one folded name stands for the other; `None` if they have nothing to do with each other.
fn penalty(wanted: &[char], candidate: &[char]) -> Option<usize> {
    if wanted.is_empty() || wanted.len() > MAX_CHARS || candidate.len() > MAX_CHARS {
        return None;
    }
    let distance = distance(wanted, candidate);
    let tolerated = (wanted.len().max(candidate.len()) / 3).max(1);
    if distance <= tolerated && distance < wanted.len() {
        return Some(distance);
    }
    // `path` for `file_path`: a part of the name, too far away to count letters.
    let is_part =
        |part: &[char], whole: &[char]| part.len() >= 3 && (whole.starts_with(part) || whole.ends_with(part));
    (is_part(wanted, candidate) || is_part(candidate, wanted)).then_some(MAX_CHARS + distance)
}

/// `file_path`, `filePath` and `FILE-PATH` are the same name in three conventions.
fn folded(name: &str) -> Vec<char> {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .take(MAX_CHARS + 1)
        .collect()
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one text to the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = last[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
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
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(distance(&chars("abcd"), &chars("acbd")), 1);
        assert_eq!(distance(&chars(""), &chars("abc")), 3);
        assert_eq!(distance(&chars("kitten"), &chars("sitting")), 3);
    }
}

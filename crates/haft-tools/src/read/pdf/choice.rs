//! Which pages are asked for: "3", "1-5,8", "12-".

use super::MOST_PAGES;

/// Ranges of pages, counted from 1. One without an end goes to the last page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice(Vec<(usize, Option<usize>)>);

impl Choice {
    pub(super) fn parse(text: &str) -> Result<Choice, String> {
        let ranges = text.split(',').map(|range| {
            let (first, last) = match range.trim().split_once(['-', '–']) {
                Some((first, "")) => (number(first), Some(None)),
                Some((first, last)) => (number(first), number(last).map(Some)),
                None => (number(range), number(range).map(Some)),
            };
            match (first, last) {
                (Some(first), Some(last)) if last.is_none_or(|last| first <= last) => Ok((first, last)),
                _ => Err(format!(
                    "was not read: `pages` is \"{}\"; write pages as \"3\" or \"1-5,8\", counted from 1",
                    text.chars().take(50).collect::<String>()
                )),
            }
        });
        ranges.collect::<Result<Vec<_>, _>>().map(Choice)
    }

    /// The pages in the order of the file, each once.
    pub(super) fn of(&self, total: usize) -> Result<Vec<usize>, String> {
        let last_of = |last: Option<usize>| last.unwrap_or(total);
        if let Some((first, last)) = self.0.iter().find(|(first, last)| last_of(*last).max(*first) > total) {
            let wanted = last.unwrap_or(*first);
            return Err(format!("has {total} pages; there is no page {wanted}"));
        }
        let is_chosen =
            |page: &usize| self.0.iter().any(|(first, last)| (*first..=last_of(*last)).contains(page));
        let pages: Vec<usize> = (1..=total).filter(is_chosen).collect();
        match pages.len() {
            count if count > MOST_PAGES => Err(format!(
                "was not read: {count} pages are asked for, and at most {MOST_PAGES} are read at once"
            )),
            _ => Ok(pages),
        }
    }
}

fn number(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, total: usize, expected: Result<&[usize], &str>) {
        let pages = Choice::parse(text).and_then(|choice| choice.of(total));
        assert_eq!(pages.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn pages_are_chosen_by_number_and_range() {
        check("3", 9, Ok(&[3]));
        check("1-3, 8", 9, Ok(&[1, 2, 3, 8]));
        check("8,1–2,2", 9, Ok(&[1, 2, 8]));
        check("8-", 9, Ok(&[8, 9]));
    }

    #[test]
    fn what_makes_no_sense_says_what_would() {
        check("7-12", 9, Err("has 9 pages; there is no page 12"));
        check("12-", 9, Err("has 9 pages; there is no page 12"));
        check("1-30", 90, Err("was not read: 30 pages are asked for, and at most 20 are read at once"));
        for text in ["", "0", "all", "5-2", "1,,2", "-3", "1-2-3"] {
            let words = Choice::parse(text).unwrap_err();
            assert!(words.contains("write pages as \"3\" or \"1-5,8\""), "{text}: {words}");
        }
    }
}

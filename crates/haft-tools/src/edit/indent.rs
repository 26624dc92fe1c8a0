//! The new lines of an edit in the indentation of the file, where the model wrote them in another.
//!
//! A shift is believed only if one rule explains every line of the passage. Where several rules do and would indent
//! a new line differently, there is no answer.

/// How the indentation that the model wrote becomes that of the file.
pub(super) struct Reindent<'a> {
    /// Of each line of the passage: as the model wrote it, as it is in the file.
    pairs: Vec<(&'a str, &'a str)>,
    shifts: Vec<Shift>,
    has_tabs: bool,
}

/// With tabs this wide, the file is so many columns further right.
#[derive(Clone, Copy)]
struct Shift {
    tab: usize,
    columns: isize,
}

/// Where a passage without indentation does not tell, this much of the file does.
const MOST_SEARCHED: usize = 64 * 1024;
const TABS: [usize; 5] = [4, 2, 8, 3, 1];

impl<'a> Reindent<'a> {
    /// The shift between two passages, line by line; none if no single one explains all lines.
    pub(super) fn between(pairs: Vec<(&'a str, &'a str)>, file: &str) -> Option<Reindent<'a>> {
        let shifts: Vec<_> = TABS.into_iter().filter_map(|tab| shift(&pairs, tab)).collect();
        let indented = |with: char| pairs.iter().any(|(_, file)| file.starts_with(with));
        let has_tabs = match (indented('\t'), indented(' ')) {
            (false, false) => {
                let head = &file[..file.floor_char_boundary(MOST_SEARCHED)];
                head.starts_with('\t') || head.contains("\n\t")
            }
            (has_tabs, _) => has_tabs,
        };
        (!shifts.is_empty()).then_some(Reindent { pairs, shifts, has_tabs })
    }

    /// Whether the file stands further left or right than the model wrote it.
    pub(super) fn moves(&self) -> bool {
        self.shifts.iter().any(|shift| shift.columns != 0)
    }

    /// An indentation of the new lines as the file would have it.
    pub(super) fn apply(&self, written: &str) -> Option<String> {
        if let Some(seen) = the_only(self.pairs.iter().filter(|pair| pair.0 == written).map(|pair| pair.1)) {
            return Some(seen.to_owned());
        }
        let unmoved = self.shifts.iter().any(|shift| shift.columns == 0);
        let likely = self.shifts.iter().filter(|shift| !unmoved || shift.columns == 0);
        the_only(likely.map(|shift| self.render(written, *shift))).flatten()
    }

    fn render(&self, written: &str, shift: Shift) -> Option<String> {
        let columns = usize::try_from(width(written, shift.tab) + shift.columns).ok()?;
        let tabs = if self.has_tabs { columns / shift.tab } else { 0 };
        Some("\t".repeat(tabs) + &" ".repeat(columns - tabs * shift.tab))
    }
}

/// The blanks at the start of a line.
pub(super) fn of(line: &str) -> &str {
    &line[..line.len() - rest(line).len()]
}

/// What follows them.
pub(super) fn rest(line: &str) -> &str {
    line.trim_start_matches([' ', '\t'])
}

fn shift(pairs: &[(&str, &str)], tab: usize) -> Option<Shift> {
    let columns = the_only(pairs.iter().map(|(written, file)| width(file, tab) - width(written, tab)))?;
    Some(Shift { tab, columns })
}

fn width(indentation: &str, tab: usize) -> isize {
    let columns = indentation.chars().fold(0, |columns, blank| match blank {
        '\t' => (columns / tab + 1) * tab,
        _ => columns + 1,
    });
    columns.try_into().unwrap_or(isize::MAX)
}

/// The value that all of them have.
fn the_only<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

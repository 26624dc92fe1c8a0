//! What did the model mean by an unknown name?
//!
//! Models write `read_file` for `ReadFile`, `Gerp` for `Grep` and `create_issue` for `mcp__github__create_issue`. So
//! case and separators are ignored, the part after the server is also compared alone, and only what is plausibly meant
//! is offered: a wrong suggestion costs a turn.

use std::mem;

use super::names;

/// Names are at most 64 long, so nothing near one is longer than this. It bounds what a hostile name can cost.
const LONGEST: usize = 96;
/// A name inside another says little if it is shorter than this.
const TELLING: usize = 4;

/// The names that are most like `wanted`, best first, at most `most`. Of equally good ones the first comes first.
///
/// ```
/// use haft_engine::pool::nearest;
/// let names = ["Edit", "Grep", "Read", "mcp__github__create_issue"];
/// assert_eq!(nearest("gerp", names.into_iter(), 3), ["Grep"]);
/// assert_eq!(nearest("createIssue", names.into_iter(), 3), ["mcp__github__create_issue"]);
/// ```
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let tail = names::split(wanted).map(|(_, tool)| Letters::of(tool));
    let wanted = Wanted { whole: Letters::of(wanted), tail };
    let mut found: Vec<_> = names.filter_map(|name| Some((wanted.distance(name)?, name))).collect();
    found.sort_by_key(|(distance, _)| *distance); // stable
    found.into_iter().take(most).map(|(_, name)| name).collect()
}

struct Wanted {
    whole: Letters,
    /// What follows the server, if the model named one.
    tail: Option<Letters>,
}

impl Wanted {
    fn distance(&self, name: &str) -> Option<usize> {
        let whole = self.whole.distance(&Letters::of(name));
        let Some((_, tail)) = names::split(name) else {
            // A server was named that does not have it; a tool of ours may still be meant.
            return whole.or_else(|| Some(1 + self.tail.as_ref()?.distance(&Letters::of(name))?));
        };
        let tail = Letters::of(tail);
        let alone = self.whole.distance(&tail);
        let both = self.tail.as_ref().and_then(|wanted| wanted.distance(&tail));
        [whole, alone, both.map(|distance| distance + 1)].into_iter().flatten().min()
    }
}

/// Letters and digits of a name, in lower case.
struct Letters {
    chars: Vec<char>,
    /// A bit for each that occurs; rare ones share bits.
    set: u64,
}

impl Letters {
    fn of(name: &str) -> Letters {
        let chars = name.chars().filter(|ch| ch.is_alphanumeric()).flat_map(char::to_lowercase);
        let chars: Vec<char> = chars.take(LONGEST).collect();
        let set = chars.iter().fold(0, |set, ch| set | 1 << (u32::from(*ch) % u64::BITS));
        Letters { chars, set }
    }

    /// How far apart two names are, if one can be meant by the other.
    fn distance(&self, name: &Letters) -> Option<usize> {
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

    const NAMES: [&str; 10] = [
        "Bash",
        "Batch",
        "Edit",
        "Grep",
        "Read",
        "TodoWrite",
        "WebFetch",
        "mcp__github__create_issue",
        "mcp__gitlab__create_issue",
        "mcp__slack__send-message",
    ];

    #[track_caller]
    fn check(wanted: &str, expected: &[&str]) {
        assert_eq!(nearest(wanted, NAMES.into_iter(), 3), expected);
    }

    #[test]
    fn case_and_separators_do_not_count() {
        check("todo_write", &["TodoWrite"]);
        check("WEB-FETCH", &["WebFetch"]);
        check("sendMessage", &["mcp__slack__send-message"]);
    }

    #[test]
    fn slips_are_forgiven() {
        check("Gerp", &["Grep"]);
        check("Reed", &["Read"]);
        check("Bsh", &["Bash"]);
        check("TodoWriter", &["TodoWrite"]);
    }

    #[test]
    fn the_server_may_be_left_out_or_wrong() {
        check("create_isue", &["mcp__github__create_issue", "mcp__gitlab__create_issue"]);
        check("mcp__github__createIssue", &["mcp__github__create_issue", "mcp__gitlab__create_issue"]);
        check("mcp__jira__create_issue", &["mcp__github__create_issue", "mcp__gitlab__create_issue"]);
        check("github_create_issue", &["mcp__github__create_issue", "mcp__gitlab__create_issue"]);
        check("mcp__fs__read", &["Read"]);
    }

    #[test]
    fn a_name_inside_another_is_plausible() {
        check("ReadFile", &["Read"]);
        check("run_bash_command", &["Bash"]);
    }

    #[test]
    fn what_is_like_nothing_gets_no_suggestion() {
        check("Kubernetes", &[]);
        check("", &[]);
        check("!", &[]);
        check("天气", &[]);
    }

    #[test]
    fn a_huge_name_among_many_costs_little() {
        let many: Vec<String> = (0..10_000).map(|n| format!("mcp__server{}__do_thing_{n}", n % 50)).collect();
        let names = || many.iter().map(String::as_str);
        assert_eq!(nearest(&"x".repeat(1 << 20), names(), 5), Vec::<&str>::new());
        assert_eq!(nearest("do_thing_77", names(), 1), ["mcp__server27__do_thing_77"]);
    }
}

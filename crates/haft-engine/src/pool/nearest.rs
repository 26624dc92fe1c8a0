//! What did the model mean by an unknown name?
//!
//! Models write `read_file` for `ReadFile`, `Gerp` for `Grep` and `create_issue` for `mcp__github__create_issue`. So
//! case and separators are ignored, the part after the server is also compared alone, and only what is plausibly meant
//! is offered: a wrong suggestion costs a turn.

use haft_schema::Letters;

use super::names;

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

/// The servers that are most like a word of the query, best first, then the largest; at most `most`. With each comes how
/// many tools it has.
pub(super) fn nearest_servers<'a>(
    query: &str,
    servers: impl Iterator<Item = (&'a str, usize)>,
    most: usize,
) -> Vec<(&'a str, usize)> {
    let words: Vec<Letters> = query.split_whitespace().take(MOST_WORDS).map(Letters::of).collect();
    let distance = |server: &str| {
        let server = Letters::of(server);
        words.iter().filter_map(|word| word.distance(&server)).min().unwrap_or(usize::MAX)
    };
    let mut found: Vec<_> = servers.map(|(server, tools)| (distance(server), tools, server)).collect();
    found.sort_by_key(|(distance, tools, _)| (*distance, usize::MAX - tools)); // stable
    found.into_iter().take(most).map(|(_, tools, server)| (server, tools)).collect()
}

/// A query with more words is a text, and names no server.
const MOST_WORDS: usize = 50;

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
    fn servers_are_near_by_name_and_then_by_size() {
        let servers = [("github", 40), ("jira", 12), ("slack", 90)];
        let near = |query| nearest_servers(query, servers.into_iter(), 2);
        assert_eq!(near("+gitub frobnicate"), [("github", 40), ("slack", 90)]);
        assert_eq!(near("frobnicate in jiras"), [("jira", 12), ("slack", 90)]);
        assert_eq!(near(""), [("slack", 90), ("github", 40)]);
    }

    #[test]
    fn a_huge_name_among_many_costs_little() {
        let many: Vec<String> = (0..10_000).map(|n| format!("mcp__server{}__do_thing_{n}", n % 50)).collect();
        let names = || many.iter().map(String::as_str);
        assert_eq!(nearest(&"x".repeat(1 << 20), names(), 5), Vec::<&str>::new());
        assert_eq!(nearest("do_thing_77", names(), 1), ["mcp__server27__do_thing_77"]);
    }
}

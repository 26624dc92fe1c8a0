//! What is the model told of the tools that it does not see?
//!
//! Whoever knows what there is searches better, and what is told is paid for in every request. So the prompt of the search
//! tool lists the names while they fit a budget, else the names by server, else the servers with their counts, else as
//! many of those as fit. The list does not depend on what was loaded: loading leaves the cached beginning of a request as
//! it was.

use std::{fmt::Write, sync::Arc};

use super::{Entry, TOOL_SEARCH, names};

/// What is said where even the servers are too many.
const ROOM_FOR_THE_REST: usize = 40;

/// Adds the list to the prompt of the search tool. Entries are sorted by name.
pub(super) fn tell(entries: &mut [Entry], budget: usize) {
    let Ok(search) = entries.binary_search_by(|entry| entry.name().cmp(TOOL_SEARCH)) else { return };
    let deferred: Vec<&str> = entries.iter().filter(|entry| entry.is_deferred()).map(Entry::name).collect();
    let Some(list) = listing(&deferred, budget) else { return };
    let prompt: Arc<str> = format!("{}\n\n{list}", entries[search].offer().prompt).into();
    entries[search].say(prompt);
}

/// The list of these names, which are sorted. `None` if there is nothing to list, or no room.
fn listing(deferred: &[&str], budget: usize) -> Option<String> {
    if deferred.is_empty() || budget == 0 {
        return None;
    }
    let servers = Server::group(deferred);
    let forms: [&dyn Fn() -> Option<String>; 3] =
        [&|| plain(deferred, budget), &|| grouped(&servers, budget), &|| counted(&servers, budget)];
    Some(forms.iter().find_map(|form| form()).unwrap_or_else(|| cut(&servers, budget)))
}

fn plain(deferred: &[&str], budget: usize) -> Option<String> {
    // Asked first, so that nothing long is written in vain.
    let size: usize = deferred.iter().map(|name| name.len() + 1).sum();
    let list = (size <= budget).then(|| deferred.join("\n"))?;
    fitting(format!("Tools that can be found, by name:\n{list}"), budget)
}

fn grouped(servers: &[Server<'_>], budget: usize) -> Option<String> {
    let size: usize = servers.iter().flat_map(|server| &server.tools).map(|tool| tool.len() + 2).sum();
    let line = |server: &Server<'_>| match server.name {
        Some(name) => format!("{name}: {}", server.tools.join(", ")),
        None => server.tools.join(", "),
    };
    let list = (size <= budget).then(|| servers.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    fitting(format!("Tools that can be found (`server: tool` is called mcp__server__tool):\n{list}"), budget)
}

fn counted(servers: &[Server<'_>], budget: usize) -> Option<String> {
    let list: Vec<String> = servers.iter().map(Server::counted).collect();
    fitting(format!("{}{}", head(servers), list.join(", ")), budget)
}

/// The largest servers, as many as fit.
fn cut(servers: &[Server<'_>], budget: usize) -> String {
    let mut by_size: Vec<&Server<'_>> = servers.iter().collect();
    by_size.sort_by_key(|server| usize::MAX - server.tools.len()); // stable
    let mut text = head(servers);
    let mut left = by_size.len();
    for server in by_size {
        let words = server.counted();
        if text.len() + words.len() + ROOM_FOR_THE_REST > budget {
            break;
        }
        let _ = write!(text, "{words}, "); // into a String, which cannot fail
        left -= 1;
    }
    let _ = write!(text, "and {left} more servers");
    text
}

fn head(servers: &[Server<'_>]) -> String {
    let count: usize = servers.iter().map(|server| server.tools.len()).sum();
    format!("{count} tools can be found, of these servers (with how many each has): ")
}

fn fitting(text: String, budget: usize) -> Option<String> {
    (text.len() <= budget).then_some(text)
}

/// A server and the tools of it that are deferred. Those without a server have a place of their own.
struct Server<'a> {
    name: Option<&'a str>,
    tools: Vec<&'a str>,
}

impl<'a> Server<'a> {
    /// Sorted names have the tools of a server next to each other.
    fn group(deferred: &[&'a str]) -> Vec<Server<'a>> {
        let mut servers: Vec<Server<'a>> = Vec::new();
        for name in deferred {
            let (server, tool) =
                names::split(name).map_or((None, *name), |(server, tool)| (Some(server), tool));
            match servers.last_mut() {
                Some(last) if last.name == server => last.tools.push(tool),
                _ => servers.push(Server { name: server, tools: vec![tool] }),
            }
        }
        servers
    }

    fn counted(&self) -> String {
        format!("{} ({})", self.name.unwrap_or("built-in"), self.tools.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] =
        ["Grep", "Stat", "mcp__github__create_issue", "mcp__github__fork", "mcp__jira__create_issue"];

    #[track_caller]
    fn check(budget: usize, expected: &str) {
        assert_eq!(listing(&NAMES, budget).unwrap_or_default(), expected, "{budget} bytes");
    }

    #[test]
    fn the_list_says_as_much_as_fits() {
        check(
            1_000,
            "Tools that can be found, by name:\nGrep\nStat\nmcp__github__create_issue\nmcp__github__fork\n\
             mcp__jira__create_issue",
        );
        check(
            110,
            "5 tools can be found, of these servers (with how many each has): built-in (2), github (2), jira (1)",
        );
        check(95, "5 tools can be found, of these servers (with how many each has): and 3 more servers");
        check(0, "");
        assert_eq!(listing(&[], 1_000), None);
    }

    #[test]
    fn many_tools_are_listed_by_server_and_many_servers_by_size() {
        let names: Vec<String> =
            (0..90).map(|n| format!("mcp__server{:02}__tool_number_{n:02}", n / (1 + n / 10))).collect();
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.sort_unstable();
        let first = |budget: usize| {
            let text = listing(&names, budget).expect("there is something to list");
            assert!(text.len() <= budget.max(120), "{budget}: {text}");
            text
        };
        assert!(
            first(4_000).starts_with("Tools that can be found, by name:\nmcp__server00__tool_number_00\n")
        );
        assert!(first(2_000).contains("\nserver00: tool_number_00\n"), "{}", first(2_000));
        assert!(first(600).contains("server00 (1), server01 (1), "), "{}", first(600));
        assert!(first(200).ends_with(" more servers"), "{}", first(200));
    }
}

//! What can be typed after a slash: one list for reading, completing and helping.

use haft_engine::policy::Mode;

use super::prompts;

/// Something to do that is no message to the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Slash {
    Help,
    Tools,
    /// Which mode, or the one that holds.
    Mode(Option<Mode>),
    Model(Option<String>),
    Compact,
    Undo,
    Tasks,
    Mcp,
    Explain {
        tool: String,
        input: String,
    },
    Export(Option<String>),
    /// A new conversation.
    Clear,
    /// Another conversation: its id, or its number in the list; the list if none is named.
    Resume(Option<String>),
    /// A server's prompt, and what was typed after it.
    Prompt {
        command: String,
        rest: String,
    },
    Quit,
}

/// A command as it is listed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    pub(super) name: &'static str,
    pub(super) arguments: &'static str,
    pub(super) about: &'static str,
}

const fn listed(name: &'static str, arguments: &'static str, about: &'static str) -> Listed {
    Listed { name, arguments, about }
}

pub(super) const LIST: [Listed; 13] = [
    listed("help", "", "keys and commands"),
    listed("tools", "", "what the model can call here"),
    listed("mode", "[MODE]", "how much is asked; Shift-Tab goes to the next"),
    listed("model", "[NAME]", "which model answers"),
    listed("compact", "", "make room: a summary in the place of what was said"),
    listed("undo", "", "take back the last change of files"),
    listed("tasks", "", "what goes on in the background"),
    listed("mcp", "", "the servers, and how they are"),
    listed("explain", "TOOL JSON", "what would be decided about a call, and why"),
    listed("export", "[FILE]", "write what was said to a file"),
    listed("clear", "", "begin a new conversation"),
    listed("resume", "[N|ID]", "go on with another conversation of this workspace; lists them"),
    listed("quit", "", "leave; Ctrl-D does it too"),
];

/// Whether a line is a command. `//` and paths are messages.
pub(super) fn is_slash(line: &str) -> bool {
    let word = line.strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    let is_plain = |word: &str| word.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    word.is_some_and(|word| word == "?" || is_plain(word) || word.starts_with(prompts::PREFIX))
}

/// What a line asks for, or what is wrong with it.
pub(super) fn parse(line: &str) -> Result<Slash, String> {
    let line = line.trim().trim_start_matches('/');
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let word = (!rest.is_empty()).then(|| rest.to_owned());
    let slash = match name {
        "help" | "?" => Slash::Help,
        "tools" => Slash::Tools,
        "mode" => Slash::Mode(word.as_deref().map(mode).transpose()?),
        "model" => return Ok(Slash::Model(word)),
        "compact" => Slash::Compact,
        "undo" => Slash::Undo,
        "tasks" => Slash::Tasks,
        "mcp" => Slash::Mcp,
        "explain" => return explain(rest),
        "export" => return Ok(Slash::Export(word)),
        "clear" | "new" => Slash::Clear,
        "resume" => return Ok(Slash::Resume(word)),
        "quit" | "exit" => Slash::Quit,
        _ if name.starts_with(prompts::PREFIX) => {
            return Ok(Slash::Prompt { command: name.to_owned(), rest: rest.to_owned() });
        }
        _ => return Err(unknown(name)),
    };
    match (&slash, word) {
        (Slash::Mode(_), _) | (_, None) => Ok(slash),
        (_, Some(word)) => Err(format!("/{name} takes nothing after it, and there is `{word}`")),
    }
}

fn mode(name: &str) -> Result<Mode, String> {
    name.parse().map_err(|unknown: haft_engine::policy::UnknownMode| unknown.to_string())
}

fn explain(rest: &str) -> Result<Slash, String> {
    let (tool, input) = rest.split_once(char::is_whitespace).unwrap_or((rest, "{}"));
    if tool.is_empty() {
        return Err("which call? `/explain TOOL JSON`, like `/explain Read {\"file_path\":\"x\"}`".to_owned());
    }
    Ok(Slash::Explain { tool: tool.to_owned(), input: input.trim().to_owned() })
}

fn unknown(name: &str) -> String {
    let begins =
        LIST.iter().find(|listed| name.chars().next().is_some_and(|first| listed.name.starts_with(first)));
    match begins {
        Some(near) => format!("there is no /{name}; did you mean /{}? /help lists them all", near.name),
        None => format!("there is no /{name}; /help lists what there is"),
    }
}

/// What a line that begins like a command can become, each with a word about it.
pub(super) fn candidates(line: &str) -> Vec<(String, &'static str)> {
    let Some(typed) = line.strip_prefix('/') else { return Vec::new() };
    if let Some(begun) = typed.strip_prefix("mode ") {
        let modes = Mode::ALL.iter().filter(|mode| mode.name().starts_with(begun) && mode.name() != begun);
        return modes.map(|mode| (format!("/mode {}", mode.name()), "")).collect();
    }
    let fits = |listed: &&Listed| listed.name.starts_with(typed) && !typed.contains(char::is_whitespace);
    let whole = |listed: &Listed| {
        let gap = if listed.arguments.is_empty() { "" } else { " " };
        (format!("/{}{gap}", listed.name), listed.about)
    };
    LIST.iter().filter(fits).map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Result<Slash, &str>) {
        assert_eq!(
            parse(line).as_ref().map_err(String::as_str),
            expected.as_ref().map_err(|err| *err),
            "{line}"
        );
    }

    #[test]
    fn commands_are_read() {
        check("/help", Ok(Slash::Help));
        check("/mode plan", Ok(Slash::Mode(Some(Mode::Plan))));
        check("/mode", Ok(Slash::Mode(None)));
        check("/model some model", Ok(Slash::Model(Some("some model".into()))));
        check("/exit", Ok(Slash::Quit));
        check("/clear", Ok(Slash::Clear));
        check("/resume 2", Ok(Slash::Resume(Some("2".into()))));
        check("/mcp__s__p.1 a b", Ok(Slash::Prompt { command: "mcp__s__p.1".into(), rest: "a b".into() }));
        check("/explain Stat", Ok(Slash::Explain { tool: "Stat".into(), input: "{}".into() }));
        check(
            "/explain Read {\"file_path\": \"a b\"}",
            Ok(Slash::Explain { tool: "Read".into(), input: "{\"file_path\": \"a b\"}".into() }),
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        check("/tols", Err("there is no /tols; did you mean /tools? /help lists them all"));
        check("/", Err("there is no /; /help lists what there is"));
        check("/undo 3", Err("/undo takes nothing after it, and there is `3`"));
        check(
            "/mode fast",
            Err("there is no mode `fast`; the modes are default, plan, accept-edits, auto, dont-ask, bypass"),
        );
        assert!(parse("/explain").unwrap_err().contains("/explain TOOL JSON"));
        assert!(parse("/日本").is_err());
    }

    #[test]
    fn paths_and_comments_are_messages() {
        assert!(is_slash("/mcp__s__p/1 x") && is_slash("/help") && is_slash("/mode plan") && is_slash("/?"));
        assert!(
            !is_slash("/etc/hosts has what?")
                && !is_slash("// why")
                && !is_slash("/")
                && !is_slash("a /help")
        );
    }

    #[test]
    fn what_is_begun_can_be_completed() {
        let words = |line: &str| candidates(line).into_iter().map(|(word, _)| word).collect::<Vec<_>>();
        assert_eq!(words("/mo"), ["/mode ", "/model "]);
        assert_eq!(words("/mode a"), ["/mode accept-edits", "/mode auto"]);
        assert_eq!(words("/").len(), LIST.len());
        assert!(words("hello").is_empty() && words("/help me").is_empty());
    }
}

//! Prompts of servers, typed after a slash: what they are called, what is typed after them, and the message that comes of it.

use haft_engine::Session;
use serde_json::{Map, Value};

use crate::{commands::prompt, draw::plain_line, servers::Servers, setup::Setup};

/// What such a command begins with.
pub(super) const PREFIX: &str = "mcp__";

/// A prompt as it can be typed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Prompt {
    /// `mcp__server__prompt`.
    pub(super) command: String,
    /// What it wants to know and what it is for.
    pub(super) about: String,
    server: String,
    name: String,
    arguments: Vec<Argument>,
}

#[derive(Debug, Clone, PartialEq)]
struct Argument {
    name: String,
    is_required: bool,
}

/// All that the servers have, as far as it is known.
pub(super) fn all(servers: &Servers) -> Vec<Prompt> {
    let of_one = |upstream: &std::sync::Arc<haft_mcp::upstream::Upstream>| {
        let (server, known) = (upstream.server().name.clone(), upstream.known());
        known.prompts.iter().map(|prompt| Prompt::new(&server, prompt)).collect::<Vec<_>>()
    };
    servers.upstreams.all().iter().flat_map(of_one).collect()
}

/// The message that a prompt is with what was typed after it, or what is wrong.
pub(super) async fn text(
    setup: &Setup,
    session: &Session,
    command: &str,
    rest: &str,
) -> Result<String, String> {
    let all = all(&setup.servers);
    let found = all.iter().find(|prompt| prompt.command == command).ok_or_else(|| unknown(&all, command))?;
    let given = found.read(rest)?;
    let gone = || format!("there is no server `{}` any more", found.server);
    let upstream = setup.servers.upstreams.get(&found.server).ok_or_else(gone)?;
    let answer = prompt::get(session, upstream, &found.name, given).await?;
    match prompt::words(&answer) {
        words if words.trim().is_empty() => Err(format!("/{command} says nothing")),
        words => Ok(words),
    }
}

fn unknown(all: &[Prompt], command: &str) -> String {
    match all {
        [] => format!("there is no /{command}: no server has prompts"),
        [first, ..] => format!(
            "there is no /{command}; the servers have {} prompts, /{} among them: Tab completes",
            all.len(),
            first.command
        ),
    }
}

impl Prompt {
    fn new(server: &str, prompt: &Map<String, Value>) -> Prompt {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let listed = prompt.get("arguments").and_then(Value::as_array);
        let argument = |argument: &Value| Argument {
            name: text(argument.get("name")),
            is_required: argument.get("required") == Some(&Value::Bool(true)),
        };
        let arguments: Vec<Argument> = listed.into_iter().flatten().map(argument).collect();
        let name = text(prompt.get("name"));
        let description = text(prompt.get("description"));
        let wanted = arguments.iter().map(Argument::shown);
        let first = description.lines().next().map(str::to_owned).filter(|line| !line.is_empty());
        Prompt {
            command: typed(&format!("{PREFIX}{server}__{name}")),
            about: plain_line(wanted.chain(first).collect::<Vec<_>>().join(" ")),
            server: server.to_owned(),
            name,
            arguments,
        }
    }

    /// What was typed: `key=value`, where a value goes on to the next key that the prompt knows; or values alone, a word
    /// each in their order, of which the last takes the rest.
    fn read(&self, rest: &str) -> Result<Map<String, Value>, String> {
        let given = match self.keys(rest).as_slice() {
            [] => self.in_order(rest)?,
            [(first, _), ..] if !rest[..*first].trim().is_empty() => {
                return Err(format!("`{}` stands before the first key", rest[..*first].trim()));
            }
            keys => self.by_key(rest, keys),
        };
        let is_missing = |argument: &&Argument| argument.is_required && !given.contains_key(&argument.name);
        match self.arguments.iter().find(is_missing) {
            Some(missing) => {
                Err(format!("/{} wants to know `{}`: {}", self.command, missing.name, self.usage()))
            }
            None => Ok(given),
        }
    }

    /// Where a key begins that the prompt knows, and which argument it is.
    fn keys(&self, rest: &str) -> Vec<(usize, &Argument)> {
        let begins = rest.char_indices().filter(|(at, c)| {
            !c.is_whitespace() && rest[..*at].chars().next_back().is_none_or(char::is_whitespace)
        });
        let key = |(at, _): (usize, char)| {
            let is_here = |argument: &&Argument| {
                rest[at..].strip_prefix(argument.name.as_str()).is_some_and(|rest| rest.starts_with('='))
            };
            self.arguments.iter().find(is_here).map(|argument| (at, argument))
        };
        begins.filter_map(key).collect()
    }

    fn by_key(&self, rest: &str, keys: &[(usize, &Argument)]) -> Map<String, Value> {
        let ends = keys.iter().skip(1).map(|(at, _)| *at).chain([rest.len()]);
        let pair = |((at, argument), end): (&(usize, &Argument), usize)| {
            let value = rest[at + argument.name.len() + 1..end].trim();
            (argument.name.clone(), value.into())
        };
        keys.iter().zip(ends).map(pair).collect()
    }

    fn in_order(&self, rest: &str) -> Result<Map<String, Value>, String> {
        let (mut rest, mut given) = (rest.trim(), Map::new());
        for (at, argument) in self.arguments.iter().enumerate() {
            if rest.is_empty() {
                break;
            }
            let is_last = at + 1 == self.arguments.len();
            let (word, more) = match rest.split_once(char::is_whitespace).filter(|_| !is_last) {
                Some((word, more)) => (word, more.trim_start()),
                None => (rest, ""),
            };
            given.insert(argument.name.clone(), word.into());
            rest = more;
        }
        if rest.is_empty() {
            return Ok(given);
        }
        Err(format!("/{} takes nothing after it, and there is `{rest}`", self.command))
    }

    fn usage(&self) -> String {
        let wanted: Vec<String> = self.arguments.iter().map(Argument::shown).collect();
        format!("/{} {}", self.command, wanted.join(" "))
    }
}

impl Argument {
    fn shown(&self) -> String {
        if self.is_required { format!("{}=…", self.name) } else { format!("[{}=…]", self.name) }
    }
}

/// A name as one word.
fn typed(name: &str) -> String {
    plain_line(name.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn review() -> Prompt {
        let prompt = json!({ "name": "pull review", "description": "Reviews it.\nWell.", "arguments": [{ "name": "number", "required": true }, { "name": "tone" }] });
        Prompt::new("github", prompt.as_object().expect("an object"))
    }

    #[track_caller]
    fn check(rest: &str, expected: Result<Value, &str>) {
        let given = review().read(rest).map(Value::from);
        match (&given, expected) {
            (Ok(given), Ok(expected)) => assert_eq!(*given, expected, "{rest}"),
            (Err(wrong), Err(expected)) => assert!(wrong.contains(expected), "{rest}: {wrong}"),
            _ => panic!("{rest}: {given:?}"),
        }
    }

    #[test]
    fn a_prompt_is_one_word_and_says_what_it_wants() {
        let prompt = review();
        assert_eq!(prompt.command, "mcp__github__pull_review");
        assert_eq!(prompt.about, "number=… [tone=…] Reviews it.");
        assert_eq!(Prompt::new("s", &Map::new()).command, "mcp__s__");
        let odd = json!({ "name": "a\u{1b}[2J b\u{202e}", "description": "x\u{1b}]0;y\u{7}" });
        let odd = Prompt::new("s", odd.as_object().expect("an object"));
        assert_eq!(odd.command, "mcp__s__a_[2J_b\\u{202e}");
        assert_eq!(odd.about, "x\\u{1b}]0;y\\u{7}", "nothing of it is a command to the terminal");
    }

    #[test]
    fn values_are_given_by_key_or_in_their_order() {
        check("number=12", Ok(json!({ "number": "12" })));
        check("tone=very kind number=12", Ok(json!({ "tone": "very kind", "number": "12" })));
        check("number=a=b  tone=", Ok(json!({ "number": "a=b", "tone": "" })));
        check("12", Ok(json!({ "number": "12" })));
        check("12 very kind", Ok(json!({ "number": "12", "tone": "very kind" })));
        check("other=12", Ok(json!({ "number": "other=12" })));
        check("é number=1", Err("`é` stands before the first key"));
        check("", Err("wants to know `number`: /mcp__github__pull_review number=… [tone=…]"));
        check("tone=kind", Err("wants to know `number`"));
    }

    #[test]
    fn what_wants_nothing_takes_nothing() {
        let bare = Prompt { command: "mcp__s__p".to_owned(), ..Prompt::default() };
        assert_eq!(bare.read(" "), Ok(Map::new()));
        assert_eq!(bare.read("x y").unwrap_err(), "/mcp__s__p takes nothing after it, and there is `x y`");
    }
}

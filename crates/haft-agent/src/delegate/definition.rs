//! An agent as a file describes it: front matter that says what it is for and what it may use, then its instructions.
//!
//! ```text
//! ---
//! name: reviewer
//! description: Reviews a change. Use it after every change of code.
//! tools: Read, Grep, Bash
//! ---
//! You review code. Say what is wrong, with file and line.
//! ```
//!
//! The format is one that other tools read, too: keys that are theirs are left alone, and a colon in a value without quotes,
//! which is no YAML and common, is taken as it stands. Where files come from, and whether they
//! are trusted, is somebody else's affair. A definition never widens what a session may: it takes tools away, and can ask to
//! read only.

use std::fmt;

use haft_tool::front_matter::{divided, is_name, mended, one_line};
use serde::{Deserialize, Deserializer, de::Error as _};

/// So much of the front matter is read.
const MOST_FRONT: usize = 16 * 1024;
/// So many characters of a description are kept.
const MOST_DESCRIBED: usize = 240;

/// A kind of agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// What the model calls it.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// The tools and toolsets that it has; all of its parent's if it is not given. See
    /// [`Filter`](haft_engine::pool::Filter).
    pub tools: Option<Vec<String>>,
    /// The tools that it does not have.
    pub without: Vec<String>,
    /// The model that is asked, as its API names it; the parent's if it is not given.
    pub model: Option<String>,
    /// How often its model may be asked.
    pub max_turns: Option<u32>,
    /// Whether it may only read, whatever its parent may.
    pub read_only: bool,
    /// What its model is told first, after haft's own words.
    pub system: String,
}

impl AgentDefinition {
    /// An agent that has what its parent has.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> AgentDefinition {
        AgentDefinition {
            name: name.into(),
            description: description.into(),
            tools: None,
            without: Vec::new(),
            model: None,
            max_turns: None,
            read_only: false,
            system: String::new(),
        }
    }

    /// Reads a definition. `file_name` is its name without the ending, which is the agent's where the file gives none.
    pub fn read(text: &str, file_name: &str) -> Result<AgentDefinition, DefinitionError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (front, system) = divided(text).map_err(|what| DefinitionError::at(1, what))?;
        if front.len() > MOST_FRONT {
            return Err(DefinitionError::at(1, format!("the front matter has more than {MOST_FRONT} bytes")));
        }
        let front: Front = serde_saphyr::from_str(front)
            .or_else(|err| serde_saphyr::from_str(&mended(front)).map_err(|_| DefinitionError::of(&err)))?;
        let line_of = |key: &str| line_of(text, key);
        let name = front.name.unwrap_or_else(|| file_name.to_owned());
        if !is_name(&name) {
            let what = format!(
                "`{}` is no name: letters, digits, `-`, `_`, `.` and `:`, at most 64",
                name.escape_debug()
            );
            return Err(DefinitionError::at(line_of("name"), what));
        }
        let description = one_line(&front.description.unwrap_or_default(), MOST_DESCRIBED);
        if description.is_empty() {
            let what = "there is no `description`, by which a model would know when to use it";
            return Err(DefinitionError::at(line_of("description"), what));
        }
        for (key, Names(names)) in [("tools", &front.tools), ("disallowedTools", &front.without)] {
            if let Some(name) = names.iter().flatten().find(|name| name.contains('(')) {
                let what = format!(
                    "`{name}` is a rule for calls, and tools are named here: write `Bash`, and a rule"
                );
                return Err(DefinitionError::at(line_of(key), what));
            }
        }
        let Names(tools) = front.tools;
        Ok(AgentDefinition {
            name,
            description,
            tools: tools.filter(|tools| !tools.iter().any(|tool| tool == "*")),
            without: front.without.0.unwrap_or_default(),
            model: front.model.filter(|model| !is_relative(model)),
            max_turns: front.max_turns.filter(|turns| *turns > 0),
            read_only: front.mode.as_deref() == Some("plan"),
            system: system.trim().to_owned(),
        })
    }
}

/// The agents that there are without any file.
pub(super) fn built_in() -> [AgentDefinition; 2] {
    let explore = AgentDefinition {
        read_only: true,
        ..AgentDefinition::new("explore", "Finds and reads, and changes nothing.")
    };
    [AgentDefinition::new("general", "Has the tools that you have."), explore]
}

/// What the front matter says. Other keys are for others.
#[derive(Deserialize)]
struct Front {
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    tools: Names,
    #[serde(default, rename = "disallowedTools", alias = "disallowed_tools")]
    without: Names,
    model: Option<String>,
    #[serde(rename = "maxTurns", alias = "max_turns")]
    max_turns: Option<u32>,
    #[serde(rename = "permissionMode", alias = "permission_mode", alias = "mode")]
    mode: Option<String>,
}

/// Names, as a list or on one line with commas between them.
#[derive(Default)]
struct Names(Option<Vec<String>>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Names, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Line(String),
            List(Vec<String>),
            Nothing(()),
        }
        let written = Written::deserialize(deserializer).map_err(|_| {
            D::Error::custom("tools are names: a list of them, or a line with commas between")
        })?;
        let trimmed = |name: &str| (!name.trim().is_empty()).then(|| name.trim().to_owned());
        Ok(Names(match written {
            Written::Line(line) => Some(line.split(',').filter_map(trimmed).collect()),
            Written::List(list) => Some(list.iter().filter_map(|name| trimmed(name)).collect()),
            Written::Nothing(()) => None,
        }))
    }
}

/// Names of a model that say only how large it is, or that it is the parent's: that depends on who reads them.
fn is_relative(model: &str) -> bool {
    ["", "inherit", "default", "sonnet", "opus", "haiku"].contains(&model.trim())
}

/// The line where a key of the front matter stands; the first, if it does not.
fn line_of(text: &str, key: &str) -> u64 {
    let is_it = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    text.lines().position(is_it).map_or(1, |place| place as u64 + 1)
}

/// What is wrong with a definition, and in which line of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionError {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong there.
    pub what: String,
}

impl DefinitionError {
    fn at(line: u64, what: impl Into<String>) -> DefinitionError {
        DefinitionError { line, what: what.into() }
    }

    /// The front matter begins in the second line of its file.
    fn of(err: &serde_saphyr::Error) -> DefinitionError {
        let line = err.location().map_or(1, |location| location.line().saturating_add(1));
        let said = err.without_snippet().to_string();
        let said = without_place(said.lines().next().unwrap_or_default());
        DefinitionError::at(line, format!("the front matter is no YAML of names and values: {said}"))
    }
}

/// What YAML says, without the place that it counts from its own beginning.
fn without_place(said: &str) -> &str {
    let place = [" at line ", "error: line ", "line "].iter().find_map(|words| said.find(words));
    match place {
        Some(0) => said.split_once(": ").map_or(said, |(_, what)| what),
        Some(at) => said[..at].trim_end_matches([':', ',']),
        None => said,
    }
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for DefinitionError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(front: &str) -> Result<AgentDefinition, String> {
        AgentDefinition::read(&format!("---\n{front}\n---\nDo it well.\n"), "file-name")
            .map_err(|err| err.to_string())
    }

    #[test]
    fn a_definition_is_front_matter_and_instructions() {
        let text = "---\nname: reviewer\ndescription: >\n  Reviews\n  changes.\ntools: Read, Grep\nmodel: small-1\n\
                    color: blue\nhooks: { Stop: [] }\n---\n\nYou review.\n";
        assert_eq!(
            AgentDefinition::read(text, "x").unwrap(),
            AgentDefinition {
                tools: Some(vec!["Read".to_owned(), "Grep".to_owned()]),
                model: Some("small-1".to_owned()),
                system: "You review.".to_owned(),
                ..AgentDefinition::new("reviewer", "Reviews changes.")
            }
        );
    }

    #[test]
    fn what_is_left_out_is_the_parents() {
        let definition = read("description: d").unwrap();
        assert_eq!(
            definition,
            AgentDefinition { system: "Do it well.".to_owned(), ..AgentDefinition::new("file-name", "d") }
        );
        for front in
            ["tools: '*'", "model: inherit", "model: haiku", "tools:", "permissionMode: bypassPermissions"]
        {
            assert_eq!(read(&format!("description: d\n{front}")).unwrap(), definition, "{front}");
        }
    }

    #[test]
    fn tools_are_a_list_or_a_line() {
        for tools in ["tools: [Read, 'mcp__a__*']", "tools: Read, mcp__a__*", "tools:\n- Read\n- mcp__a__*"] {
            let definition = read(&format!("description: d\n{tools}")).unwrap();
            assert_eq!(definition.tools.unwrap(), ["Read", "mcp__a__*"], "{tools}");
        }
        let definition =
            read("description: d\ndisallowedTools: Bash\nmaxTurns: 7\npermissionMode: plan").unwrap();
        assert_eq!(
            (definition.without, definition.max_turns, definition.read_only),
            (vec!["Bash".to_owned()], Some(7), true)
        );
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let err = AgentDefinition::read(text, "file-name").unwrap_err().to_string();
        assert!(err.starts_with(expected), "{err}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        refused("just text", "line 1: it does not begin with `---`");
        refused("---\nname: x\n", "line 1: its front matter has no end");
        refused("---\nname: x\n---\n", "line 1: there is no `description`");
        refused("---\ndescription: x\nname: ../x\n---\n", "line 3: `../x` is no name");
        refused(
            "---\ndescription: x\ntools: Bash(git:*)\n---\n",
            "line 3: `Bash(git:*)` is a rule for calls",
        );
        refused("---\ndescription: x\nmaxTurns: many\n---\n", "line 3: the front matter is no YAML");
        refused("---\ndescription: [x\n---\n", "line ");
        let text = "---\ndescription: x\nmaxTurns: many\n---\n";
        let told = AgentDefinition::read(text, "x").unwrap_err().to_string();
        assert_eq!(told.matches("line").count(), 1, "one line number: {told}");
    }

    #[test]
    fn a_colon_that_yaml_wants_in_quotes_is_taken_as_it_stands() {
        let described = |front: &str| read(front).map(|definition| definition.description);
        let plain = "name: r\ndescription: Use it when so. Examples: <example>Context: it's late</example>\ntools: Read, Grep\nmodel: inherit";
        let definition = read(plain).unwrap();
        assert_eq!((definition.name.as_str(), definition.tools.unwrap().len()), ("r", 2));
        assert_eq!(definition.description, "Use it when so. Examples: <example>Context: it's late</example>");
        let long = "description: Use it: so\n<example>\nContext: late\nuser: \"go\"\n</example>\ntools:\n- Read\n- Grep\nhooks: { Stop: [] }";
        assert_eq!(described(long).unwrap(), "Use it: so <example> Context: late user: \"go\" </example>");
        assert_eq!(read(long).unwrap().tools.unwrap(), ["Read", "Grep"]);
        assert!(described("description: a: b\nmaxTurns: many").is_err(), "what else is wrong stays wrong");
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "(---\n)?[a-z&*!:\\[\\]{}>|'\"# \n-]{0,80}(\n---\n)?[a-z]{0,4}") {
            let _ = AgentDefinition::read(&text, "x");
        }
    }
}

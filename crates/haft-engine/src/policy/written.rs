//! Rules as people write them: their texts, the layer that each stands in, and where it was written.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::pool::is_like;

/// The texts of the rules, by what they say of the calls that they cover.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// What runs unasked.
    pub allow: Vec<Written>,
    /// What is always asked.
    pub ask: Vec<Written>,
    /// What never runs.
    pub deny: Vec<Written>,
}

impl Rules {
    /// Rules that let these run unasked.
    pub fn allowing<T: Into<String>>(texts: impl IntoIterator<Item = T>, origin: Origin) -> Rules {
        Rules { allow: Written::all(texts, origin), ..Rules::default() }
    }

    /// Rules that never let these run.
    pub fn denying<T: Into<String>>(texts: impl IntoIterator<Item = T>, origin: Origin) -> Rules {
        Rules { deny: Written::all(texts, origin), ..Rules::default() }
    }

    /// These rules and those.
    #[must_use]
    pub fn and(mut self, other: Rules) -> Rules {
        self.allow.extend(other.allow);
        self.ask.extend(other.ask);
        self.deny.extend(other.deny);
        self
    }

    /// Those of them that hold under these circumstances.
    #[must_use]
    pub fn holding(mut self, now: &Circumstances<'_>) -> Rules {
        for list in [&mut self.allow, &mut self.ask, &mut self.deny] {
            list.retain(|rule| rule.holds(now));
        }
        self
    }
}

/// What is known of a session when it begins: which layers speak, and to whom.
#[derive(Debug, Clone, Copy, Default)]
pub struct Circumstances<'a> {
    /// The model that makes the calls, as its API names it.
    pub model: Option<&'a str>,
    /// Whether processes are confined.
    pub confined: bool,
    /// The agent that the model plays.
    pub agent: Option<&'a str>,
    /// The roles of the caller.
    pub roles: &'a [String],
}

/// A rule as it is written, with all that was written beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its text: `Read(src/**)`.
    pub text: String,
    /// Where it was written.
    pub origin: Origin,
    /// The layer that it stands in.
    pub layer: Layer,
    /// Whether it is an administrator's: what it asks, no other layer permits.
    pub firm: bool,
    /// Why it is there. The model reads it on refusal, the person when asked.
    pub reason: Option<String>,
    /// The roles that it is for; all if there are none.
    pub for_roles: Vec<String>,
    /// The roles that it is not for: `Bash` denied except to the owner.
    pub except_roles: Vec<String>,
    /// What it must cover. Checked when rules are compiled.
    pub matches: Vec<String>,
    /// What it must not cover.
    pub not_matches: Vec<String>,
}

impl Written {
    /// A rule without a word beside it, for everybody, in the layer that all calls meet last.
    pub fn new(text: impl Into<String>, origin: Origin) -> Written {
        Written {
            text: text.into(),
            origin,
            layer: Layer::Global,
            firm: false,
            reason: None,
            for_roles: Vec::new(),
            except_roles: Vec::new(),
            matches: Vec::new(),
            not_matches: Vec::new(),
        }
    }

    /// Several of one origin.
    pub fn all<T: Into<String>>(texts: impl IntoIterator<Item = T>, origin: Origin) -> Vec<Written> {
        texts.into_iter().map(|text| Written::new(text, origin.clone())).collect()
    }

    /// The same rule in a layer.
    #[must_use]
    pub fn in_layer(self, layer: Layer) -> Written {
        Written { layer, ..self }
    }

    fn holds(&self, now: &Circumstances<'_>) -> bool {
        let has = |roles: &[String]| now.roles.iter().any(|role| roles.contains(role));
        let in_layer = match &self.layer {
            Layer::Model(pattern) => now.model.is_some_and(|model| is_like(model, pattern)),
            Layer::Sandbox => now.confined,
            Layer::Agent(name) => now.agent == Some(name),
            Layer::Group(role) => now.roles.contains(role),
            Layer::Global => true,
        };
        in_layer && (self.for_roles.is_empty() || has(&self.for_roles)) && !has(&self.except_roles)
    }
}

/// The text of a rule for a path and all below it: `Read(//srv/data)`.
pub fn path_rule(tool: &str, path: &Path) -> String {
    let mut rule = format!("{tool}(/");
    for char in path.to_string_lossy().chars() {
        if !char.is_alphanumeric() && char != '/' {
            rule.push('\\');
        }
        rule.push(char);
    }
    rule + ")"
}

/// Whose rules these are. A deny holds in every layer; of the others, the first layer with an answer decides.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// For models whose names are like this: `claude-*`.
    Model(String),
    /// For sessions whose processes are confined.
    Sandbox,
    /// For an agent of this name.
    Agent(String),
    /// For callers with this role.
    Group(String),
    /// For all.
    #[default]
    Global,
}

impl Layer {
    /// The names of the layers, in the order in which they are asked. Before them come the deny lists of all.
    pub const NAMES: [&'static str; 5] = ["model", "sandbox", "agent", "group", "global"];

    /// Its place in that order.
    pub fn rank(&self) -> u8 {
        match self {
            Layer::Model(_) => 0,
            Layer::Sandbox => 1,
            Layer::Agent(_) => 2,
            Layer::Group(_) => 3,
            Layer::Global => 4,
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Layer::NAMES[usize::from(self.rank())])?;
        match self {
            Layer::Model(name) | Layer::Agent(name) | Layer::Group(name) => write!(f, " {name}"),
            Layer::Sandbox | Layer::Global => Ok(()),
        }
    }
}

/// Where a rule was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// On the command line.
    Flag,
    /// In a file.
    File {
        /// Which.
        path: PathBuf,
        /// The line, from 1.
        line: u32,
    },
    /// By a person, for all machines that share a store.
    Store,
    /// By the program that embeds haft, or a person, for this session.
    Session,
    /// By haft itself: what it has kept for a session may be read there.
    Haft,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag => f.write_str("command line"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Store => f.write_str("the shared store"),
            Origin::Session => f.write_str("this session"),
            Origin::Haft => f.write_str("haft itself"),
        }
    }
}

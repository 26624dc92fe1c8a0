//! What the settings files say.
//!
//! The user's `haft.toml` and the one that `--config` names, in this order: of two values the later wins, rules add up.
//! Every rule keeps the file and line that it was written in, so that a decision can name it. A key that does not exist
//! is an error: a misspelt `deny` must not pass for none.

use std::{
    collections::BTreeMap,
    fmt::Display,
    fs,
    io::ErrorKind,
    num::NonZeroUsize,
    ops::Range,
    path::{Path, PathBuf},
};

use haft_engine::policy::{Mode, Origin, Rules, Written};
use haft_schema::nearest;
use serde::Deserialize;
use toml::{Spanned, de::DeTable};

use crate::{
    exit::usage,
    hooks::{self, WrittenHooks},
    place,
};

/// What was set. What was not is left to the engine.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) mode: Option<Mode>,
    pub(crate) rules: Rules,
    pub(crate) limits: Limits,
    pub(crate) defer_above: Option<usize>,
    pub(crate) toolsets: BTreeMap<String, Vec<String>>,
    /// Whether replies of Read say that what a file holds is data.
    pub(crate) data_reminder: Option<bool>,
    pub(crate) sandbox: Sandbox,
    pub(crate) bash: Bash,
    pub(crate) hooks: haft_hooks::Config,
    pub(crate) secrets: Secrets,
}

/// What `[secrets]` says of what must not be shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Secrets {
    /// Whether secrets are taken out of what models and people see.
    pub(crate) redact: Option<bool>,
    /// The tools whose results stay as they are.
    pub(crate) off_for: Vec<String>,
    /// More names of variables that hold secrets.
    pub(crate) names: Vec<String>,
    /// Variables whose values are hidden, whatever they look like.
    pub(crate) values_from: Vec<String>,
}

/// What `[sandbox]` says of processes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sandbox {
    pub(crate) enabled: Option<bool>,
    pub(crate) required: Option<bool>,
    /// What they may write besides the workspace.
    pub(crate) write: Vec<PathBuf>,
    /// What they may not read, besides what rules deny.
    pub(crate) deny_read: Vec<PathBuf>,
    /// The hosts that they may always contact.
    pub(crate) hosts: Vec<String>,
}

/// The figures of `[bash]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Bash {
    /// Seconds that a command may take that says nothing else.
    pub(crate) timeout_s: Option<NonZeroUsize>,
    /// Seconds after which a command goes on in the background.
    pub(crate) background_after_s: Option<NonZeroUsize>,
    /// Bytes that a command may write.
    pub(crate) most_output_bytes: Option<NonZeroUsize>,
}

/// The figures of `[limits]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Limits {
    /// Calls of a turn that run at once.
    pub(crate) parallel: Option<NonZeroUsize>,
    /// Seconds that a call may take.
    pub(crate) timeout_s: Option<NonZeroUsize>,
    /// Bytes of one result.
    pub(crate) result_bytes: Option<NonZeroUsize>,
    /// Bytes of all results of a turn.
    pub(crate) turn_bytes: Option<NonZeroUsize>,
    /// Bytes that are shown of what is cut.
    pub(crate) preview_bytes: Option<NonZeroUsize>,
}

/// The keys that there are, by table. What is below `tools.toolsets` the user names; `hooks` knows its own.
const KEYS: [(&str, &[&str]); 8] = [
    ("", &["mode", "permissions", "limits", "tools", "read", "bash", "sandbox", "secrets", "hooks"]),
    ("permissions", &["allow", "ask", "deny"]),
    ("limits", &["parallel", "timeout_s", "result_bytes", "turn_bytes", "preview_bytes"]),
    ("tools", &["defer_above", "toolsets"]),
    ("read", &["data_reminder"]),
    ("bash", &["timeout_s", "background_after_s", "most_output_bytes"]),
    ("sandbox", &["enabled", "required", "write", "deny_read", "hosts"]),
    ("secrets", &["redact", "off_for", "names", "values_from"]),
];

/// A file as it is written.
#[derive(Deserialize, Default)]
#[serde(default)]
struct InFile {
    mode: Option<Spanned<String>>,
    permissions: Permissions,
    limits: Limits,
    tools: Tools,
    read: Read,
    bash: Bash,
    sandbox: WrittenSandbox,
    hooks: WrittenHooks,
    secrets: Secrets,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WrittenSandbox {
    enabled: Option<bool>,
    required: Option<bool>,
    write: Vec<Spanned<String>>,
    deny_read: Vec<Spanned<String>>,
    hosts: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Read {
    data_reminder: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Permissions {
    allow: Vec<Spanned<String>>,
    ask: Vec<Spanned<String>>,
    deny: Vec<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tools {
    defer_above: Option<usize>,
    toolsets: BTreeMap<String, Vec<String>>,
}

impl Settings {
    /// The user's settings, and those of a file if one is given.
    pub(crate) fn read(config: Option<&Path>) -> anyhow::Result<Settings> {
        let mut settings = Settings::default();
        if let Some(path) = place::user_settings() {
            match fs::read_to_string(&path) {
                Ok(text) => settings = Settings::parse(&path, &text)?,
                Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(err) => return Err(unreadable(&path, err)),
            }
        }
        if let Some(path) = config {
            let text = fs::read_to_string(path).map_err(|err| unreadable(path, err))?;
            settings = settings.and(Settings::parse(path, &text)?);
        }
        Ok(settings)
    }

    fn and(self, later: Settings) -> Settings {
        let mut toolsets = self.toolsets;
        toolsets.extend(later.toolsets);
        Settings {
            mode: later.mode.or(self.mode),
            rules: self.rules.and(later.rules),
            limits: self.limits.and(later.limits),
            defer_above: later.defer_above.or(self.defer_above),
            toolsets,
            data_reminder: later.data_reminder.or(self.data_reminder),
            sandbox: self.sandbox.and(later.sandbox),
            bash: self.bash.and(later.bash),
            hooks: self.hooks.and(later.hooks),
            secrets: self.secrets.and(later.secrets),
        }
    }

    fn parse(path: &Path, text: &str) -> anyhow::Result<Settings> {
        let file = File { path, text };
        let table = DeTable::parse(text).map_err(|err| file.refuse(&err))?;
        file.check_keys("", table.get_ref())?;
        let written: InFile = toml::from_str(text).map_err(|err| file.refuse(&err))?;
        let mode = written.mode.map(|mode| file.mode(mode)).transpose()?;
        let Permissions { allow, ask, deny } = written.permissions;
        let sandbox = file.sandbox(written.sandbox)?;
        let hooks = hooks::read(written.hooks).map_err(|(span, what)| file.wrong(span, what))?;
        Ok(Settings {
            mode,
            rules: Rules { allow: file.rules(allow), ask: file.rules(ask), deny: file.rules(deny) },
            limits: written.limits,
            defer_above: written.tools.defer_above,
            toolsets: written.tools.toolsets,
            data_reminder: written.read.data_reminder,
            sandbox,
            bash: written.bash,
            hooks,
            secrets: written.secrets,
        })
    }
}

impl Limits {
    fn and(self, later: Limits) -> Limits {
        Limits {
            parallel: later.parallel.or(self.parallel),
            timeout_s: later.timeout_s.or(self.timeout_s),
            result_bytes: later.result_bytes.or(self.result_bytes),
            turn_bytes: later.turn_bytes.or(self.turn_bytes),
            preview_bytes: later.preview_bytes.or(self.preview_bytes),
        }
    }
}

impl Sandbox {
    fn and(mut self, mut later: Sandbox) -> Sandbox {
        self.write.append(&mut later.write);
        self.deny_read.append(&mut later.deny_read);
        self.hosts.append(&mut later.hosts);
        Sandbox {
            enabled: later.enabled.or(self.enabled),
            required: later.required.or(self.required),
            ..self
        }
    }
}

impl Secrets {
    fn and(mut self, mut later: Secrets) -> Secrets {
        self.off_for.append(&mut later.off_for);
        self.names.append(&mut later.names);
        self.values_from.append(&mut later.values_from);
        Secrets { redact: later.redact.or(self.redact), ..self }
    }
}

impl Bash {
    fn and(self, later: Bash) -> Bash {
        Bash {
            timeout_s: later.timeout_s.or(self.timeout_s),
            background_after_s: later.background_after_s.or(self.background_after_s),
            most_output_bytes: later.most_output_bytes.or(self.most_output_bytes),
        }
    }
}

fn unreadable(path: &Path, err: impl Display) -> anyhow::Error {
    usage(format!("{}: the settings cannot be read: {err}", path.display()))
}

/// A settings file while it is read.
#[derive(Clone, Copy)]
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    fn check_keys(self, name: &str, table: &DeTable<'_>) -> anyhow::Result<()> {
        let Some((_, known)) = KEYS.iter().find(|(table, _)| *table == name) else { return Ok(()) };
        for (key, value) in table {
            let word: &str = key.get_ref();
            if !known.contains(&word) {
                let at = if name.is_empty() { String::new() } else { format!(" in [{name}]") };
                let advice = match nearest(word, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}", known.join(", ")),
                };
                return Err(self.wrong(key.span(), format!("there is no setting `{word}`{at}; {advice}")));
            }
            if let (true, Some(inner)) = (name.is_empty(), value.get_ref().as_table()) {
                self.check_keys(word, inner)?;
            }
        }
        Ok(())
    }

    fn mode(self, written: Spanned<String>) -> anyhow::Result<Mode> {
        written.get_ref().parse().map_err(|err| self.wrong(written.span(), err))
    }

    fn rules(self, written: Vec<Spanned<String>>) -> Vec<Written> {
        let rule = |rule: Spanned<String>| {
            let origin = Origin::File { path: self.path.to_owned(), line: self.line(rule.span().start) };
            Written::new(rule.into_inner(), origin)
        };
        written.into_iter().map(rule).collect()
    }

    fn sandbox(self, written: WrittenSandbox) -> anyhow::Result<Sandbox> {
        let paths = |paths: Vec<Spanned<String>>| -> anyhow::Result<Vec<PathBuf>> {
            paths.into_iter().map(|path| self.place(path)).collect()
        };
        Ok(Sandbox {
            enabled: written.enabled,
            required: written.required,
            write: paths(written.write)?,
            deny_read: paths(written.deny_read)?,
            hosts: written.hosts,
        })
    }

    /// A path that means the same wherever haft is started.
    fn place(self, written: Spanned<String>) -> anyhow::Result<PathBuf> {
        let path = Path::new(written.get_ref());
        let below_home = path.strip_prefix("~").ok();
        let placed = match (below_home, place::home()) {
            (Some(below), Some(home)) => home.join(below),
            _ => path.to_owned(),
        };
        if placed.is_absolute() {
            return Ok(placed);
        }
        let what = format!("`{}` is not absolute; begin it with `/` or `~/`", written.get_ref());
        Err(self.wrong(written.span(), what))
    }

    fn refuse(self, err: &toml::de::Error) -> anyhow::Error {
        // Its first line is what is wrong; the rest would be the place, which we tell our own way.
        let what = err.message().lines().next().unwrap_or_default();
        self.wrong(err.span().unwrap_or(0..0), what)
    }

    fn wrong(self, span: Range<usize>, what: impl Display) -> anyhow::Error {
        usage(format!("{}:{}: {what}", self.path.display(), self.line(span.start)))
    }

    /// The line of a place in the text, from 1.
    fn line(self, at: usize) -> u32 {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let ends = before.iter().filter(|byte| **byte == b'\n').count();
        u32::try_from(ends).unwrap_or(u32::MAX - 1) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<Settings> {
        Settings::parse(Path::new("haft.toml"), text)
    }

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        assert_eq!(parse(text).expect_err(text).to_string(), expected);
    }

    #[test]
    fn everything_can_be_set() {
        let settings = parse(
            r#"
            mode = "plan"
            [permissions]
            allow = ["Read(//etc/hosts)"]
            deny = [
                "Read(**/.env)",
                "Bash",
            ]
            [limits]
            parallel = 4
            preview_bytes = 1024
            [tools]
            defer_above = 0
            toolsets = { planning = ["readonly", "!Stat"] }
            [read]
            data_reminder = true
            [bash]
            background_after_s = 30
            [sandbox]
            required = true
            write = ["/var/cache"]
            hosts = ["docs.rs"]
            "#,
        )
        .unwrap();
        assert_eq!(settings.mode, Some(Mode::Plan));
        assert_eq!(settings.limits.parallel.map(NonZeroUsize::get), Some(4));
        assert_eq!((settings.defer_above, settings.toolsets["planning"].len()), (Some(0), 2));
        assert_eq!(settings.data_reminder, Some(true));
        assert_eq!(settings.bash.background_after_s.map(NonZeroUsize::get), Some(30));
        assert_eq!((settings.sandbox.enabled, settings.sandbox.required), (None, Some(true)));
        assert_eq!((settings.sandbox.write, settings.sandbox.hosts.len()), (vec!["/var/cache".into()], 1));
        let origins: Vec<String> = settings.rules.deny.iter().map(|rule| rule.origin.to_string()).collect();
        assert_eq!(origins, ["haft.toml:6", "haft.toml:7"]);
    }

    #[test]
    fn the_later_file_wins_and_rules_add_up() {
        let first = parse("mode = \"plan\"\npermissions.deny = [\"A\"]\nlimits.parallel = 2").unwrap();
        let both = first.and(parse("permissions.deny = [\"B\"]\nlimits.parallel = 3").unwrap());
        assert_eq!((both.mode, both.rules.deny.len()), (Some(Mode::Plan), 2));
        assert_eq!(both.limits.parallel.map(NonZeroUsize::get), Some(3));
    }

    #[test]
    fn mistakes_say_where_they_are_and_what_would_be_right() {
        check_error("\nmdoe = \"plan\"", "haft.toml:2: there is no setting `mdoe`; did you mean `mode`?");
        check_error(
            "[permissions]\nallow = []\ndenny = []",
            "haft.toml:3: there is no setting `denny` in [permissions]; did you mean `deny`?",
        );
        check_error(
            "[zzz]",
            "haft.toml:1: there is no setting `zzz`; there are mode, permissions, limits, tools, read, bash, sandbox, secrets, hooks",
        );
        check_error(
            "mode = \"yolo\"",
            "haft.toml:1: there is no mode `yolo`; the modes are default, plan, accept-edits, auto, dont-ask, bypass",
        );
        check_error(
            "[limits]\nparallel = 0",
            "haft.toml:2: invalid value: integer `0`, expected a nonzero usize",
        );
        check_error(
            "[permissions]\ndeny = \"Bash\"",
            "haft.toml:2: invalid type: string \"Bash\", expected a sequence",
        );
        check_error(
            "[sandbox]\ndeny_read = [\"secrets\"]",
            "haft.toml:2: `secrets` is not absolute; begin it with `/` or `~/`",
        );
        check_error(
            "mode = \"plan\"\n[[hooks.PreToolUse]]\nmatchr = \"Bash\"\ncommand = \"x\"",
            "haft.toml:2: hooks.PreToolUse[0]: there is no setting `matchr`; did you mean `matcher`?",
        );
        assert!(parse("mode = ").unwrap_err().to_string().starts_with("haft.toml:1: "));
    }
}

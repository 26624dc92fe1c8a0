//! Settings that were written for another tool, said in ours: `.claude/settings.json` and `settings.local.json`.
//!
//! The outcome is a text for a person to read, and to trust like any other. What cannot be said exactly is remarked, never
//! dropped in silence: an allow may become narrower, a deny or an ask wider, and where not even that is possible for a
//! deny or an ask, the import is not whole and nothing is written.

mod convert; // one rule
mod toml; //    values as TOML

use std::{
    fmt,
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
};

use haft_engine::policy::Mode;
use haft_hooks::Config;
use serde_json::{Map, Value, json};

use super::gather::read_below;
use crate::{
    exit::usage,
    settings::{Document, Settings},
};
use convert::{Converted, List, convert};

/// The files, in the order in which they are heard.
const FILES: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// What was made of them.
#[derive(Debug, Default)]
pub(crate) struct Imported {
    /// The haft.toml that says the same.
    pub(crate) text: String,
    /// Where it does not say quite the same.
    pub(crate) remarks: Vec<Remark>,
}

/// Something that could not be said exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    /// In which file.
    at: &'static str,
    what: String,
    /// Whether the outcome would permit more for it.
    is_loss: bool,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

impl Imported {
    /// Whether nothing that forbids was lost.
    pub(crate) fn is_whole(&self) -> bool {
        !self.remarks.iter().any(|remark| remark.is_loss)
    }

    /// Writes it where there is none yet.
    pub(crate) fn write(&self, workspace: &Path) -> anyhow::Result<PathBuf> {
        if !self.is_whole() {
            return Err(usage(
                "nothing is written: a rule that forbids could not be said; write it by hand, from what is printed without --write",
            ));
        }
        let path = workspace.join("haft.toml");
        let wrong = |err: std::io::Error| {
            usage(format!("{}: {err}; import without --write prints it", path.display()))
        };
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(wrong)?;
        file.write_all(self.text.as_bytes()).map_err(wrong)?;
        Ok(path)
    }
}

/// Reads the files of a workspace and says what they say.
pub(crate) fn import(workspace: &Path) -> anyhow::Result<Imported> {
    let wrong = |file: &str, what: String| usage(format!("{}: {what}", workspace.join(file).display()));
    let mut roots: Vec<(&'static str, Map<String, Value>)> = Vec::new();
    for file in FILES {
        let Some(bytes) = read_below(workspace, file).map_err(usage)? else { continue };
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(root)) => roots.push((file, root)),
            Ok(_) => return Err(wrong(file, "it is no JSON object".to_owned())),
            Err(err) => return Err(wrong(file, err.to_string())),
        }
    }
    if roots.is_empty() {
        return Err(usage(format!("there is no {} in {}", FILES[0], workspace.display())));
    }
    let mut gathered = Gathered { hooks_off: hooks_off(&roots), ..Gathered::default() };
    for (file, root) in &roots {
        gathered.take(file, root).map_err(|what| wrong(file, what))?;
    }
    let imported = Imported { text: gathered.text(), remarks: gathered.remarks };
    // What would be refused as settings must not pass for a translation.
    Settings::of_workspace(&[Document { path: "haft.toml".into(), text: imported.text.clone() }])?;
    Ok(imported)
}

/// The file that switches off the hooks of both, if one does: the last that says something about it.
fn hooks_off(roots: &[(&'static str, Map<String, Value>)]) -> Option<&'static str> {
    let says = |(file, root): &(&'static str, Map<String, Value>)| {
        Some((*file, root.get("disableAllHooks")?.as_bool()?))
    };
    roots.iter().rev().find_map(says).and_then(|(file, is_off)| is_off.then_some(file))
}

#[derive(Default)]
struct Gathered {
    /// The file that switches all hooks off.
    hooks_off: Option<&'static str>,
    mode: Option<Mode>,
    forbids_bypass: bool,
    rules: Vec<(List, String)>,
    hooks: Map<String, Value>,
    remarks: Vec<Remark>,
}

impl Gathered {
    fn take(&mut self, at: &'static str, root: &Map<String, Value>) -> Result<(), String> {
        for (key, value) in root {
            match key.as_str() {
                "$schema" => {}
                "permissions" => {
                    self.permissions(at, value.as_object().ok_or("`permissions` is an object")?)?
                }
                "hooks" => match self.hooks_off {
                    Some(by) => {
                        let what =
                            format!("`hooks` are left out: `disableAllHooks` in {by} switches them off");
                        self.remark(at, what);
                    }
                    None => self.hooks(at, value.as_object().ok_or("`hooks` is an object")?),
                },
                "disableAllHooks" => {}
                other => self.remark(at, format!("`{other}` has no counterpart here and is left out")),
            }
        }
        Ok(())
    }

    fn permissions(&mut self, at: &'static str, permissions: &Map<String, Value>) -> Result<(), String> {
        for (key, value) in permissions {
            match key.as_str() {
                "allow" => self.rules(at, List::Allow, value)?,
                "ask" => self.rules(at, List::Ask, value)?,
                "deny" => self.rules(at, List::Deny, value)?,
                "defaultMode" => self.default_mode(at, value),
                "disableBypassPermissionsMode" => self.forbids_bypass |= value == "disable",
                "additionalDirectories" => {
                    self.remark(at, format!("`additionalDirectories` {value} is left out: a workspace does not widen itself; allow them in your own settings, as `Read(//dir/**)`"));
                }
                other => {
                    self.remark(at, format!("`permissions.{other}` has no counterpart here and is left out"))
                }
            }
        }
        Ok(())
    }

    fn rules(&mut self, at: &'static str, list: List, value: &Value) -> Result<(), String> {
        let wrong = || format!("`permissions.{}` is a list of texts", list.word());
        for rule in value.as_array().ok_or_else(wrong)? {
            let rule = rule.as_str().ok_or_else(wrong)?;
            match convert(list, rule) {
                Converted::Same(same) => self.rules.push((list, same)),
                Converted::Near(near, why) => {
                    let word = if near == rule { "stays" } else { "becomes" };
                    self.remark(at, format!("{} rule `{rule}` {word} `{near}`: {why}", list.word()));
                    self.rules.push((list, near));
                }
                Converted::Not(why) => {
                    let what = format!("{} rule `{rule}` cannot be said here: {why}", list.word());
                    self.remarks.push(Remark { at, what, is_loss: list != List::Allow });
                }
            }
        }
        Ok(())
    }

    fn default_mode(&mut self, at: &'static str, value: &Value) {
        self.mode = match value.as_str() {
            Some("default") => Some(Mode::Default),
            Some("plan") => Some(Mode::Plan),
            Some("dontAsk") => Some(Mode::DontAsk),
            _ => {
                self.remark(at, format!("`defaultMode` {value} is left out: of a workspace only default, plan and dont-ask count"));
                self.mode
            }
        };
    }

    /// Hooks of both files run. What cannot run here is left out alone.
    fn hooks(&mut self, at: &'static str, hooks: &Map<String, Value>) {
        for (event, groups) in hooks {
            let place = format!("hooks.{event}");
            // The event by itself, or a list that is none; what is in the list is looked at one by one.
            let outside = if groups.is_array() { &json!([]) } else { groups };
            if let Some(why) = unusable(event, outside) {
                self.leave_out(at, &place, &why);
                continue;
            }
            for (nth, group) in groups.as_array().into_iter().flatten().enumerate() {
                if let Some(group) = self.group(at, event, &format!("{place}[{nth}]"), group.clone()) {
                    let known = self.hooks.entry(event.as_str()).or_insert_with(|| json!([]));
                    known.as_array_mut().into_iter().for_each(|known| known.push(group.clone()));
                }
            }
        }
    }

    /// A group without the hooks that cannot run; `None` if nothing is left of it.
    fn group(&mut self, at: &'static str, event: &str, place: &str, mut group: Value) -> Option<Value> {
        if let Some(hooks) = group.get_mut("hooks").and_then(Value::as_array_mut) {
            for (nth, hook) in std::mem::take(hooks).into_iter().enumerate() {
                match unusable(event, &json!([{ "hooks": [hook] }])) {
                    None => hooks.push(hook),
                    Some(why) => self.leave_out(at, &format!("{place}.hooks[{nth}]"), &why),
                }
            }
            if hooks.is_empty() {
                return None;
            }
        }
        let why = unusable(event, &json!([group]));
        why.iter().for_each(|why| self.leave_out(at, place, why));
        why.is_none().then_some(group)
    }

    fn leave_out(&mut self, at: &'static str, place: &str, why: &str) {
        self.remark(at, format!("`{place}` is left out: {why}"));
    }

    fn remark(&mut self, at: &'static str, what: impl Into<String>) {
        self.remarks.push(Remark { at, what: what.into(), is_loss: false });
    }

    fn text(&self) -> String {
        let mode = self.mode.map(|mode| format!("mode = {}\n", toml::text(mode.name()))).unwrap_or_default();
        let forbids = if self.forbids_bypass { "forbid_modes = [\"bypass\"]\n" } else { "" };
        let lists: String = [List::Allow, List::Ask, List::Deny].map(|list| self.list(list)).concat();
        let hook =
            |(event, groups): (&String, &Value)| format!("{} = {}\n", toml::key(event), toml::value(groups));
        let hooks: String = self.hooks.iter().map(hook).collect();
        let table = |name: &str, lines: String| match lines.as_str() {
            "" => String::new(),
            lines => format!("\n[{name}]\n{lines}"),
        };
        format!("{mode}{forbids}{}{}", table("permissions", lists), table("hooks", hooks))
            .trim_start()
            .to_owned()
    }

    fn list(&self, list: List) -> String {
        let rules = self.rules.iter().filter(|(of, _)| *of == list);
        let rules: Vec<&str> = rules.map(|(_, rule)| rule.as_str()).collect();
        if rules.is_empty() { String::new() } else { toml::list(list.word(), &rules) }
    }
}

/// Why these groups of an event cannot be used; without the place, which is another than in the file.
fn unusable(event: &str, groups: &Value) -> Option<String> {
    let problem = Config::read(&json!({ event: groups })).1.into_iter().next()?;
    Some(problem.message.split_once(": ").map_or(problem.message.as_str(), |(_, what)| what).to_owned())
}

#[cfg(test)]
mod tests {
    use haft_testkit::Workspace;

    use super::*;

    fn imported(files: &str) -> Imported {
        import(Workspace::new(files).root()).unwrap()
    }

    #[test]
    fn permissions_and_hooks_of_both_files_become_settings() {
        let made = imported(
            r#"-- .claude/settings.json
{ "permissions": { "allow": ["Bash(npm run test:*)", "Bash(git diff *)"], "deny": ["Read(.env)"], "defaultMode": "plan",
  "disableBypassPermissionsMode": "disable" },
  "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "check \"it\"", "timeout": 5 }] }] } }
-- .claude/settings.local.json
{ "permissions": { "ask": ["WebFetch(domain:docs.rs)"] },
  "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": "log" }] }] } }
"#,
        );
        assert_eq!(made.remarks, []);
        insta::assert_snapshot!(made.text, @r#"
        mode = "plan"
        forbid_modes = ["bypass"]

        [permissions]
        allow = [
          "Bash(npm run test:*)",
          "Bash(git diff:*)",
        ]
        ask = [
          "WebFetch(domain:docs.rs)",
        ]
        deny = [
          "Read(**/.env)",
        ]

        [hooks]
        PreToolUse = [
          { matcher = "Bash", hooks = [{ type = "command", command = "check \"it\"", timeout = 5 }] },
          { hooks = [{ type = "command", command = "log" }] },
        ]
        "#);
    }

    #[test]
    fn a_deny_that_cannot_be_said_stops_the_writing() {
        let tree = Workspace::new(
            "-- .claude/settings.json\n{ \"permissions\": { \"deny\": [\"Bash(* | sh)\"] } }\n",
        );
        let made = import(tree.root()).unwrap();
        assert!(!made.is_whole());
        assert!(made.write(tree.root()).is_err() && !tree.root().join("haft.toml").exists());
    }

    #[test]
    fn what_is_left_out_is_remarked() {
        let made = imported(
            "-- .claude/settings.json\n{ \"env\": {}, \"permissions\": { \"allow\": [\"Bash(a * b)\"], \"defaultMode\": \"acceptEdits\", \"additionalDirectories\": [\"/x\"] } }\n",
        );
        let remarks: Vec<String> = made.remarks.iter().map(ToString::to_string).collect();
        assert_eq!(remarks.len(), 4, "{remarks:?}");
        assert!(made.is_whole());
        assert_eq!(made.text, "");
    }

    #[test]
    fn a_hook_that_cannot_run_is_left_out_alone_and_its_place_is_named() {
        let made = imported(
            r#"-- .claude/settings.json
{ "hooks": { "PreToolUse": [
    { "matcher": "Bash", "hooks": [{ "type": "prompt", "prompt": "ok?" }, { "type": "command", "command": "check" }] },
    { "matcher": "Edit", "hooks": [{ "type": "prompt", "prompt": "ok?" }] },
    { "matcher": "(", "hooks": [{ "type": "command", "command": "x" }] } ],
  "WorktreeCreate": [{ "hooks": [{ "type": "command", "command": "x" }] }],
  "Stop": "x" } }
-- .claude/settings.local.json
{ "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": "log", "model": "x" }] }] } }
"#,
        );
        let remarks: Vec<String> = made.remarks.iter().map(ToString::to_string).collect();
        for (at, words) in [
            (
                0,
                ".claude/settings.json: `hooks.PreToolUse[0].hooks[0]` is left out: hooks of the type \"prompt\" do not run",
            ),
            (
                1,
                ".claude/settings.json: `hooks.PreToolUse[1].hooks[0]` is left out: hooks of the type \"prompt\" do not run",
            ),
            (
                2,
                ".claude/settings.json: `hooks.PreToolUse[2]` is left out: `(` is neither names nor a regular expression",
            ),
            (3, ".claude/settings.json: `hooks.WorktreeCreate` is left out: there is no such event"),
            (4, ".claude/settings.json: `hooks.Stop` is left out: it must be a list of hooks"),
            (
                5,
                ".claude/settings.local.json: `hooks.PreToolUse[0].hooks[0]` is left out: there is no setting `model`",
            ),
        ] {
            assert!(remarks[at].starts_with(words), "{remarks:#?}");
        }
        assert_eq!(remarks.len(), 6);
        assert!(made.is_whole());
        insta::assert_snapshot!(made.text, @r#"
        [hooks]
        PreToolUse = [
          { matcher = "Bash", hooks = [{ type = "command", command = "check" }] },
        ]
        "#);
    }

    #[test]
    fn hooks_that_one_file_switches_off_are_off_in_both() {
        let hooks = r#""hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "x" }] }] }"#;
        let made = |main: &str, local: &str| {
            imported(&format!(
                "-- .claude/settings.json\n{{ {main}{hooks} }}\n-- .claude/settings.local.json\n{{ {local} }}\n"
            ))
        };
        let off = made("", r#""disableAllHooks": true"#);
        assert_eq!(off.text, "");
        assert_eq!(
            off.remarks[0].to_string(),
            ".claude/settings.json: `hooks` are left out: `disableAllHooks` in .claude/settings.local.json switches them off"
        );
        assert_eq!(made(r#""disableAllHooks": true, "#, "").text, "");
        let on = made(r#""disableAllHooks": true, "#, r#""disableAllHooks": false"#);
        assert!(on.text.contains("command = \"x\""), "{}", on.text);
    }

    #[test]
    fn a_file_that_is_there_is_never_replaced() {
        let tree = Workspace::new("-- haft.toml\nmine\n-- .claude/settings.json\n{}\n");
        let refused = import(tree.root()).unwrap().write(tree.root()).unwrap_err();
        assert!(refused.to_string().contains("haft.toml: File exists"), "{refused}");
    }
}

//! A command that the sandbox broke: the person is asked whether it runs again, with what was refused allowed, or outside.
//!
//! The narrow way comes first: a place to write or read, a host. What a rule denies is not asked about, and neither is what
//! the person has refused in this call before.

use std::path::{Path, PathBuf};

use haft_shell::{
    run::{Ended, Output},
    sandbox::Blocked,
};
use haft_tool::{Access, Effects, Fault, Permission, PermissionRequest, Refusal, View, shown};

use super::{BashInput, report};

/// How much of what the first run printed is shown again.
const SHOWN_BYTES: usize = 2 * 1024;

/// What the sandbox refused to a command that failed.
pub(super) struct Refusals<'a> {
    blocked: Vec<&'a Blocked>,
    ended: &'a Ended,
}

impl Refusals<'_> {
    /// What was refused that a person could allow. `None` where the command did not fail by itself, or nothing was.
    pub(super) fn of(ended: &Ended) -> Option<Refusals<'_>> {
        if ended.status.is_success() || ended.stopped.is_some() {
            return None;
        }
        let blocked: Vec<&Blocked> = ended.blocked.iter().filter(|blocked| is_open(blocked)).collect();
        (!blocked.is_empty()).then_some(Refusals { blocked, ended })
    }

    /// What would be asked for.
    pub(super) fn request(&self, input: &BashInput, output: &Output) -> PermissionRequest {
        let effects = self.effects();
        let refused: Vec<String> = self.blocked.iter().map(|blocked| refused(blocked)).collect();
        let way = if effects.is_none() { "outside the sandbox" } else { "with that allowed" };
        let refused = refused.join(", ");
        PermissionRequest {
            effects,
            description: format!(
                "The command failed, and the sandbox refused {refused}. Run it again, from its beginning, {way}?"
            ),
            preview: Some(self.preview(input, output)),
            unsandboxed: true,
        }
    }

    /// The least by which it could work.
    fn effects(&self) -> Effects {
        self.blocked.iter().fold(Effects::none(), |effects, blocked| match blocked {
            // To write a socket is to connect to it.
            Blocked::Write(path) | Blocked::Socket(path) => effects.and_writes(path),
            Blocked::Replace(path) => effects.and_writes(path.parent().unwrap_or(path)),
            Blocked::ReadOutside(path) => effects.and_reads(path),
            Blocked::Host(host) => effects.and_host(host.clone(), Access::Write),
            _ => effects,
        })
    }

    fn preview(&self, input: &BashInput, output: &Output) -> View {
        let command = View::Code { language: "bash".to_owned(), text: haft_shell::shown(&input.command) };
        let failed = format!("it failed ({}); what it did until then stays done", self.ended.status);
        let printed = end_of(&report::printed(output));
        View::List(vec![command, View::Text(failed), View::Code { language: String::new(), text: printed }])
    }

    /// What stands before the output of the second run.
    pub(super) fn first_run(&self, output: &Output, permission: Permission) -> String {
        let mut text = format!("[first run, in the sandbox]\n{}", end_of(&report::printed(output)));
        report::end_line(&mut text);
        let refused: Vec<String> = self.blocked.iter().map(|blocked| refused(blocked)).collect();
        let place = match permission {
            Permission::Requested => "with that allowed",
            Permission::Unsandboxed => "outside the sandbox",
        };
        let status = &self.ended.status;
        let refused = refused.join(", ");
        format!(
            "{text}[{status}; the sandbox refused {refused}]\n[second run, from the beginning, {place}]\n"
        )
    }

    /// What the result says where it does not run again. `None`: nothing besides the facts.
    pub(super) fn declined(&self, fault: &Fault, input: &BashInput) -> Option<String> {
        let said = fault.message().lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
        match fault.refusal() {
            Some(Refusal::NobodyThere) => Some(self.way_out(input)),
            Some(_) => Some(format!("it was not run again: {said}")),
            None => None,
        }
    }

    /// How the user or the next call would allow it.
    fn way_out(&self, input: &BashInput) -> String {
        let quoted = |paths: &[&Path]| {
            let paths: Vec<String> = paths.iter().map(|path| format!("\"{}\"", shown(path))).collect();
            format!("[{}]", paths.join(", "))
        };
        let (effects, mut arguments) = (self.effects(), Vec::new());
        for (name, access) in [("write", Access::Write), ("read", Access::Read)] {
            let paths = effects.paths().iter().filter(|effect| effect.access == access);
            let paths: Vec<&Path> = paths.map(|effect| effect.path.as_path()).collect();
            arguments.extend((!paths.is_empty()).then(|| format!("`{name}: {}`", quoted(&paths))));
        }
        let hosts: Vec<PathBuf> = effects.hosts().iter().map(|effect| PathBuf::from(&effect.host)).collect();
        let hosts: Vec<&Path> = hosts.iter().map(PathBuf::as_path).collect();
        arguments.extend((!hosts.is_empty()).then(|| format!("`hosts: {}`", quoted(&hosts))));
        if arguments.is_empty() {
            let command = report::on_one_line(&input.command);
            return format!(
                "the user can let it run outside the sandbox: `unsandboxed = [\"Bash({command})\"]` under [sandbox] in \
                 their haft.toml"
            );
        }
        format!("{} of this tool asks for it, where a person or a rule can allow it", arguments.join(" and "))
    }
}

/// Returns true unless a rule denies it, or the person was asked about it while the command ran.
fn is_open(blocked: &Blocked) -> bool {
    !matches!(blocked, Blocked::Read(_) | Blocked::Protected { .. })
}

/// What was refused, in a few words.
fn refused(blocked: &Blocked) -> String {
    match blocked {
        Blocked::Write(path) | Blocked::Replace(path) => format!("to change {}", shown(path)),
        Blocked::ReadOutside(path) | Blocked::Read(path) => format!("to read {}", shown(path)),
        Blocked::Host(host) => format!("to connect to {}", report::on_one_line(host)),
        Blocked::Socket(path) => format!("to connect to the socket {}", shown(path)),
        Blocked::Loopback => "to reach servers of this machine".to_owned(),
        Blocked::Syscall(what) => (*what).to_owned(),
        other => other.to_string(),
    }
}

/// The last lines of a text.
fn end_of(text: &str) -> String {
    let start = text.ceil_char_boundary(text.len().saturating_sub(SHOWN_BYTES));
    match start {
        0 => text.to_owned(),
        start => format!("…{}", &text[start..]),
    }
}

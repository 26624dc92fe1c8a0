//! `Bash`: runs a command, and tells what it printed and how it ended.

mod keep; //    asks about what was set aside
mod launch; // from the input to a process
mod rerun; //   once more, with what the sandbox refused
mod wait; //    until it ends, is stopped, or goes on in the background
pub(crate) mod task; // a process that goes on after its call
pub(crate) mod report; // what model and person are told
#[cfg(test)]
mod tests;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod always;
#[cfg(test)]
mod masks;
#[cfg(test)]
mod reaching;
#[cfg(test)]
mod rerun_tests;
#[cfg(test)]
mod asking;

use std::{path::Path, time::Duration};

use haft_shell::{run::LONGEST_COMMAND, understand};
use haft_tool::{
    AbsolutePath, Access, Change, Cx, Effects, Fault, FaultKind, Limit, PathBase, Reply, SessionFacts, Spec,
    Spelling, Tool, View, shown, split_port,
};
use schemars::JsonSchema;
use serde::Deserialize;

use report::Told;
use rerun::Refusals;
use task::ShellTask;
use wait::Waited;

/// Runs a command in bash. You get what it prints, both streams in order, and its exit code if that is not 0.
///
/// Use it for programs: build, test, version control, package managers, scripts. For files other tools are better and are
/// asked about less: Read, not cat, head or tail; Grep, not grep or rg; Glob or List, not find or ls; Edit and Write, not
/// sed, awk or `echo >`.
///
/// Each call is a new shell: only the directory in which it ends is kept for the next, within the workspace. Quote paths
/// with blanks. Join commands that need each other by `&&`; make separate calls of others.
/// Nobody types: a program that asks gets an end of file. So no editors, pagers or prompts; use options like `--yes`,
/// `--no-pager`, `-m`. A command that takes longer than `timeout` fails, and is stopped with all that it started.
/// For a server, a watcher or long work set `background`, then use TaskOutput and TaskStop; what a command starts with `&`
/// ends with it. Long output is cut in the middle; a file has the whole.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BashInput {
    /// The command, as it would be typed.
    command: String,
    /// Milliseconds that it may take; 120000 if left out.
    #[schemars(range(min = 1, max = 600_000))]
    timeout: Option<u64>,
    /// What it is for, in five to ten words. The person reads it.
    description: Option<String>,
    /// Answer at once with a task's id; it goes on, without a time limit unless you set one.
    #[serde(default)]
    background: bool,
    /// Give it a terminal, for programs that need one.
    #[serde(default)]
    pty: bool,
    /// Hosts that it must reach, like `docs.rs` or `localhost:5432`. It has no network otherwise.
    #[serde(default)]
    hosts: Vec<String>,
    /// What else it must read outside the workspace.
    #[serde(default)]
    read: Vec<AbsolutePath>,
    /// What it must write outside the workspace.
    #[serde(default)]
    write: Vec<AbsolutePath>,
}

impl BashInput {
    /// A command that goes on after its call.
    pub(crate) fn in_background(
        command: String,
        description: Option<String>,
        hosts: Vec<String>,
        write: Vec<AbsolutePath>,
    ) -> BashInput {
        BashInput {
            command,
            timeout: None,
            description,
            background: true,
            pty: false,
            hosts,
            read: Vec::new(),
            write,
        }
    }
}

/// The tool.
#[derive(Debug, Default)]
pub(crate) struct Bash {
    pub(crate) options: BashOptions,
}

/// What can be chosen about Bash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BashOptions {
    /// How long a command may take that says nothing else.
    pub timeout: Duration,
    /// After how long a command that still runs goes on in the background; `None`: never.
    pub background_after: Option<Duration>,
    /// How many bytes a command may write before it is stopped.
    pub most_output: u64,
}

impl Default for BashOptions {
    fn default() -> BashOptions {
        BashOptions { timeout: Duration::from_secs(120), background_after: None, most_output: 1 << 30 }
    }
}

/// The longest that a call can ask for.
const LONGEST: Duration = Duration::from_secs(600);

/// The engine's own limit must not cut off what the tool has to say about a command that took too long.
const WITH_LAST_WORDS: Duration = Duration::from_secs(2 * LONGEST.as_secs() + 30);

impl Tool for Bash {
    type Input = BashInput;
    const SPEC: Spec = Spec::new("Bash")
        .toolset("shell")
        .processes()
        .aliases(&["bash", "shell", "run_shell_command", "execute_command", "local_shell"])
        .search_hint("run execute a shell command program script build test install git npm cargo terminal")
        // It cuts its output itself, and keeps the whole while it comes.
        .limit(Limit::Bytes(200 * 1024))
        .timeout(WITH_LAST_WORDS);

    fn validate(&self, input: &BashInput) -> Result<(), Fault> {
        if input.command.trim().is_empty() {
            return Err(Fault::rejected("`command` is empty; say what is to run"));
        }
        if input.command.contains('\0') {
            return Err(Fault::rejected(
                "`command` holds a NUL character, which no command line can; leave it out",
            ));
        }
        if input.command.len() > LONGEST_COMMAND {
            return Err(Fault::rejected(format!(
                "`command` has {} bytes and the system takes at most {LONGEST_COMMAND}; write it to a file and run that",
                input.command.len()
            )));
        }
        input.hosts.iter().try_for_each(|host| valid_host(host))
    }

    fn effects_here(&self, input: &BashInput, base: &PathBase) -> Effects {
        let mut known = understand(&input.command, base).effects();
        if input.pty && known.commands().iter().any(|command| is_nohup(&command.argv)) {
            known.push_doubt("nohup, which keeps what a terminal would show in nohup.out");
        }
        let with_hosts =
            input.hosts.iter().fold(known, |effects, host| effects.and_host(host, Access::Write));
        let with_reads = input.read.iter().fold(with_hosts, Effects::and_reads);
        let mut effects = input.write.iter().fold(with_reads, Effects::and_writes);
        // A process that may write a file can read it, unless a mask keeps it away.
        input.write.iter().for_each(|path| effects.push_mention(path.to_path_buf(), Spelling::Path));
        effects
    }

    fn describe(&self, input: &BashInput) -> String {
        // From the tree: the words that run, not how they were dressed.
        let command = report::on_one_line(&haft_shell::shown(&input.command));
        match input.description.as_deref().map(purpose) {
            // What runs comes first: the purpose is the model's word for it.
            Some(purpose) if !purpose.is_empty() => format!("Run {command} ({purpose})"),
            _ => format!("Run {command}"),
        }
    }

    async fn preview(&self, input: &BashInput, _cx: &Cx) -> Option<View> {
        // From the tree, whole and on as many lines as it has: this is what is allowed.
        let command = View::Code { language: "bash".to_owned(), text: haft_shell::shown(&input.command) };
        let mut circumstances = Vec::new();
        let mut say = |name: &str, value: String| circumstances.push((name.to_owned(), value));
        if input.background {
            say("background", "it goes on after the call".to_owned());
        }
        if !input.hosts.is_empty() {
            say("may reach", input.hosts.join(", "));
        }
        for path in &input.read {
            say("may read", shown(path).to_string());
        }
        for path in &input.write {
            say("may write", shown(path).to_string());
        }
        let plain = circumstances.is_empty();
        Some(if plain { command } else { View::List(vec![command, View::Fields(circumstances)]) })
    }

    fn classifier_input(&self, input: &BashInput) -> Option<String> {
        Some(haft_shell::shown(&input.command))
    }

    async fn call(&self, input: BashInput, cx: &Cx) -> Result<Reply, Fault> {
        let session = cx.session();
        if !session.cwd.is_dir() {
            return Ok(nowhere(&session));
        }
        self.run(&input, &session, cx).await
    }
}

impl Bash {
    /// Runs a command until it ends or goes on. Where the sandbox broke it, it runs once more if the person says so.
    async fn run(&self, input: &BashInput, session: &SessionFacts, cx: &Cx) -> Result<Reply, Fault> {
        let options = &self.options;
        let mut before = None;
        loop {
            let grant = cx.grant().await?;
            let process = launch::launch(input, options, session, &grant, cx).await?;
            if input.background {
                return wait::go_on(process, input, cx);
            }
            let (process, mut ended) = match wait::wait(process, input, options, cx).await? {
                Waited::GoesOn(reply) => return Ok(*reply),
                Waited::Ended(process, ended) => (process, ended),
            };
            if let Some(ended) = &mut ended {
                keep::ask_to_keep(ended, session, cx).await;
            }
            let mut told =
                Told { input, options, session, grant: &grant, ended: ended.as_ref(), before, more: None };
            let refusals = ended.as_ref().filter(|_| told.before.is_none()).and_then(Refusals::of);
            let Some(refusals) = refusals else {
                return Ok(process.with_output(|output| told.reply(output)));
            };
            let request = process.with_output(|output| refusals.request(input, output));
            match cx.request_permission(request).await {
                Ok(permission) => {
                    before = Some(process.with_output(|output| refusals.first_run(output, permission)));
                }
                Err(fault) => {
                    told.more = refusals.declined(&fault, input);
                    return Ok(process.with_output(|output| told.reply(output)));
                }
            }
        }
    }

    /// Starts a command that goes on after its call, for a tool that does more with it.
    pub(crate) async fn start(&self, input: &BashInput, cx: &Cx) -> Result<ShellTask, Fault> {
        let session = cx.session();
        if !session.cwd.is_dir() {
            let words =
                format!("nothing was run: the directory {} does not exist any more", shown(&session.cwd));
            return Err(Fault::failed(words));
        }
        let grant = cx.grant().await?;
        let process = launch::launch(input, &self.options, &session, &grant, cx).await?;
        process.gatekeeper().iter().for_each(|gate| gate.close());
        Ok(ShellTask::new(process, input.command.clone()))
    }
}

fn is_nohup(argv: &[String]) -> bool {
    argv.first().is_some_and(|program| program.rsplit('/').next() == Some("nohup"))
}

/// Of what the model says a command is for, so much stands beside the command.
const LONGEST_PURPOSE: usize = 80;

fn purpose(words: &str) -> String {
    let words = report::on_one_line(words);
    match words.char_indices().nth(LONGEST_PURPOSE) {
        Some((end, _)) => format!("{}…", words[..end].trim_end()),
        None => words,
    }
}

fn valid_host(host: &str) -> Result<(), Fault> {
    // Other letters are looked up as something else than they look like.
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    if !host.is_empty() && host.chars().all(is_name) && split_port(host).is_some() {
        return Ok(());
    }
    Err(Fault::rejected(format!(
        "`hosts`: {host:?} is not a host; give its name, like `docs.rs`, or with a port, like `localhost:5432`"
    )))
}

/// The directory is gone. A command is not run in another one instead: `rm *` means something else there.
fn nowhere(session: &SessionFacts) -> Reply {
    let workspace = &session.workspace;
    let text = format!(
        "nothing was run: the directory {} does not exist any more. The next command begins in {}",
        shown(&session.cwd),
        shown(workspace),
    );
    Reply::text(text).failing(FaultKind::Failed).change(Change::Cwd(workspace.clone()))
}

/// Where a command may leave the session.
fn is_home(directory: &Path, session: &SessionFacts, writable: &[std::path::PathBuf]) -> bool {
    directory.starts_with(&session.workspace) || writable.iter().any(|root| directory.starts_with(root))
}

//! What can be typed.
//!
//! The options that every command takes may stand before or after its name. They are read at both places and put
//! together: a deny rule is never lost because of where it was written.

use std::path::PathBuf;

use clap::{
    Args, Parser, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use haft_engine::policy::{Mode, Origin, Rules, Written};

use crate::commands::{
    call, completions, demo, doctor, explain, lint, log, login, mcp, pin, prompt, redact, run, sandbox,
    search, sessions, tools, trust, turn, undo,
};

/// The tool runtime for AI agents: what stands between a model's tool call and the world.
#[derive(Debug, Parser)]
#[command(name = "haft", version, disable_help_subcommand = true, after_help = AFTER)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: Options,
    #[cfg(feature = "tui")]
    #[command(flatten)]
    pub(crate) talk: crate::tui::Args,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const AFTER: &str = "\
Start here:
  haft                                         talk with a model that works with the tools
  haft demo                                    see it work, without a key or a network
  haft tools                                   what a model can call here
  haft call Read '{\"file_path\":\"README.md\"}'   call a tool as a model would

Exit: 0 done, 1 the call failed, 2 bad usage or settings, 3 denied, 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows what haft does: a scripted model drives the real engine through a small temporary project
    Demo(With<demo::Args>),
    /// Makes one call and prints what the model would see
    Call(With<call::Args>),
    /// Takes a model's message with tool calls, gives the message with their results
    Turn(With<turn::Args>),
    /// Has a model do a task with the tools, and prints its answer
    Run(With<run::Args>),
    /// Lists the tools that a model is offered
    Tools(With<tools::Args>),
    /// Finds tools by what they do, as ToolSearch does
    Search(With<search::Args>),
    /// Lists the prompts of servers, or shows one
    Prompt(With<prompt::Args>),
    /// Says what would be decided about a call, and why, without making it
    Explain(With<explain::Args>),
    /// Takes secrets out of text: stdin to stdout, live
    Redact(With<redact::Args>),
    /// Shows what a workspace's own settings would do, and lets them
    Trust(With<trust::Args>),
    /// Shows tools of servers that have changed since they were first permitted, and accepts them
    Pin(With<pin::Args>),
    /// Gets a token for a server that wants to know who asks, with your browser
    Login(With<login::Args>),
    /// Forgets the tokens for a server
    Logout(With<login::OutArgs>),
    /// Looks for mistakes in settings, rules, descriptions and pins
    Lint(With<lint::Args>),
    /// Runs a command confined, as Bash would
    Sandbox(With<sandbox::Args>),
    /// Serves MCP clients: haft's tools and all configured servers behind one door
    Mcp(With<mcp::Args>),
    /// Shows the calls that were made: when, which, what was decided, what came of them
    Log(With<log::Args>),
    /// Lists the sessions in which they were made
    Sessions(With<sessions::Args>),
    /// Takes back what calls changed in files, or makes it again
    Undo(With<undo::Args>),
    /// Says what works here
    Doctor(With<doctor::Args>),
    /// Writes the completion script of a shell
    Completions(completions::Args),
}

/// A command's own arguments, and those of every command.
#[derive(Debug, Args)]
pub(crate) struct With<T: Args> {
    #[command(flatten)]
    pub(crate) args: T,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// What every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Options {
    /// Work in this directory. The workspace is it, or the nearest parent with a haft.toml or .git
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The session's id: letters, digits, `-` and `_`. A new one if it is left out
    #[arg(long, value_name = "ID", value_parser = session_id)]
    pub(crate) session: Option<String>,
    /// Settings to read besides those of the user
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// For this run, take the workspace's own settings as trusted. `haft trust` does it for good
    #[arg(long)]
    pub(crate) trust: bool,
    /// The model that makes the calls, which `haft run` asks: rules may be for some models only
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The agent that the model plays: rules may be for some agents only
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The role of whoever makes the calls; `owner` if none is given. May be repeated
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Vec<String>,
    /// How much is asked
    #[arg(long, value_name = "MODE", value_parser = modes())]
    pub(crate) mode: Option<Mode>,
    /// Run processes without a sandbox. Needed with mode bypass where there is none
    #[arg(long)]
    pub(crate) unsandboxed: bool,
    /// Do not record the calls in the journal. What is made so cannot be looked up, recalled or undone
    #[arg(long)]
    pub(crate) no_journal: bool,
    /// Let this run unasked, like `Read(//etc/hosts)`. May be repeated, as the next two
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Always ask before this
    #[arg(long, value_name = "RULE")]
    pub(crate) ask: Vec<String>,
    /// Never let this run
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing but errors, ask nothing
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more on stderr. HAFT_LOG=debug writes logs there
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

impl Options {
    /// The rules among them.
    pub(crate) fn rules(&self) -> Rules {
        let flags = |rules: &[String]| Written::all(rules, Origin::Flag);
        Rules { allow: flags(&self.allow), ask: flags(&self.ask), deny: flags(&self.deny) }
    }

    /// These, from before the command's name, and those from after it, which win where there can be only one.
    pub(crate) fn and(mut self, mut after: Options) -> Options {
        self.allow.append(&mut after.allow);
        self.ask.append(&mut after.ask);
        self.deny.append(&mut after.deny);
        self.role.append(&mut after.role);
        Options {
            cwd: after.cwd.or(self.cwd),
            session: after.session.or(self.session),
            config: after.config.or(self.config),
            trust: self.trust || after.trust,
            model: after.model.or(self.model),
            agent: after.agent.or(self.agent),
            mode: after.mode.or(self.mode),
            unsandboxed: self.unsandboxed || after.unsandboxed,
            no_journal: self.no_journal || after.no_journal,
            json: self.json || after.json,
            quiet: self.quiet || after.quiet,
            verbose: self.verbose || after.verbose,
            ..self
        }
    }
}

fn modes() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(Mode::ALL.map(Mode::name)).try_map(|name| name.parse::<Mode>())
}

/// A session's id names a directory, too: only what is the same there.
pub(crate) fn session_id(text: &str) -> Result<String, String> {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if (1..=100).contains(&text.len()) && text.chars().all(is_safe) {
        return Ok(text.to_owned());
    }
    Err("an id has 1 to 100 letters, digits, `-` and `_`".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_agree_with_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn rules_from_both_sides_of_the_command_count() {
        let line = ["haft", "--deny", "A", "--mode", "plan", "tools", "--deny", "B", "--mode", "auto"];
        let cli = Cli::try_parse_from(line).unwrap();
        let Some(Command::Tools(tools)) = cli.command else { panic!("not tools") };
        let options = cli.options.and(tools.options);
        assert_eq!((options.deny, options.mode), (vec!["A".to_owned(), "B".to_owned()], Some(Mode::Auto)));
    }
}

//! The binary `haft`: one engine behind a command line.
//!
//! A command is a file in [`commands`]: its arguments, its help, what it does. What they share stands around it, in the
//! order in which a command needs it. stdout is the answer and nothing else, stderr is talk.
//!
//! It is a crate because only here are a terminal, the environment and `anyhow`: the engine knows none of them.

mod cli; //       what can be typed
mod exit; //      what the exit code says
mod settings; //  what the settings files say
mod hooks; //     the hooks in them
mod place; //     where: directory, workspace, home, state
mod secrets; //   what must not be shown
mod kept; //      files of the state directory
mod trust; //     whether what a workspace brings counts
mod skills; //    the skills that count
mod agents; //    the agents that are defined in files
mod servers; //   the servers that are configured
mod pins; //      what tools of servers said when they were first permitted
mod usage; //     which tools were called in this workspace
mod telemetry; // what operators see
mod store; //     what happened, kept
mod far; //       what is kept past this machine
mod setup; //     from all of these to an engine and a session
mod spent; //     what its answers took
mod model; //     which model is asked, and how
mod sampling; //  the same model, for servers that may ask it
mod transcript; // what was said in a session, kept
mod conversation; // one with a model: new, or going on
mod seat; //      which process has it
mod ask; //       the person at the terminal: what is shown, what an answer is
mod choose; //    what the model would have that person decide
mod form; //      what a server wants to know of that person
mod browser; //   and what they visit
mod tty; //       that terminal
mod keep; //      rules that a person always wants
mod watch; //     running calls, watched, until they end or Ctrl-C
mod wire; //      results and events as JSON
mod draw; //      text for people: tables, views, colours
mod lines; //     lines that somebody else writes
mod surrogates; // JSON that a model writes, made whole while it comes
mod memory; //    what a named session knows from run to run
mod out; //       stdout and stderr
#[cfg(feature = "tui")]
mod tui; //       the agent, interactive
mod commands; //  a file each

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::try_parse() {
        Ok(cli) => exit::code(commands::run(cli)),
        Err(refused) => exit::refused(&refused),
    }
}

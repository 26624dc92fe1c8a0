//! The commands, a file each: arguments, help, and what it does.

pub(crate) mod demo;
pub(crate) mod call;
pub(crate) mod turn;
pub(crate) mod run;
pub(crate) mod tools;
pub(crate) mod search;
pub(crate) mod prompt;
pub(crate) mod explain;
pub(crate) mod redact;
pub(crate) mod trust;
pub(crate) mod pin;
pub(crate) mod login;
pub(crate) mod lint;
pub(crate) mod sandbox;
pub(crate) mod mcp;
pub(crate) mod log;
pub(crate) mod sessions;
pub(crate) mod undo;
pub(crate) mod doctor;
pub(crate) mod completions;

use crate::{
    cli::{Cli, Command},
    exit::{Exit, usage},
    setup::Setup,
};

/// Runs what was typed.
pub(crate) fn run(cli: Cli) -> anyhow::Result<Exit> {
    let setup = |options| Setup::new(cli.options.clone().and(options));
    #[cfg(feature = "tui")]
    let Some(command) = cli.command else { return crate::tui::run(cli.options, &cli.talk) };
    #[cfg(not(feature = "tui"))]
    let Some(command) = cli.command else {
        return Err(usage("this haft was built without its terminal UI; `haft --help` lists the commands"));
    };
    #[cfg(feature = "tui")]
    if cli.talk.is_given() {
        return Err(usage("--resume, --base-url and --dialect stand after the command that takes them"));
    }
    match command {
        Command::Demo(command) => demo::run(&command.args),
        Command::Call(command) => call::run(&setup(command.options)?, command.args),
        Command::Turn(command) => turn::run(&setup(command.options)?, &command.args),
        Command::Run(command) => run::run(cli.options.clone().and(command.options), command.args),
        Command::Tools(command) => tools::run(&setup(command.options)?, &command.args),
        Command::Search(command) => search::run(&setup(command.options)?, &command.args),
        Command::Prompt(command) => prompt::run(&setup(command.options)?, &command.args),
        Command::Explain(command) => explain::run(&setup(command.options)?, command.args),
        Command::Redact(command) => redact::run(&cli.options.clone().and(command.options), &command.args),
        Command::Trust(command) => trust::run(&cli.options.clone().and(command.options), &command.args),
        Command::Pin(command) => pin::run(&cli.options.clone().and(command.options), &command.args),
        Command::Login(command) => login::login(&setup(command.options)?, &command.args),
        Command::Logout(command) => login::logout(&setup(command.options)?, &command.args),
        Command::Lint(command) => lint::run(&cli.options.clone().and(command.options)),
        Command::Sandbox(command) => sandbox::run(&cli.options.clone().and(command.options), &command.args),
        Command::Mcp(command) => mcp::run(cli.options.clone().and(command.options), &command.args),
        Command::Log(command) => log::run(&cli.options.clone().and(command.options), &command.args),
        Command::Sessions(command) => sessions::run(&cli.options.clone().and(command.options), &command.args),
        Command::Undo(command) => undo::run(&cli.options.clone().and(command.options), &command.args),
        Command::Doctor(command) => doctor::run(&cli.options.clone().and(command.options)),
        Command::Completions(command) => completions::run(&command),
    }
}

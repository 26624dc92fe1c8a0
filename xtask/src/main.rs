//! The project's own chores: `cargo xtask` lists them, a file each.

#![expect(clippy::disallowed_methods, reason = "chores start programs")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "chores talk to the person who started them")]

mod tidy; //       do the invariants of ARCHITECTURE.md hold?
mod corpora; //    does haft judge rightly what it must never judge wrongly?
mod touches; //    do commands touch what was foreseen, and nothing else?
mod fuzz; //       strangers' bytes against what reads them
mod kill; //       is every file whole if haft is killed at any moment?
mod resume; //     does a conversation that was killed go on, and is nothing done twice?
mod far; //        do many processes that share a session make each call once?
mod git_work; //   does what was approved work, and nothing else happen?
mod later; //      can a command create what runs later, unseen?
mod visible; //    is anything of haft's seen in a tree?
mod soak; //       does every call get one true answer while servers die?
mod bench; //      is haft as quick as its budgets say?
mod kit; //        suites, servers and clients of others to be tried with
mod conformance; // does haft speak MCP as the official suite says?
mod search; //     are tools found, how quickly, and what does it save?
mod interop; //    does haft work with the servers and clients of others?
mod models; //     would the model vendors' own clients send our requests?
mod real; //       does a real model do things with haft?
mod order; //      which functions do runs use?
mod new_tool; //   the file of a new tool, and its two lines
mod account; //    an ordinary user on a machine of its own
mod set_up; //     places in which commands run
mod row_options; // the options of chores that run rows of a table
mod terminal; //   a person who answers questions
mod scripted; //   a model that follows a script
mod haft; //       the haft binary, as a person starts it
mod serving; //    servers as processes
mod repository; // what is where, and what cargo knows about it
mod rust_text; //  Rust, as far as chores need to read it

use std::{env, process::ExitCode};

use anyhow::{Result, bail};

const HELP: &str = "\
The chores of haft.

  cargo xtask tidy                                       checks the invariants of ARCHITECTURE.md
  cargo xtask corpora [--dir DIR] [--peers] [NAME…]      judges haft by corpora of cases, ../shared/corpora or DIR
  cargo xtask corpora --gtfobins DIR                     judges the snippets of GTFOBins, a checkout or a bare repository
  cargo xtask corpora --nl2bash PLACE [--list asked|allowed] [--sample N] [--seed S] [--run N]
                                                         how much of a public collection is asked? runs what is allowed
  cargo xtask corpora --source [DIR…]                    counts lines of ordinary source that redaction changes
  cargo xtask touches [--dir DIR] [--every N]            runs harmless commands of the shell corpus, watched by strace
  cargo xtask fuzz [--seconds N] [--runs N] [--install] [TARGET…]
                                                         builds and runs fuzz targets, 15 seconds each
  cargo xtask kill [--rounds N]                          kills haft while it changes files, 1000 times
  cargo xtask resume [--rounds N]                        kills haft run at random moments and resumes it, 100 conversations
  cargo xtask far [--size PROCESSESxCALLS]               many processes make the same calls, on a server and on a file, 10x200
  cargo xtask git-work [-v] [--list] [--every N] [WORD…]  runs everyday sequences of git, packages and servers, with yes and with no
  cargo xtask later [-v] [--list] [--every N] [WORD…]  runs commands that create what runs later, with a watcher outside
  cargo xtask visible [--rounds N]                       watches a tree while commands run and haft is killed, 200 times
  cargo xtask soak [--release] [--seconds N]             kills MCP servers behind haft while they are called, 10 minutes
  cargo xtask bench [WHAT…] [--check] [--install]        engine (the default), search, read, edit, sandbox, gateway, harness, all
                                                         (harness --only=SCENE: start, edits, sleepers, …; harness --peers:
                                                         in turns with the agents of others that `kit --peers` has)
  cargo xtask kit [--peers]                              installs the MCP suite, servers and clients to be tried with;
                                                         --peers: also what is compared with
  cargo xtask conformance [NAME…]                        runs the official MCP suite: fixture, door, gateway, client
  cargo xtask search [--dir DIR] [--check]               how well and how quickly tools are found, ../shared/corpora/toolsearch
  cargo xtask interop [WORD…]                            tries haft with others' MCP servers and clients
  cargo xtask models                                     has requests to models judged by the vendors' own types
  cargo xtask real [--dir DIR]                           has a real model do things, ../shared/model
  cargo xtask order                                      which functions runs use, for the linker; needs valgrind
  cargo xtask new-tool NAME                              crates/haft-tools/src/NAME.rs, and its lines in lib.rs";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    chore(&words).unwrap_or_else(|err| {
        eprintln!("xtask: {err:#}");
        ExitCode::from(2)
    })
}

fn chore(words: &[&str]) -> Result<ExitCode> {
    match words {
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        ["tidy"] => tidy::run(),
        ["corpora", options @ ..] => corpora::run(options),
        ["touches", options @ ..] => touches::run(options),
        ["fuzz", options @ ..] => fuzz::run(options),
        ["kill", options @ ..] => kill::run(options),
        ["resume", options @ ..] => resume::run(options),
        ["far", options @ ..] => far::run(options),
        ["git-work", options @ ..] => git_work::run(options),
        ["later", options @ ..] => later::run(options),
        ["visible", options @ ..] => visible::run(options),
        ["soak", options @ ..] => soak::run(options),
        // What soak puts behind haft.
        ["soak-server", name, root] => soak::serve(name, root),
        // What bench gateway puts behind haft and others.
        ["echo-server", tools] => bench::serve_echo(tools),
        ["bench", options @ ..] => bench::run(options),
        ["order"] => order::run(),
        ["kit", options @ ..] => kit::run(options),
        ["conformance", options @ ..] => conformance::run(options),
        ["search", options @ ..] => search::run(options),
        ["interop", options @ ..] => interop::run(options),
        ["models", options @ ..] => models::run(options),
        ["real", options @ ..] => real::run(options),
        ["new-tool", name] => new_tool::run(name),
        _ => bail!("`{}` is no chore\n\n{HELP}", words.join(" ")),
    }
}

//! The project's own chores: `cargo xtask` lists them, a file each.

#![expect(clippy::disallowed_methods, reason = "chores start programs")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "chores talk to the person who started them")]

mod tidy; //       do the invariants of ARCHITECTURE.md hold?
mod corpora; //    does haft judge rightly what it must never judge wrongly?
mod touches; //    do commands touch what was foreseen, and nothing else?
mod fuzz; //       strangers' bytes against what reads them
mod kill; //       is every file whole if haft is killed at any moment?
mod bench; //      is haft as quick as its budgets say?
mod new_tool; //   the file of a new tool, and its two lines
mod haft; //       the haft binary, as a person starts it
mod repository; // what is where, and what cargo knows about it
mod rust_text; //  Rust, as far as chores need to read it

use std::{env, process::ExitCode};

use anyhow::{Result, bail};

const HELP: &str = "\
The chores of haft.

  cargo xtask tidy                                       checks the invariants of ARCHITECTURE.md
  cargo xtask corpora [--dir DIR] [--peers] [NAME…]      judges haft by corpora of cases, ../shared/corpora or DIR
  cargo xtask touches [--dir DIR] [--every N]            runs harmless commands of the shell corpus, watched by strace
  cargo xtask fuzz [--seconds N] [--install] [TARGET…]   builds and runs fuzz targets, 15 seconds each
  cargo xtask kill [--rounds N]                          kills haft while it changes files, 1000 times
  cargo xtask bench [WHAT…] [--check] [--install]        engine (the default), search, read, edit, all
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
        ["bench", options @ ..] => bench::run(options),
        ["new-tool", name] => new_tool::run(name),
        _ => bail!("`{}` is no chore\n\n{HELP}", words.join(" ")),
    }
}

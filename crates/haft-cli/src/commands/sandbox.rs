//! `haft sandbox`: a command under the sandbox that Bash would use.

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf};

use haft_shell::sandbox::{Confinement, Network, SandboxError};

use crate::{
    cli::Options,
    exit::{Exit, usage},
    out::{self, Talk},
    place::Place,
    settings::SandboxLimits,
};

/// What can be typed after `haft sandbox`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Let it change what is in this directory, but for hooks and settings. May be repeated
    #[arg(long, value_name = "DIR")]
    write: Vec<PathBuf>,
    /// Keep this from being read. May be repeated
    #[arg(long, value_name = "PATH")]
    deny_read: Vec<PathBuf>,
    /// What it may reach: off, on, or only these hosts, each with a port behind a colon if only that one is meant; `*.` in front
    /// of a name stands for one or more labels
    #[arg(long, value_name = "off|on|HOST", num_args = 1.., value_delimiter = ',', default_value = "off")]
    network: Vec<String>,
    /// Let it connect to this Unix socket. May be repeated
    #[arg(long, value_name = "PATH")]
    socket: Vec<PathBuf>,
    /// Refuse to run it unless everything can be closed
    #[arg(long)]
    required: bool,
    /// How much memory it may use, with all that it starts [usual: what the machine can spare]
    #[arg(long, value_name = "MB")]
    memory_mb: Option<NonZeroUsize>,
    /// How many processes and threads it may have at once [usual: 8192]
    #[arg(long, value_name = "COUNT")]
    processes: Option<NonZeroUsize>,
    /// How large a file may become [usual: 65536]
    #[arg(long, value_name = "MB")]
    file_mb: Option<NonZeroUsize>,
    /// How much processor time it may use, with all that it starts
    #[arg(long, value_name = "SECONDS")]
    cpu_s: Option<NonZeroUsize>,
    /// How much stays free on each file system that it may write [usual: a fiftieth, at most 1024]
    #[arg(long, value_name = "MB")]
    disk_reserve_mb: Option<NonZeroUsize>,
    /// The command
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  haft sandbox -- cat README.md
  haft sandbox --write . --deny-read ~/.ssh -- make test
  haft sandbox --write . --network crates.io '*.crates.io' -- cargo fetch
  haft sandbox --network localhost:5432 -- psql -h localhost
  haft sandbox --write . --socket \"$SSH_AUTH_SOCK\" --network github.com:22 -- git push

Exit: the command's own code; 128 and the number for a signal; 2 if it cannot be confined as asked and was not run.";

pub(crate) fn run(options: &Options, args: &Args) -> anyhow::Result<Exit> {
    let place = Place::find(options.cwd.as_deref())?;
    let here = |paths: &[PathBuf]| paths.iter().map(|path| place.cwd.join(path)).collect();
    let confinement = Confinement {
        write: here(&args.write),
        // A protected name that is given by itself is meant.
        permitted: here(&args.write),
        deny_read: here(&args.deny_read),
        network: network(&args.network)?,
        sockets: (!args.socket.is_empty()).then(|| here(&args.socket)),
        required: args.required,
        limits: args.limits().applied(),
        home: place.home.clone(),
        ..Confinement::at(&place.cwd)
    };
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(usage("there is no command after `--`"));
    };
    let ended = confinement.foreground(program, arguments).map_err(refusal)?;
    Talk::new(options.verbose).detail(|| format!("sandbox {}", ended.level));
    ended.exceeded.iter().for_each(|limit| out::complain(&format!("stopped: {limit}")));
    ended.blocked.iter().for_each(|blocked| out::complain(&blocked.to_string()));
    ended.protected_changes.iter().for_each(|change| out::complain(&change.to_string()));
    Ok(Exit::Passed(ended.code))
}

impl Args {
    fn limits(&self) -> SandboxLimits {
        SandboxLimits {
            memory_mb: self.memory_mb,
            processes: self.processes,
            file_mb: self.file_mb,
            cpu_s: self.cpu_s,
            disk_reserve_mb: self.disk_reserve_mb,
        }
    }
}

/// One word, or a list of hosts.
fn network(words: &[String]) -> anyhow::Result<Network> {
    match words {
        [word] if word == "off" => Ok(Network::Off),
        [word] if word == "on" => Ok(Network::On),
        hosts if hosts.iter().any(|host| host.is_empty() || host == "off" || host == "on") => {
            Err(usage("--network takes `off`, `on`, or hosts, not several of them"))
        }
        hosts => Ok(Network::Hosts(hosts.to_vec())),
    }
}

/// What a shell says of a program that is not there is not what it says of a sandbox that is not there.
fn refusal(err: SandboxError) -> anyhow::Error {
    usage(err)
}

//! `haft mcp`: haft's tools and all configured servers, behind one policed door.

mod token; //    what clients by HTTP have to show
mod clients; //  where each client keeps its servers, and in which form
mod install; //  writing it there
mod streams; //  stdin and stdout, without threads

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use haft_mcp::server::{Door, DoorOptions, HttpOptions};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use crate::{
    cli::Options,
    exit::{Exit, usage},
    setup::Setup,
    watch,
};

/// What can be typed after `haft mcp`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Serve streamable HTTP on this address (at /mcp) instead of stdin and stdout. `:3000` is 127.0.0.1:3000
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Option<SocketAddr>,
    /// The file with the tokens that clients may show, each on a line: `TOKEN [user=NAME] [roles=A,B]`. Without it
    /// HAFT_MCP_TOKEN is taken if it is set; without either, a token is made and kept
    #[arg(long, value_name = "FILE", requires = "listen")]
    token_file: Option<PathBuf>,
    /// Ask for no token. On loopback only: every program on this machine may then use haft
    #[arg(long, requires = "listen", conflicts_with = "token_file")]
    no_token: bool,
    /// Another name by which clients may call this machine. May be repeated
    #[arg(long, value_name = "NAME", requires = "listen")]
    host: Vec<String>,
    /// Serve the transport before streamable HTTP as well, at /sse
    #[arg(long, requires = "listen")]
    sse: bool,
    /// Show this one server as if clients spoke to it: its tools under their own names, and none of haft's
    #[arg(long, value_name = "SERVER")]
    only: Option<String>,
    /// The same for the only server that is configured
    #[arg(long, conflicts_with = "only")]
    no_prefix: bool,
    /// Print what has to stand in a client's configuration
    #[arg(long, value_name = "CLIENT", value_parser = PossibleValuesParser::new(clients::names()), conflicts_with = "listen")]
    install: Option<String>,
    /// Write it there. What else is in the file stays, and the file as it was is kept beside it
    #[arg(long, requires = "install")]
    write: bool,
}

/// Through which door callers come.
const CHANNEL: &str = "mcp";

const EXAMPLES: &str = "\
Examples:
  haft mcp                                       serve the client that started it, on stdin and stdout
  haft mcp --listen 127.0.0.1:3000               serve by HTTP; says where the token is
  haft mcp --only github --allow mcp__github     one server, with rules in front of it
  haft mcp --install claude --write              tell Claude Code to use haft in this project";

/// `:3000` is what people type for loopback: nothing is opened to others by leaving something out.
fn address(text: &str) -> Result<SocketAddr, String> {
    let text = if text.starts_with(':') { format!("127.0.0.1{text}") } else { text.to_owned() };
    let text = text.replace("localhost:", "127.0.0.1:");
    text.parse().map_err(|_| "an address is like 127.0.0.1:3000, [::1]:3000 or :3000".to_owned())
}

pub(crate) fn run(options: Options, args: &Args) -> anyhow::Result<Exit> {
    match &args.install {
        // Nothing is read or run of what is here, so nothing is said about it.
        Some(client) => install::run(&options, args, client),
        None => open(&Setup::new(options)?, args),
    }
}

fn open(setup: &Setup, args: &Args) -> anyhow::Result<Exit> {
    let mut session = setup.session_options();
    session.caller.channel = Some(CHANNEL.to_owned());
    let options = DoorOptions {
        engine: setup.door_engine()?,
        session,
        upstreams: Some(setup.servers.upstreams.clone()),
        only: only(setup, args)?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        observer: setup.telemetry.requests(setup.talk),
    };
    for (name, why) in &setup.servers.left_out {
        setup.talk.detail(|| format!("the server {name} is left out: {why}"));
    }
    let runtime = watch::runtime()?;
    let served = runtime.block_on(async {
        let served = serve(setup, args, options).await;
        setup.settle().await;
        served
    });
    // A thread may still wait for the next line of a client that has not gone; nobody waits for the thread.
    runtime.shutdown_background();
    served
}

/// The server that clients see alone.
fn only(setup: &Setup, args: &Args) -> anyhow::Result<Option<String>> {
    let names: Vec<&str> =
        setup.servers.upstreams.all().iter().map(|upstream| upstream.server().name.as_str()).collect();
    let there_are = || {
        if names.is_empty() {
            "none is configured".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        }
    };
    match (&args.only, args.no_prefix, names.as_slice()) {
        (Some(name), ..) if names.contains(&name.as_str()) => Ok(Some(name.clone())),
        (Some(name), ..) => {
            let left_out = setup.servers.left_out.iter().find(|(left_out, _)| left_out == name);
            let why = left_out.map_or_else(there_are, |(_, why)| why.clone());
            Err(usage(format!("--only {name}: there is no such server: {why}")))
        }
        (None, true, [name]) => Ok(Some((*name).to_owned())),
        (None, true, _) => Err(usage(format!("--no-prefix is for exactly one server; {}", there_are()))),
        (None, false, _) => Ok(None),
    }
}

async fn serve(setup: &Setup, args: &Args, options: DoorOptions) -> anyhow::Result<Exit> {
    let door = Door::new(options);
    let served = async {
        match args.listen {
            Some(address) => listen(setup, args, &door, address).await,
            None => door.serve(streams::input(), streams::output()).await.context("the client"),
        }
    };
    tokio::pin!(served);
    let ended = tokio::select! {
        served = &mut served => Some(served),
        () = told_to_end() => None,
        () = ticking() => None,
    };
    let closing = async {
        door.close().await;
        // Clients that are there are still answered, as far as they can be.
        match ended {
            Some(ended) => ended,
            None => served.await,
        }
    };
    tokio::select! {
        ended = closing => ended.map(|()| Exit::Done),
        // Hooks may take their time, and whoever says it twice has none.
        () = told_to_end() => Ok(Exit::Interrupted),
    }
}

/// Wakes the runtime now and then, for ever. A clock that is set to an earlier time than all others costs two system calls, and
/// each call sets one, to its time limit: so there is always one that is set to an earlier time still. And what only the start,
/// or the start of a server, needed of the program is most of it: it need not stay in memory.
async fn ticking() {
    loop {
        tokio::time::sleep(TICK).await;
        let _ = tokio::task::spawn_blocking(watch::has_started).await;
    }
}

/// Shorter than the time limit of any call that does not end at once.
const TICK: Duration = Duration::from_secs(10);

/// Waits for somebody who wants us to end.
async fn told_to_end() {
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

async fn listen(setup: &Setup, args: &Args, door: &Door, address: SocketAddr) -> anyhow::Result<()> {
    if args.no_token && !address.ip().is_loopback() {
        return Err(usage(
            "--no-token is for loopback addresses alone; others would let in whoever reaches them",
        ));
    }
    let listener =
        TcpListener::bind(address).await.map_err(|err| usage(format!("--listen {address}: {err}")))?;
    let address = listener.local_addr()?;
    let found = if args.no_token { None } else { Some(token::find(args.token_file.as_deref())?) };
    setup.talk.remark(|| match &found {
        Some(found) => serving(&address, found),
        None => {
            format!("serving http://{address}/mcp without a token: every program on this machine may use it")
        }
    });
    let badges = found.map(|found| found.badges);
    let options = HttpOptions { badges, hosts: args.host.clone(), sse: args.sse };
    door.listen(listener, options).await.context("the listener")
}

fn serving(address: &SocketAddr, found: &token::Found) -> String {
    let tokens = if found.badges.len() == 1 { "the token is" } else { "the tokens are" };
    format!("serving http://{address}/mcp; {tokens} in {}", found.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_loopback() {
        assert_eq!(address(":3000").unwrap(), "127.0.0.1:3000".parse().unwrap());
        assert_eq!(address("localhost:3000").unwrap(), "127.0.0.1:3000".parse().unwrap());
        assert_eq!(address("[::1]:0").unwrap(), "[::1]:0".parse().unwrap());
        assert!(address("3000").is_err() && address("example.org:80").is_err());
    }
}

//! `haft login` and `haft logout`: tokens for servers that want to know who asks.

use std::sync::Arc;

use anyhow::anyhow;
use haft_mcp::auth::{Authorizer, Loopback};
use serde_json::json;

use crate::{
    ask::may_ask,
    browser,
    cli::Options,
    draw::plain_line,
    exit::Exit,
    out::{self, Out},
    setup::Setup,
    watch,
};

/// What can be typed after `haft login`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The server, as your settings call it
    server: String,
    /// Ask for this besides what was granted before. May be repeated
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// Only print the address to open
    #[arg(long)]
    no_browser: bool,
    /// Listen on this port of 127.0.0.1 for your return; any free one if it is left out
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

const EXAMPLES: &str = "\
You are sent to the server's authorization server with a browser, and come back to a page that
haft shows on this machine. What it gets is kept in a file that only you can read, and renewed
when it ends. Nothing of a token is printed.

Examples:
  haft login github
  haft login github --scope repo --no-browser

Exit: 0 logged in, 1 it did not work, 2 no such server.";

/// What can be typed after `haft logout`.
#[derive(Debug, clap::Args)]
pub(crate) struct OutArgs {
    /// The server, as your settings call it
    server: String,
}

pub(crate) fn login(setup: &Setup, args: &Args) -> anyhow::Result<Exit> {
    let (authorizer, port) = setup.authorizer(&args.server)?;
    let opens = !args.no_browser && may_ask(&setup.options);
    let port = args.port.or(port).unwrap_or(0);
    watch::runtime()?.block_on(visit(authorizer, port, opens, &args.scope))?;
    say(&setup.options, &args.server, "logged in")
}

async fn visit(authorizer: Authorizer, port: u16, opens: bool, scopes: &[String]) -> anyhow::Result<()> {
    let show = move |address: &str| show(address, opens);
    let listener = Loopback::listen(port, show).await;
    let listener = listener.map_err(|err| anyhow!("127.0.0.1:{port} cannot be listened on: {err}"))?;
    let authorizer = authorizer.with_visitor(Arc::new(listener));
    authorizer.login(scopes).await.map_err(|err| anyhow!("{err}"))
}

/// To stderr: stdout is for the outcome.
fn show(address: &str, opens: bool) {
    out::complain(&format!("Open this address to log in:\n  {}", plain_line(address.to_owned())));
    if opens && !browser::open(address) {
        out::complain("(no browser could be opened here)");
    }
}

pub(crate) fn logout(setup: &Setup, args: &OutArgs) -> anyhow::Result<Exit> {
    let (authorizer, _) = setup.authorizer(&args.server)?;
    let was_in = authorizer.logout()?;
    say(&setup.options, &args.server, if was_in { "logged out" } else { "there was nothing to forget" })
}

fn say(options: &Options, server: &str, words: &str) -> anyhow::Result<Exit> {
    let mut out = Out::stdout();
    match options.json {
        true => out.json(&json!({ "server": server, "outcome": words }))?,
        false => out.lines(&format!("{}: {words}", plain_line(server.to_owned())))?,
    }
    out.flush()?;
    Ok(Exit::Done)
}

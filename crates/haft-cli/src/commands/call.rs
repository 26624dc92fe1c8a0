//! `haft call`: one call through the whole pipeline.

use std::{
    io::{self, Read},
    sync::Arc,
};

use haft_engine::{Call, Session, policy::Decision, result::ToolResult, turn::Event};
use haft_tool::Block;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    draw::plain,
    exit::{Exit, usage},
    out::Out,
    setup::Setup,
    watch::{self, Calls, Teller, Watched},
    wire,
};

/// What can be typed after `haft call`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The tool's name, or another name that it has
    tool: String,
    /// Its input as JSON; `-` reads it from stdin; without it, no arguments
    #[arg(value_name = "JSON")]
    input: Option<String>,
    /// The call's id. Sent again in the same session, a call of this id is answered from the journal and not made again
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  haft call Read '{\"file_path\":\"src/main.rs\",\"limit\":20}'
  haft call List --json
  echo '{\"path\":\"/etc\"}' | haft call List - --allow 'Read(//etc)'";

pub(crate) fn run(setup: &Setup, args: Args) -> anyhow::Result<Exit> {
    let session = setup.session(&setup.engine()?)?;
    let call = Call::new(id(setup, args.id), args.tool, input(args.input)?);
    let runtime = watch::runtime()?;
    // Shown before servers are ended: some take their time.
    let shown = runtime.block_on(setup.servers.around(async {
        let (result, decision, interrupted) = make(setup, &session, call).await?;
        setup.settle().await;
        show(setup, &session, &result, decision.as_deref())?;
        Ok(if interrupted { Exit::Interrupted } else { Exit::of(&result) })
    }));
    // A thread may still work for a call that was given up; nobody waits for the thread.
    runtime.shutdown_background();
    shown
}

fn show(
    setup: &Setup,
    session: &Session,
    result: &ToolResult,
    decision: Option<&Decision>,
) -> anyhow::Result<()> {
    setup.remember(session);
    let mut out = Out::stdout();
    if setup.options.json {
        let mut told = wire::result(result);
        told["decision"] = decision.map_or(Value::Null, wire::decision);
        told["session"] = session.id().as_str().into();
        out.json(&told)?;
    } else {
        let text = text(result);
        out.lines(&if out.is_terminal() { plain(text) } else { text })?;
    }
    Ok(out.flush()?)
}

/// In a session that goes on, each call is another one, unless somebody says that it is the same.
fn id(setup: &Setup, given: Option<String>) -> String {
    match (given, &setup.options.session) {
        (Some(id), _) => id,
        (None, Some(_)) => format!("call_{}", Uuid::now_v7().simple()),
        (None, None) => "call_1".to_owned(),
    }
}

fn input(given: Option<String>) -> anyhow::Result<String> {
    match given.as_deref() {
        None => Ok("{}".to_owned()),
        Some("-") => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map_err(|err| usage(format!("stdin: {err}")))?;
            String::from_utf8(bytes).map_err(|err| usage(format!("stdin: the input is not UTF-8: {err}")))
        }
        Some(_) => Ok(given.unwrap_or_default()),
    }
}

/// The result, what was decided about the call, and whether somebody pressed Ctrl-C.
async fn make(
    setup: &Setup,
    session: &Session,
    call: Call,
) -> anyhow::Result<(ToolResult, Option<Arc<Decision>>, bool)> {
    // Nothing is started for a tool that is there.
    if session.pool().find(&call.name).is_none() {
        setup.servers.upstreams.acquaint().await;
    }
    let mut teller = Teller::new(setup.talk, session);
    let mut decision = None;
    let watched = watch::run(session, setup.talk, Calls::All(vec![call]), |event| {
        if let Event::Started { decision: made, .. } | Event::Refused { decision: made, .. } = event {
            decision = Some(made.clone());
        }
        teller.tell(event);
        Ok(())
    });
    let Watched { mut results, interrupted } = watched.await?;
    let result = results.pop().ok_or_else(|| anyhow::anyhow!("the turn ended without a result"))?;
    Ok((result, decision, interrupted))
}

/// What the model would read. What is not text is named.
fn text(result: &ToolResult) -> String {
    let mut lines: Vec<String> = result.blocks.iter().map(words).collect();
    lines.extend(result.messages.iter().cloned());
    lines.join("\n")
}

fn words(block: &Block) -> String {
    match block {
        Block::Text(text) => text.clone(),
        Block::Image { media_type, .. }
        | Block::Audio { media_type, .. }
        | Block::Document { media_type, .. } => {
            format!("[{media_type}, {} bytes: use --json to get them]", block.len())
        }
        Block::Link { uri, name, .. } => format!("[{name}: {uri}]"),
    }
}

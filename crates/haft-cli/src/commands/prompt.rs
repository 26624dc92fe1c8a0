//! `haft prompt`: what servers have written for people to begin with.

use std::sync::Arc;

use anyhow::anyhow;
use haft_engine::{Call, Session, policy::Verdict};
use haft_mcp::upstream::Upstream;
use serde_json::{Map, Value, json};

use crate::{
    draw::{plain, plain_line},
    exit::{Exit, usage},
    out::Out,
    setup::{self, Setup},
    watch,
};

/// What can be typed after `haft prompt`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The server, as your settings call it; without it, all that have prompts
    server: Option<String>,
    /// The prompt; without it, all of the server are listed
    name: Option<String>,
    /// What the prompt wants to know
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
}

const EXAMPLES: &str = "\
A rule that denies a server (mcp__github) denies its prompts. Picking one is otherwise the permission.

Examples:
  haft prompt
  haft prompt github review number=12
  haft run \"$(haft prompt github review number=12)\"";

pub(crate) fn run(setup: &Setup, args: &Args) -> anyhow::Result<Exit> {
    setup.servers.acquaint()?;
    let mut out = Out::stdout();
    match (&args.server, &args.name) {
        (Some(server), Some(name)) => {
            let (upstream, given) = (upstream(setup, server)?, arguments(&args.arguments)?);
            let session = setup::begin(&setup.idle_engine()?, setup.resumed_options()?)?;
            let asked = setup.servers.around(get(&session, upstream, name, given));
            let answer = watch::runtime()?.block_on(asked).map_err(|why| anyhow!(why))?;
            if setup.options.json { out.json(&answer)? } else { out.lines(&plain(words(&answer)))? }
        }
        (Some(server), None) => list(setup, &[upstream(setup, server)?.clone()], &mut out)?,
        (None, _) => list(setup, setup.servers.upstreams.all(), &mut out)?,
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn upstream<'a>(setup: &'a Setup, name: &str) -> anyhow::Result<&'a Arc<Upstream>> {
    let left_out = || setup.servers.left_out.iter().find(|(left_out, _)| left_out == name);
    setup.servers.upstreams.get(name).ok_or_else(|| match left_out() {
        Some((_, why)) => usage(format!("the server `{name}` is left out: {why}")),
        None => usage(format!("there is no server `{name}`; `haft doctor` lists them")),
    })
}

fn arguments(given: &[String]) -> anyhow::Result<Map<String, Value>> {
    let one = |given: &String| match given.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.into())),
        None => Err(usage(format!("`{given}` is no KEY=VALUE"))),
    };
    given.iter().map(one).collect()
}

fn list(setup: &Setup, upstreams: &[Arc<Upstream>], out: &mut Out) -> anyhow::Result<()> {
    let of_one = |upstream: &Arc<Upstream>| {
        let server = upstream.server().name.clone();
        let prompts = upstream.known().prompts.clone();
        prompts.into_iter().map(move |prompt| (server.clone(), prompt)).collect::<Vec<_>>()
    };
    let all: Vec<(String, Map<String, Value>)> = upstreams.iter().flat_map(of_one).collect();
    if setup.options.json {
        let one =
            |(server, prompt): &(String, Map<String, Value>)| json!({ "server": server, "prompt": prompt });
        return Ok(out.json(&json!({ "prompts": all.iter().map(one).collect::<Vec<_>>() }))?);
    }
    if all.is_empty() {
        return Ok(out.lines("No server has prompts.")?);
    }
    for (server, prompt) in &all {
        out.lines(&plain_line(line(server, prompt)))?;
    }
    Ok(())
}

/// As it is typed, and what it is for.
fn line(server: &str, prompt: &Map<String, Value>) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let wanted = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten().map(|argument| {
        let name = text(argument.get("name"));
        let is_required = argument.get("required") == Some(&Value::Bool(true));
        if is_required { format!(" {name}=…") } else { format!(" [{name}=…]") }
    });
    let head = format!("{server} {}{}", text(prompt.get("name")), wanted.collect::<String>());
    match text(prompt.get("description")).lines().next() {
        Some(first) if !first.is_empty() => format!("{head}  {first}"),
        _ => head,
    }
}

/// A prompt as its server gives it, without secrets; or why it is not shown.
pub(crate) async fn get(
    session: &Session,
    upstream: &Upstream,
    name: &str,
    given: Map<String, Value>,
) -> Result<Value, String> {
    let server = &upstream.server().name;
    // What holds for its resources holds for its prompts, as at the door.
    let like = Call::new("prompt", "ReadMcpResource", json!({ "server": server, "uri": "prompt" }));
    let answer = match session.explain(like).await {
        Ok(explained) if explained.decision.verdict == Verdict::Deny => Err(explained.decision.reason()),
        _ => upstream.prompt(name, given).await.map_err(|fault| fault.message().to_owned()),
    };
    let mut answer = answer?;
    if let Some(redactor) = session.redactor() {
        redactor.redact_json(&mut answer);
    }
    Ok(answer)
}

/// What the messages say. One of a model is marked as such: mostly there is one, of the user.
pub(crate) fn words(answer: &Value) -> String {
    let messages = answer.get("messages").and_then(Value::as_array).into_iter().flatten();
    let message = |message: &Value| {
        let said = said(message.get("content").unwrap_or(&Value::Null));
        let is_model = message.get("role").is_some_and(|role| role == "assistant");
        if is_model { format!("assistant: {said}") } else { said }
    };
    messages.map(message).collect::<Vec<_>>().join("\n\n")
}

fn said(content: &Value) -> String {
    if let Value::Array(blocks) = content {
        return blocks.iter().map(said).collect::<Vec<_>>().join("\n");
    }
    let text = |pointer: &str| content.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let kind = || text("/type").unwrap_or_else(|| "nothing".to_owned());
    text("/text")
        .or_else(|| text("/resource/text"))
        .unwrap_or_else(|| format!("[{}: use --json to get it]", kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_shown_as_it_is_typed() {
        let prompt = json!({ "name": "review", "description": "Reviews it.\nWell.", "arguments": [{ "name": "number", "required": true }, { "name": "tone" }] });
        let line = line("github", prompt.as_object().unwrap());
        assert_eq!(line, "github review number=… [tone=…]  Reviews it.");
    }

    #[test]
    fn the_words_of_a_prompt_are_those_of_its_messages() {
        let answer = json!({ "messages": [
            { "role": "user", "content": { "type": "text", "text": "look" } },
            { "role": "assistant", "content": [{ "type": "resource", "resource": { "text": "inside" } }, { "type": "image", "data": "" }] },
        ] });
        assert_eq!(words(&answer), "look\n\nassistant: inside\n[image: use --json to get it]");
    }

    #[test]
    fn an_argument_is_a_key_and_a_value() {
        let given = arguments(&["a=b=c".to_owned()]).unwrap();
        assert_eq!(given.get("a"), Some(&"b=c".into()));
        assert!(arguments(&["a".to_owned()]).is_err());
    }
}

//! `haft turn`: a model's message in, the message with the results out.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    thread,
};

use haft_engine::{Call, Session, result::ToolResult};
use haft_model::Dialect;
use haft_tool::CallId;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::{
    exit::{Exit, usage},
    model::dialects,
    out::Out,
    setup::Setup,
    surrogates::WholeSurrogates,
    watch::{self, Calls, Teller, Watched},
    wire,
};

/// What can be typed after `haft turn`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The message, as the API gave it; stdin if it is left out or `-`
    file: Option<PathBuf>,
    /// The API whose JSON it is; told from its shape if it is left out
    #[arg(long, value_parser = dialects())]
    dialect: Option<Dialect>,
    /// Print events as lines of JSON while they happen. The input may then be a sequence of messages or calls, each of
    /// which is taken up as soon as it is complete
    #[arg(long)]
    stream: bool,
    /// Refer to tools that were loaded instead of describing them, where the API knows references: for requests with
    /// the tools of `haft tools --references`
    #[arg(long)]
    references: bool,
}

impl Args {
    fn results(&self, dialect: Dialect, results: &[ToolResult]) -> Value {
        if self.references { dialect.results_referring(results) } else { dialect.results(results) }
    }
}

const EXAMPLES: &str = "\
Examples:
  haft turn message.json > results.json
  echo '[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"List\",\"input\":{}}]' | haft turn --stream";

pub(crate) fn run(setup: &Setup, args: &Args) -> anyhow::Result<Exit> {
    let input = Input::open(args.file.as_deref())?;
    if args.stream { stream(setup, args, input) } else { whole(setup, args, input) }
}

/// A message that is there.
fn whole(setup: &Setup, args: &Args, mut input: Input) -> anyhow::Result<Exit> {
    let mut bytes = Vec::new();
    input.from.read_to_end(&mut bytes).map_err(|err| input.wrong(err))?;
    let text = String::from_utf8(bytes).map_err(|err| input.wrong(format!("not UTF-8: {err}")))?;
    if text.trim().is_empty() {
        return Err(input.wrong(NO_MESSAGE));
    }
    // Some models write lone surrogates, which no strict parser takes: the lenient one is asked second.
    let message: Value = serde_json::from_str(&text)
        .or_else(|err| haft_schema::parse(&text).map_err(|_| err))
        .map_err(|err| input.wrong(format!("not a JSON message: {err}")))?;
    drop(text);
    let mut decoder = Decoder::new(args.dialect);
    let calls = decoder.calls(&message).map_err(|err| input.wrong(err))?;
    let dialect = decoder.dialect().map_err(|err| input.wrong(err))?;
    let session = setup.session(&setup.engine()?)?;
    in_runtime(setup.servers.around(async {
        if decoder.makes_ids {
            session.count_calls_anew();
        }
        setup.servers.upstreams.acquaint().await;
        let mut teller = Teller::new(setup.talk, &session);
        let watched = watch::run(&session, setup.talk, Calls::All(calls), |event| {
            teller.tell(event);
            Ok(())
        });
        let watched = watched.await?;
        setup.settle().await;
        setup.remember(&session);
        // Before servers are ended: some take their time.
        let mut out = Out::stdout();
        out.json(&args.results(dialect, &watched.results))?;
        out.flush()?;
        Ok(watched.exit())
    }))
}

/// A message that comes, and events that go.
fn stream(setup: &Setup, args: &Args, input: Input) -> anyhow::Result<Exit> {
    let session = setup.session(&setup.engine()?)?;
    let mut out = Out::stdout();
    in_runtime(setup.servers.around(async {
        let (watched, dialect) = watch_stream(setup, &session, args, input, &mut out).await?;
        setup.settle().await;
        setup.remember(&session);
        out.json(&last_line(dialect, args.results(dialect, &watched.results), &session))?;
        out.flush()?;
        Ok(watched.exit())
    }))
}

async fn watch_stream(
    setup: &Setup,
    session: &Session,
    args: &Args,
    input: Input,
    out: &mut Out,
) -> anyhow::Result<(Watched, Dialect)> {
    setup.servers.upstreams.acquaint().await;
    let mut teller = Teller::new(setup.talk, session);
    let (calls, dialect) = read_aside(input, args.dialect, session.clone());
    let watched = watch::run(session, setup.talk, Calls::Coming(calls), |event| {
        teller.tell(event);
        out.json(&wire::event(event))?;
        // At once: whoever waits for a result should not wait for the buffer.
        Ok(out.flush()?)
    });
    let watched = watched.await?;
    // Where no value told, there was no call: an answer without results is as empty in every dialect.
    Ok((watched, *dialect.get().unwrap_or(&Dialect::Anthropic)))
}

fn last_line(dialect: Dialect, message: Value, session: &Session) -> Value {
    json!({
        "type": "message",
        "dialect": dialect.name(),
        "session": session.id(),
        "message": message,
    })
}

fn in_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = watch::runtime()?;
    let done = runtime.block_on(work);
    // A thread may still wait for stdin; nobody waits for the thread.
    runtime.shutdown_background();
    done
}

impl Watched {
    fn exit(&self) -> Exit {
        if self.interrupted { Exit::Interrupted } else { Exit::Done }
    }
}

/// Where the message comes from.
struct Input {
    name: String,
    from: Box<dyn Read + Send>,
}

impl Input {
    fn open(file: Option<&Path>) -> anyhow::Result<Input> {
        match file.filter(|file| *file != Path::new("-")) {
            None => Ok(Input { name: "stdin".to_owned(), from: Box::new(io::stdin()) }),
            Some(path) => {
                let name = path.display().to_string();
                let file = File::open(path).map_err(|err| usage(format!("{name}: {err}")))?;
                Ok(Input { name, from: Box::new(file) })
            }
        }
    }

    fn wrong(&self, what: impl std::fmt::Display) -> anyhow::Error {
        wrong(&self.name, what)
    }
}

fn wrong(name: &str, what: impl std::fmt::Display) -> anyhow::Error {
    usage(format!("{name}: {what}"))
}

/// Reads values on a thread of its own, so that calls run while the input still comes.
fn read_aside(
    input: Input,
    dialect: Option<Dialect>,
    session: Session,
) -> (Receiver<anyhow::Result<Call>>, Arc<OnceLock<Dialect>>) {
    // Few, so that a long input waits in the pipe and not in memory.
    let (calls, coming) = channel(16);
    let told = Arc::new(OnceLock::new());
    let tell = Arc::clone(&told);
    thread::spawn(move || {
        if let Err(err) = feed(input, Decoder::new(dialect), &tell, (&session, &calls)) {
            // If the turn is over, so is the interest in what is wrong.
            let _ = calls.blocking_send(Err(err));
        }
    });
    (coming, told)
}

fn feed(
    input: Input,
    mut decoder: Decoder,
    tell: &OnceLock<Dialect>,
    (session, calls): (&Session, &Sender<anyhow::Result<Call>>),
) -> anyhow::Result<()> {
    let Input { name, from } = input;
    let from = BufReader::new(WholeSurrogates::new(from));
    let values = serde_json::Deserializer::from_reader(from).into_iter::<Value>();
    for value in values {
        let value = value.map_err(|err| wrong(&name, format!("not a sequence of JSON values: {err}")))?;
        let found = decoder.calls(&value).map_err(|err| wrong(&name, err))?;
        if let Some(settled) = decoder.settled {
            tell.get_or_init(|| settled);
        }
        if decoder.makes_ids {
            session.count_calls_anew();
        }
        for call in found {
            if calls.blocking_send(Ok(call)).is_err() {
                return Ok(()); // The turn is over.
            }
        }
    }
    let dialect = decoder.dialect().map_err(|err| wrong(&name, err))?;
    tell.get_or_init(|| dialect);
    Ok(())
}

/// Finds the calls in messages, or in single blocks, of a dialect that may have to be told from them.
struct Decoder {
    /// Asked for, or told by a call.
    settled: Option<Dialect>,
    /// What the last value looked like. Without a call, a part of one API's message may look like another's.
    guess: Option<Dialect>,
    ids: HashSet<CallId>,
    /// Whether calls came without ids, and have got some that only say where they stand.
    makes_ids: bool,
}

const NO_DIALECT: &str = "no API writes such a message; name its dialect with --dialect, if it has one";
const NO_MESSAGE: &str = "there is no message";

impl Decoder {
    fn new(dialect: Option<Dialect>) -> Decoder {
        Decoder { settled: dialect, guess: None, ids: HashSet::new(), makes_ids: false }
    }

    fn dialect(&self) -> anyhow::Result<Dialect> {
        self.settled.or(self.guess).ok_or_else(|| usage(NO_MESSAGE))
    }

    fn calls(&mut self, value: &Value) -> anyhow::Result<Vec<Call>> {
        // A block is a message's content of one.
        let alone = value.is_object().then(|| Value::Array(vec![value.clone()]));
        let of_block = alone.as_ref().and_then(Dialect::detect);
        let detected = Dialect::detect(value);
        let dialect = self.settled.or(detected).or(of_block).ok_or_else(|| usage(NO_DIALECT))?;
        let calls = match (dialect.calls(value), &alone) {
            (Err(_), Some(alone)) if of_block == Some(dialect) => dialect.calls(alone)?,
            (calls, _) => calls?,
        };
        self.guess = Some(dialect);
        if !calls.is_empty() {
            self.settled = Some(dialect);
        }
        calls.into_iter().map(|call| self.unique(call, dialect)).collect()
    }

    /// Results are told apart by the ids of their calls. Gemini leaves ids out, and those that are made instead begin
    /// anew with each value: such a call gets the next one.
    fn unique(&mut self, mut call: Call, dialect: Dialect) -> anyhow::Result<Call> {
        let is_place = |id: &str| id.strip_prefix("call_").is_some_and(|place| place.parse::<u32>().is_ok());
        self.makes_ids |= dialect == Dialect::Gemini && is_place(call.id.as_str());
        let mut number = self.ids.len();
        while !self.ids.insert(call.id.clone()) {
            if dialect != Dialect::Gemini {
                anyhow::bail!("two calls have the id `{}`", call.id);
            }
            call.id = CallId::from(format!("call_{number}"));
            number += 1;
        }
        Ok(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &str, expected: &str) {
        let mut decoder = Decoder::new(None);
        let mut found = Vec::new();
        for value in serde_json::Deserializer::from_str(values).into_iter::<Value>() {
            let calls = decoder.calls(&value.unwrap()).map_err(|err| err.to_string());
            match calls {
                Ok(calls) => found.extend(calls.into_iter().map(|call| format!("{}={}", call.id, call.name))),
                Err(err) => found.push(err),
            }
        }
        let dialect = decoder.dialect().map_or("none", Dialect::name);
        assert_eq!(format!("{dialect}: {}", found.join(", ")), expected);
    }

    #[test]
    fn messages_and_single_blocks_are_read() {
        check(
            r#"{"type":"text","text":"hm"} {"type":"tool_use","id":"a","name":"X","input":{}}
               {"role":"assistant","content":[{"type":"tool_use","id":"b","name":"Y","input":{}}]}"#,
            "anthropic: a=X, b=Y",
        );
        check(r#"{"id":"a","type":"function","function":{"name":"X","arguments":"{}"}}"#, "openai: a=X");
        check(r#"{"type":"function_call","call_id":"a","name":"X","arguments":"{}"}"#, "responses: a=X");
        check(
            r#"{"functionCall":{"name":"X"}} {"functionCall":{"name":"Y"}} {"functionCall":{"name":"Z"}}"#,
            "gemini: call_0=X, call_1=Y, call_2=Z",
        );
        check(r#"{"role":"assistant","content":"done"}"#, "openai: ");
    }

    #[test]
    fn what_nobody_writes_is_refused() {
        check("3", &format!("none: {NO_DIALECT}"));
        check(
            r#"[{"type":"tool_use","id":"a","name":"X"}] [{"type":"tool_use","id":"a","name":"X"}]"#,
            "anthropic: a=X, two calls have the id `a`",
        );
    }
}

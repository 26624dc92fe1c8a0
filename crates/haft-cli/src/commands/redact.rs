//! `haft redact`: text without its secrets.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, ErrorKind, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use haft_redact::{Redactor, Stream};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    cli::Options,
    exit::{Exit, usage},
    out::Out,
    secrets::redactor,
    settings::Settings,
};

/// What can be typed after `haft redact`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Read texts, a line of JSON each ({"id","text"}), from this file or stdin; print as many lines {"id","text","found"}
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    batch: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  make deploy 2>&1 | haft redact
  haft redact < app.log > app.clean.log
  haft redact --batch texts.jsonl

The values of variables of the environment whose names look like a secret's (TOKEN, KEY, PASSWORD …) are hidden, too.
Lines are given out as they come; of a line that does not end, at most 36 KB are kept back.";

pub(crate) fn run(options: &Options, args: &Args) -> anyhow::Result<Exit> {
    let settings = Settings::read(options.config.as_deref(), &[])?;
    let redactor = Arc::new(redactor(&settings.secrets));
    match &args.batch {
        Some(file) => batch(&redactor, file)?,
        None => live(redactor, io::stdin().lock())?,
    }
    Ok(Exit::Done)
}

/// What comes in goes out as soon as its line is whole.
fn live(redactor: Arc<Redactor>, mut input: impl Read) -> anyhow::Result<()> {
    let (mut stream, mut out) = (Stream::new(redactor), Out::stdout());
    let (mut bytes, mut clean) = (vec![0; 64 * 1024], Vec::new());
    while !out.is_closed() {
        match input.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => stream.push_bytes(&bytes[..count], &mut clean),
            Err(err) if err.kind() == ErrorKind::Interrupted => continue,
            Err(err) => return Err(err.into()),
        }
        out.bytes(&clean)?;
        out.flush()?;
        clean.clear();
    }
    stream.finish_bytes(&mut clean);
    out.bytes(&clean)?;
    Ok(out.flush()?)
}

/// A line of a batch.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Value,
    text: String,
}

fn batch(redactor: &Redactor, file: &Path) -> anyhow::Result<()> {
    let input: Box<dyn BufRead> = match file.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(BufReader::new(
            File::open(file).map_err(|err| usage(format!("{}: {err}", file.display())))?,
        )),
    };
    let mut out = Out::stdout();
    for (index, line) in input.lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let Line { id, text } = serde_json::from_str(&line).map_err(|err| {
            usage(format!("line {}: {err}; a line is {{\"id\":…,\"text\":\"…\"}}", index + 1))
        })?;
        let redacted = redactor.redact(&text);
        out.json(
            &json!({ "id": id, "text": redacted.text, "found": redacted.found.kinds().collect::<Vec<_>>() }),
        )?;
        out.flush()?;
    }
    Ok(())
}

//! `haft log`: the calls that were made.

mod table; //  many calls
mod show; //   one call
mod diff; //   what it changed in files
mod export; // all that is kept
mod when; //   times, as people write and read them

use std::{collections::BTreeSet, path::Path, time::Duration};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use haft_engine::session::CallState;
use haft_store::{Book, CallFilter, CallNo, CallRow, EventFilter, EventKind, EventRow, results::Handle};
use serde_json::{Value, json};

pub(crate) use when::Page;
#[cfg(test)]
pub(crate) use when::tests::plain;

use crate::{
    cli::{Options, With},
    exit::{Exit, usage},
    out::Out,
    settings::Settings,
    store::{self, Store},
    watch,
};

/// What can be typed after `haft log`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    which: Which,
    /// Go on: show calls as they are made, until Ctrl-C
    #[arg(long)]
    follow: bool,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Shows one call: its input, what was decided and why, its result, all that happened to it
    Show(Box<With<Show>>),
    /// Writes the whole of a large result, of which the model got a part
    Result(Box<With<Large>>),
    /// Writes all that is kept as lines of JSON: sessions, turns, events of sessions, calls with their events
    ///
    /// --session, --since and --until hold for all of it; the other filters choose calls, and then calls are all there is.
    Export(Box<With<Which>>),
}

#[derive(Debug, clap::Args)]
struct Show {
    /// The call's number, or its id
    call: String,
}

#[derive(Debug, clap::Args)]
struct Large {
    /// Its handle, as `haft log show` has it: result:SESSION/CALL. Or the call's number or id
    handle: String,
}

/// Which calls.
#[derive(Debug, Clone, clap::Args)]
struct Which {
    /// Of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// With this verdict of the rules
    #[arg(long, value_parser = ["allow", "ask", "deny"])]
    verdict: Option<String>,
    /// That came this far
    #[arg(long, value_parser = states())]
    state: Option<CallState>,
    /// That touched this: a path with all below it, or a pattern with `*` and `?`
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Since then: `2h`, `3d`, `2026-11-16`, `2026-11-16T09:30`
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Until then
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

const EXAMPLES: &str = "\
Examples:
  haft log                                   the latest calls, of all sessions
  haft log --tool Bash --since 2h
  haft log --path src/main.rs                who touched it
  haft log --verdict deny --json
  haft log show 42                           one of them
  haft log result 42                         all of a result that was too large for the model
  haft log export --session work > work.jsonl";

/// So many calls are shown, if nobody says how many.
const USUAL: usize = 50;
/// How often whoever follows looks.
const LOOK: Duration = Duration::from_millis(250);
/// So many are read at a time.
const PAGE: usize = 1000;
/// On a server that several write to, a call gets its number before the others can see it, and one with a larger number may be
/// seen first. So many numbers are looked at again.
const OVERLAP: i64 = 1000;

fn states() -> impl TypedValueParser<Value = CallState> {
    PossibleValuesParser::new(["open", "finished", "refused", "cut_off"]).map(|name| match name.as_str() {
        "open" => CallState::Open,
        "finished" => CallState::Finished,
        "refused" => CallState::Refused,
        _ => CallState::CutOff,
    })
}

pub(crate) fn run(options: &Options, args: &Args) -> anyhow::Result<Exit> {
    let more = match &args.what {
        None => Options::default(),
        Some(What::Show(show)) => show.options.clone(),
        Some(What::Result(large)) => large.options.clone(),
        Some(What::Export(export)) => export.options.clone(),
    };
    let options = &options.clone().and(more);
    let settings = Settings::read(options.config.as_deref(), &[])?;
    let store = store::open(&settings)?;
    let log = Log { options, settings: &settings, store: &store, page: Page::stdout() };
    let runtime = watch::runtime()?;
    runtime.block_on(async {
        match &args.what {
            None if args.follow => log.follow(&args.which).await,
            None => log.list(&args.which).await,
            Some(What::Show(show)) => log.show(&show.args.call).await,
            Some(What::Result(large)) => log.result(&large.args.handle).await,
            Some(What::Export(export)) => log.export(&export.args).await,
        }
    })
}

struct Log<'a> {
    options: &'a Options,
    settings: &'a Settings,
    store: &'a Store,
    page: Page,
}

impl Log<'_> {
    fn book(&self) -> &dyn Book {
        &*self.store.book
    }

    fn filter(&self, which: &Which) -> anyhow::Result<CallFilter> {
        let at = |text: &Option<String>| text.as_deref().map(|text| self.page.clock.parse(text)).transpose();
        Ok(CallFilter {
            session: self.options.session.as_deref().map(Into::into),
            tool: which.tool.clone(),
            verdict: which.verdict.clone(),
            state: which.state,
            path: which
                .path
                .as_deref()
                .map(|path| absolute(path, self.options.cwd.as_deref()))
                .transpose()?,
            since: at(&which.since)?,
            until: at(&which.until)?,
            most: which.limit.unwrap_or(USUAL),
            ..CallFilter::default()
        })
    }

    async fn list(&self, which: &Which) -> anyhow::Result<Exit> {
        let mut calls = self.book().calls(self.filter(which)?).await?;
        // The latest are asked for, and read from the top like everything that happened.
        calls.reverse();
        let mut out = Out::stdout();
        match self.options.json {
            true => calls.iter().try_for_each(|call| out.json(call))?,
            false => out.text(&table::all(&calls, &self.page))?,
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    async fn follow(&self, which: &Which) -> anyhow::Result<Exit> {
        let filter = self.filter(which)?;
        let mut latest =
            self.book().calls(CallFilter { most: which.limit.unwrap_or(10), ..filter.clone() }).await?;
        latest.reverse();
        let overlap = if self.store.shared_book().is_some() { OVERLAP } else { 0 };
        let mut following = Following::after(latest.last().map_or(0, |call| call.no.0), overlap);
        // What was there before is not news.
        following.news(self.book(), &filter).await?;
        let mut out = Out::stdout();
        if !self.options.json {
            out.text(&table::heading(&self.page))?;
        }
        loop {
            for call in &latest {
                match self.options.json {
                    true => out.json(call)?,
                    false => out.text(&table::line(call, &self.page))?,
                }
            }
            out.flush()?;
            if out.is_closed() {
                return Ok(Exit::Done);
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                _ = tokio::signal::ctrl_c() => return Ok(Exit::Done),
            }
            latest = following.news(self.book(), &filter).await?;
        }
    }

    async fn show(&self, wanted: &str) -> anyhow::Result<Exit> {
        let call = self.find(wanted).await?;
        let mut whole = self.whole(&call).await?;
        let diff = self.diff(whole["events"].clone()).await;
        let mut out = Out::stdout();
        match self.options.json {
            true => {
                whole["diff"] = diff.into();
                out.json(&whole)?;
            }
            false => out.lines(&show::one(&call, &whole, &diff, &self.page.clock))?,
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    /// The whole of a large result, as it is.
    async fn result(&self, wanted: &str) -> anyhow::Result<Exit> {
        let results = store::results(self.settings)?;
        let (handle, missing) = match wanted.strip_prefix("result:") {
            Some(_) => (wanted.to_owned(), format!("{wanted} is not kept any more, or never was")),
            None => (
                self.handle_of(wanted).await?,
                format!(
                    "the result of `{wanted}` was not large, or is not kept any more; see `haft log show {wanted}`"
                ),
            ),
        };
        let handle: Handle = handle.parse().map_err(|err| usage(format!("{wanted}: {err}")))?;
        results.fetch(handle.session());
        let mut file = results.near().open(&handle)?.ok_or_else(|| usage(missing))?;
        // Not for a screen alone: whoever sends it elsewhere gets it byte for byte.
        match std::io::copy(&mut file, &mut std::io::stdout().lock()) {
            Err(err) if err.kind() != std::io::ErrorKind::BrokenPipe => Err(err.into()),
            _ => Ok(Exit::Done),
        }
    }

    /// The handle of a call's result: the latest that the journal has. What a tool cuts itself, as Bash does, is kept by the
    /// call's own name.
    async fn handle_of(&self, wanted: &str) -> anyhow::Result<String> {
        let CallRow { key, session, call, .. } = self.find(wanted).await?;
        let filter = EventFilter { key: Some(key), kinds: vec![EventKind::SPILL], ..EventFilter::default() };
        let events = self.book().events(filter).await?;
        let handle = events.iter().rev().find_map(|event| event.body["handle"].as_str());
        Ok(handle.map_or_else(|| format!("result:{session}/{call}"), str::to_owned))
    }

    /// What the call changed in files, as far as both sides are kept.
    async fn diff(&self, events: Value) -> String {
        let Some(images) = self.store.images.clone() else { return String::new() };
        let diff = tokio::task::spawn_blocking(move || diff::of(&events, &images)).await;
        diff.unwrap_or_default()
    }

    /// By its number, or else by its id; of several with one id, the latest.
    async fn find(&self, wanted: &str) -> anyhow::Result<CallRow> {
        let session = self.options.session.as_deref().map(Into::into);
        let by_id = CallFilter { call: Some(wanted.to_owned()), session, most: 1, ..CallFilter::default() };
        let found = match wanted.parse::<i64>() {
            Ok(no) => {
                let (after, before) =
                    (Some(CallNo(no.saturating_sub(1))), Some(CallNo(no.saturating_add(1))));
                self.book().calls(CallFilter { after, before, most: 1, ..CallFilter::default() }).await?
            }
            Err(_) => Vec::new(),
        };
        let found = if found.is_empty() { self.book().calls(by_id).await? } else { found };
        let missing = || usage(format!("there is no call `{wanted}` in the journal; `haft log` lists them"));
        found.into_iter().next().ok_or_else(missing)
    }

    /// All that is known of a call.
    async fn whole(&self, call: &CallRow) -> anyhow::Result<Value> {
        let filter = EventFilter { key: Some(call.key.clone()), ..EventFilter::default() };
        let events = self.book().events(filter).await?;
        let result = self.book().result(&call.key).await?;
        Ok(whole(call, &events, result.as_deref()))
    }
}

/// A call with all of it, as programs read it.
fn whole(call: &CallRow, events: &[EventRow], result: Option<&str>) -> Value {
    let mut whole = json!(call);
    whole["result"] = match result.and_then(haft_store::restore) {
        Some(finished) => crate::wire::result(&finished.result),
        None => Value::Null,
    };
    whole["events"] = json!(events);
    whole
}

/// Calls as they come, each once.
struct Following {
    latest: i64,
    overlap: i64,
    /// Those of the overlap that were seen.
    seen: BTreeSet<i64>,
}

impl Following {
    fn after(latest: i64, overlap: i64) -> Following {
        Following { latest, overlap, seen: BTreeSet::new() }
    }

    /// What came since, in the order of its numbers.
    async fn news(&mut self, book: &dyn Book, filter: &CallFilter) -> anyhow::Result<Vec<CallRow>> {
        let mut news = Vec::new();
        let mut after = self.latest.saturating_sub(self.overlap);
        loop {
            let filter = CallFilter { after: Some(CallNo(after)), most: PAGE, ..filter.clone() };
            let page = book.calls(filter).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map_or(after, |call| call.no.0);
            news.extend(page.into_iter().filter(|call| self.seen.insert(call.no.0)));
            if is_last {
                break;
            }
        }
        self.latest = self.latest.max(after);
        self.seen = self.seen.split_off(&self.latest.saturating_sub(self.overlap));
        Ok(news)
    }
}

/// Paths are recorded from the root, without `.` and `..`.
fn absolute(path: &str, cwd: Option<&Path>) -> anyhow::Result<String> {
    if path.starts_with('*') {
        return Ok(path.to_owned());
    }
    let here = match cwd {
        Some(cwd) => cwd.canonicalize(),
        None => std::env::current_dir(),
    };
    let here = here.map_err(|err| usage(format!("the current directory: {err}")))?;
    Ok(straight(&haft_tool::shown(&here.join(path)).to_string()))
}

/// By its words alone: the path may be that of something that is gone.
fn straight(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use haft_engine::session::{CallKey, Digest};
    use haft_store::{Durability, Entry, MemoryBook, Outcome};

    use super::*;

    #[test]
    fn a_path_is_meant_from_the_root_however_it_is_written() {
        let place = tempfile::tempdir().unwrap();
        let here = place.path().canonicalize().unwrap();
        let (root, name) =
            (here.display().to_string(), here.file_name().unwrap().to_str().unwrap().to_owned());
        for (written, expected) in [
            (".".to_owned(), root.clone()),
            ("a.txt".to_owned(), format!("{root}/a.txt")),
            ("./src//*.rs".to_owned(), format!("{root}/src/*.rs")),
            (format!("../{name}/a.txt"), format!("{root}/a.txt")),
            ("/etc/./x/../passwd/".to_owned(), "/etc/passwd".to_owned()),
            ("/..".to_owned(), "/".to_owned()),
            ("*.rs".to_owned(), "*.rs".to_owned()),
        ] {
            assert_eq!(absolute(&written, Some(&here)).unwrap(), expected, "{written}");
        }
    }

    async fn made(book: &MemoryBook, id: &str) {
        let key = CallKey { session: "s".into(), call: id.into(), digest: Digest([0; 16]), nth: 0 };
        let at = haft_store::Instant(0);
        let (tool, result) = ("Read".to_owned(), "{}".to_owned());
        let outcome = Outcome { key, turn: 1, at, tool, ran: true, duration_us: 1, fault: None, result };
        book.append(vec![Entry::Finished(Box::new(outcome))], Durability::Process).await.unwrap();
    }

    #[tokio::test]
    async fn a_call_that_is_seen_late_is_told_all_the_same_and_none_is_told_twice() {
        let book = MemoryBook::default();
        let all = CallFilter::default();
        for id in ["a", "b", "c"] {
            made(&book, id).await;
        }
        // As if the first two had not been there yet when the third was seen.
        let mut following = Following::after(3, 10);
        let ids = |news: Vec<CallRow>| news.iter().map(|call| call.call.to_string()).collect::<Vec<_>>();
        following.seen.insert(3);
        assert_eq!(ids(following.news(&book, &all).await.unwrap()), ["a", "b"]);
        assert_eq!(ids(following.news(&book, &all).await.unwrap()), [""; 0]);
        made(&book, "d").await;
        assert_eq!(ids(following.news(&book, &all).await.unwrap()), ["d"]);
        let mut here = Following::after(4, 0);
        assert_eq!(ids(here.news(&book, &all).await.unwrap()), [""; 0], "in a file, numbers are the order");
    }
}

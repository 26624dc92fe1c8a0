//! `haft sessions`: where calls were made.

use haft_store::SessionRow;

use super::log::Clock;
use crate::{
    cli::Options,
    draw::{self, Paint, plain_line},
    exit::Exit,
    out::Out,
    settings::Settings,
    store, watch,
};

/// What can be typed after `haft sessions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// At most so many, the latest
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

const EXAMPLES: &str = "\
Examples:
  haft sessions
  haft log --session work                    the calls of one
  haft turn --session work message.json      go on with it";

pub(crate) fn run(options: &Options, args: &Args) -> anyhow::Result<Exit> {
    let store = store::open(&Settings::read(options.config.as_deref(), &[])?)?;
    let sessions = watch::runtime()?.block_on(store.book.sessions(args.limit))?;
    let mut out = Out::stdout();
    match options.json {
        true => sessions.iter().try_for_each(|session| out.json(session))?,
        false => out.text(&table(&sessions, &Clock::here()))?,
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn table(sessions: &[SessionRow], clock: &Clock) -> String {
    if sessions.is_empty() {
        return "no sessions are recorded\n".to_owned();
    }
    let row = |session: &SessionRow| {
        [
            plain_line(session.session.to_string()),
            clock.short(session.last),
            session.calls.to_string(),
            session.refused.to_string(),
            session.changed.to_string(),
            plain_line(session.workspace.clone()),
        ]
    };
    let rows: Vec<[String; 6]> = sessions.iter().map(row).collect();
    draw::table(["SESSION", "LAST", "CALLS", "REFUSED", "CHANGED", "WORKSPACE"], &rows, Paint::stdout())
}

#[cfg(test)]
mod tests {
    use haft_store::Instant;

    use super::*;
    use crate::commands::log::noon;

    #[test]
    fn sessions_are_lines_that_fit() {
        let session = |id: &str, calls| SessionRow {
            session: id.into(),
            began: Instant(0),
            last: noon().parse("2026-11-16T09:30:05Z").unwrap(),
            workspace: "/home/u/project".to_owned(),
            turns: 2,
            calls,
            refused: 1,
            changed: 3,
        };
        let sessions = [session("work", 12), session("019a8c2e-7f3b-7cc1-9d0a-5b1e2f3a4b5c", 1_234)];
        insta::assert_snapshot!(table(&sessions, &noon()), @"");
        assert_eq!(table(&[], &noon()), "no sessions are recorded\n");
    }
}

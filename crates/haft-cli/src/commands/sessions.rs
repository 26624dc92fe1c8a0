//! `haft sessions`: where calls were made.

use haft_store::SessionRow;

use super::log::Page;
use crate::{
    cli::Options,
    draw::{Paint, fit, plain_line},
    exit::Exit,
    out::Out,
    settings::Settings,
    store,
    transcript::{Beginning, beginning},
    watch,
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
    let runtime = watch::runtime()?;
    let sessions = runtime.block_on(store.book.sessions(args.limit))?;
    let mut out = Out::stdout();
    match options.json {
        true => sessions.iter().try_for_each(|session| out.json(session))?,
        false => {
            let began = |row: &SessionRow| runtime.block_on(beginning(&store, &row.session));
            let began: Vec<_> = sessions.iter().map(began).collect::<anyhow::Result<_>>()?;
            out.text(&table(&sessions, &began, &Page::stdout()))?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The columns before the last: id, time, and three counts.
const WIDTHS: [usize; 5] = [36, 11, 6, 7, 5];

/// A line for each session, and under it the first words of its conversation, if it is one.
fn table(sessions: &[SessionRow], began: &[Option<Beginning>], page: &Page) -> String {
    if sessions.is_empty() {
        return "no sessions are recorded\n".to_owned();
    }
    let room = page.columns.saturating_sub(WIDTHS.iter().sum::<usize>() + WIDTHS.len()).max(10);
    let line = |cells: [String; 6]| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(WIDTHS) {
            line.push_str(&format!("{:<width$} ", fit(cell, width)));
        }
        line + &fit_end(&cells[5], room)
    };
    let row = |(session, began): (&SessionRow, &Option<Beginning>)| {
        let words = began.as_ref().map(|began| &began.words).filter(|words| !words.is_empty());
        // Where no call was made, the conversation itself knows where it was.
        let said_in = began.as_ref().and_then(|began| began.workspace.clone()).unwrap_or_default();
        let workspace = if session.workspace.is_empty() { said_in } else { session.workspace.clone() };
        let words = words.map(|words| format!("\n  “{}”", fit(words, page.columns.saturating_sub(4))));
        let cells = [
            plain_line(session.session.to_string()),
            page.clock.short(session.last),
            session.calls.to_string(),
            session.refused.to_string(),
            session.changed.to_string(),
            plain_line(workspace),
        ];
        line(cells) + &words.unwrap_or_default()
    };
    let heading = line(["SESSION", "LAST", "CALLS", "REFUSED", "FILES", "WORKSPACE"].map(str::to_owned));
    let rows = sessions.iter().zip(began).map(row);
    std::iter::once(page.paint.style(Paint::STRONG, &heading)).chain(rows).map(|line| line + "\n").collect()
}

/// The end of a path says more than its beginning.
fn fit_end(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(count + 1 - width)).collect()
}

#[cfg(test)]
mod tests {
    use haft_store::Instant;

    use super::*;
    use crate::commands::log::plain;

    #[test]
    fn sessions_are_lines_that_fit() {
        let session = |id: &str, calls| SessionRow {
            session: id.into(),
            began: Instant(0),
            last: plain().clock.parse("2026-11-16T09:30:05Z").unwrap(),
            workspace: "/home/somebody/project".to_owned(),
            caller: serde_json::Value::Null,
            mode: "default".to_owned(),
            turns: 2,
            calls,
            refused: 1,
            changed: 3,
        };
        let sessions = [session("work", 12), session("019a8c2e-7f3b-7cc1-9d0a-5b1e2f3a4b5c", 1_234)];
        let began = [Some(Beginning { words: "Make the test pass".to_owned(), workspace: None }), None];
        insta::assert_snapshot!(table(&sessions, &began, &plain()), @r"
        SESSION                              LAST        CALLS  REFUSED FILES WORKSPACE
        work                                 09:30:05    12     1       3     …y/project
          “Make the test pass”
        019a8c2e-7f3b-7cc1-9d0a-5b1e2f3a4b5c 09:30:05    1234   1       3     …y/project
        ");
        assert_eq!(table(&[], &[], &plain()), "no sessions are recorded\n");
    }
}

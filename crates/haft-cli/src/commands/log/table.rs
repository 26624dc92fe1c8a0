//! Many calls: a line each, in eighty columns.

use haft_engine::session::CallState;
use haft_store::CallRow;

use super::when::{Clock, time};
use crate::draw::{Paint, columns, fit, plain_line};

/// How wide the table is where nothing says how wide it may be.
const USUAL: usize = 80;
/// The columns before the last: number, time, state, tool, how long.
const WIDTHS: [usize; 5] = [6, 11, 8, 10, 7];

pub(super) fn heading() -> String {
    let cells = ["CALL", "WHEN", "STATE", "TOOL", "TOOK", "WHAT"].map(str::to_owned);
    format!("{}\n", Paint::stdout().style(Paint::STRONG, &cut(&cells)))
}

pub(super) fn all(calls: &[CallRow], clock: &Clock) -> String {
    let lines: String = calls.iter().map(|call| line(call, clock)).collect();
    if lines.is_empty() { "no calls are recorded that fit\n".to_owned() } else { heading() + &lines }
}

pub(super) fn line(call: &CallRow, clock: &Clock) -> String {
    let (word, style) = state(call);
    let cells = [
        call.no.0.to_string(),
        clock.short(call.at),
        word.to_owned(),
        plain_line(call.tool.clone()),
        call.duration_us.map(time).unwrap_or_default(),
        plain_line(call.description.clone()),
    ];
    let paint = Paint::stdout();
    match style {
        Some(style) => format!("{}\n", paint.style(style, &cut(&cells))),
        None => format!("{}\n", cut(&cells)),
    }
}

/// How far a call came, in a word, and how it is shown.
pub(super) fn state(call: &CallRow) -> (&'static str, Option<anstyle::Style>) {
    match (call.state, &call.fault) {
        (CallState::Open, _) => ("runs", Some(Paint::WAIT)),
        (CallState::Finished, None) => ("done", None),
        (CallState::Finished, Some(_)) => ("failed", Some(Paint::BAD)),
        (CallState::Refused, _) if call.verdict.is_some() => ("refused", Some(Paint::BAD)),
        (CallState::Refused, _) => ("not made", Some(Paint::BAD)),
        (CallState::CutOff, _) => ("cut off", Some(Paint::WAIT)),
    }
}

fn cut(cells: &[String; 6]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(WIDTHS) {
        line.push_str(&format!("{:<width$} ", fit(cell, width)));
    }
    let room = columns().unwrap_or(USUAL).saturating_sub(WIDTHS.iter().sum::<usize>() + WIDTHS.len()).max(16);
    line.push_str(&fit(&cells[5], room));
    line.trim_end().to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use haft_engine::session::{CallKey, Digest};
    use haft_store::{CallNo, PathRow};

    use super::{super::when::tests::noon, *};

    pub(in crate::commands::log) fn call(no: i64, tool: &str, state: CallState) -> CallRow {
        let key = CallKey {
            session: "work".into(),
            call: format!("toolu_{no}").into(),
            digest: Digest([0; 16]),
            nth: 0,
        };
        CallRow {
            no: CallNo(no),
            session: key.session.clone(),
            call: key.call.clone(),
            key,
            turn: 1,
            tool: tool.to_owned(),
            description: "Write src/main.rs, which is a file with a name that is rather long".to_owned(),
            verdict: Some("allow".to_owned()),
            class: Some("write".to_owned()),
            state,
            fault: None,
            at: noon().parse("2026-11-16T09:30:05Z").unwrap(),
            duration_us: (state == CallState::Finished).then_some(12_345),
            repeatable: false,
            owner: None,
            paths: vec![PathRow { path: "/w/src/main.rs".to_owned(), writes: true }],
        }
    }

    #[test]
    fn calls_are_lines_that_fit() {
        let failed = CallRow { fault: Some("failed".to_owned()), ..call(4, "Bash", CallState::Finished) };
        let odd = CallRow { verdict: None, ..call(5, "mcp__a_server__with_a_long_name", CallState::Refused) };
        let calls = [
            call(1, "Write", CallState::Finished),
            call(2, "Write", CallState::Open),
            call(3, "Edit", CallState::CutOff),
            failed,
            odd,
            call(1_234_567, "Write", CallState::Refused),
        ];
        insta::assert_snapshot!(all(&calls, &noon()), @"");
        assert_eq!(all(&[], &noon()), "no calls are recorded that fit\n");
    }
}

//! Many calls: a line each, in eighty columns.

use haft_engine::session::CallState;
use haft_store::CallRow;

use super::when::{Page, time};
use crate::draw::{Paint, fit, plain_line};

/// The columns before the last: number, time, state, tool, how long.
const WIDTHS: [usize; 5] = [7, 11, 11, 10, 7];

pub(super) fn heading(page: &Page) -> String {
    let cells = ["CALL", "WHEN", "STATE", "TOOL", "TOOK", "WHAT"].map(str::to_owned);
    format!("{}\n", page.paint.style(Paint::STRONG, &cut(&cells, page)))
}

pub(super) fn all(calls: &[CallRow], page: &Page) -> String {
    let lines: String = calls.iter().map(|call| line(call, page)).collect();
    if lines.is_empty() { "no calls are recorded that fit\n".to_owned() } else { heading(page) + &lines }
}

pub(super) fn line(call: &CallRow, page: &Page) -> String {
    let (word, style) = state(call);
    let cells = [
        call.no.0.to_string(),
        page.clock.short(call.at),
        word.to_owned(),
        plain_line(call.tool.clone()),
        took(call).map(time).unwrap_or_default(),
        plain_line(call.description.clone()),
    ];
    let line = cut(&cells, page);
    let line = style.map_or_else(|| line.clone(), |style| page.paint.style(style, &line));
    format!("{line}\n")
}

/// How far a call came, in a word, and how it is shown.
pub(super) fn state(call: &CallRow) -> (&'static str, Option<anstyle::Style>) {
    match (call.state, &call.fault) {
        (CallState::Open, _) => ("runs", Some(Paint::WAIT)),
        (CallState::Finished, None) => ("done", None),
        (CallState::Finished, Some(_)) if is_interrupted(call) => ("interrupted", Some(Paint::WAIT)),
        (CallState::Finished, Some(_)) => ("failed", Some(Paint::BAD)),
        (CallState::Refused, _) if call.verdict.is_some() => ("refused", Some(Paint::BAD)),
        (CallState::Refused, _) => ("not made", Some(Paint::BAD)),
        (CallState::CutOff, _) => ("cut off", Some(Paint::WAIT)),
    }
}

/// Whether all that is known of it is that it was cut off: the model was told so.
pub(super) fn is_interrupted(call: &CallRow) -> bool {
    call.state == CallState::Finished && call.fault.as_deref() == Some("interrupted")
}

/// How long it took. Nobody knows that of one that was cut off.
pub(super) fn took(call: &CallRow) -> Option<u64> {
    call.duration_us.filter(|_| !is_interrupted(call))
}

fn cut(cells: &[String; 6], page: &Page) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(WIDTHS) {
        line.push_str(&format!("{:<width$} ", fit(cell, width)));
    }
    let room = page.columns.saturating_sub(WIDTHS.iter().sum::<usize>() + WIDTHS.len()).max(16);
    line.push_str(&fit(&cells[5], room));
    line.trim_end().to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use haft_engine::session::{CallKey, Digest};
    use haft_store::{CallNo, PathRow};

    use super::{
        super::when::tests::{noon, plain},
        *,
    };

    pub(crate) fn call(no: i64, tool: &str, state: CallState) -> CallRow {
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
        let fault = Some("interrupted".to_owned());
        let interrupted = CallRow { fault, duration_us: Some(0), ..call(6, "Bash", CallState::Finished) };
        let odd = CallRow { verdict: None, ..call(5, "mcp__a_server__with_a_long_name", CallState::Refused) };
        let calls = [
            call(1, "Write", CallState::Finished),
            call(2, "Write", CallState::Open),
            call(3, "Edit", CallState::CutOff),
            failed,
            interrupted,
            odd,
            call(1_234_567, "Write", CallState::Refused),
        ];
        insta::assert_snapshot!(all(&calls, &plain()), @r"
        CALL    WHEN        STATE       TOOL       TOOK    WHAT
        1       09:30:05    done        Write      12 ms   Write src/main.rs, which is …
        2       09:30:05    runs        Write              Write src/main.rs, which is …
        3       09:30:05    cut off     Edit               Write src/main.rs, which is …
        4       09:30:05    failed      Bash       12 ms   Write src/main.rs, which is …
        6       09:30:05    interrupted Bash               Write src/main.rs, which is …
        5       09:30:05    not made    mcp__a_se…         Write src/main.rs, which is …
        1234567 09:30:05    refused     Write              Write src/main.rs, which is …
        ");
        assert_eq!(all(&[], &plain()), "no calls are recorded that fit\n");
    }
}

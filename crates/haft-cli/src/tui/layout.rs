//! Where everything stands in the part of the screen that is drawn anew: what goes on, what is asked, what is typed.
//!
//! From top to bottom, what matters most is at the bottom. Where there is not enough room, what is above is shortened first.

use std::ops::Range;

use ratatui::{style::Style, text::Span};

use super::{
    screen::{Screen, Status, Todo, TodoState},
    text::{Row, clean, fit, fit_row, row, span, width},
    theme::{BAD, GOOD, NOTE, PLAIN, PROMPT, QUIET, STRONG, WAIT, spinner},
    transcript::seconds,
};

/// The part that is drawn anew.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Live {
    pub(super) rows: Vec<Row>,
    /// Row and column of the cursor; `None` where nothing is typed.
    pub(super) cursor: Option<(usize, usize)>,
}

/// Rows of what is typed, at most.
const MOST_TYPED: usize = 10;
/// From so many rows on a screen is tall.
const TALL: usize = 24;
const MOST_TODOS: usize = 8;
const MOST_CANDIDATES: usize = 6;

/// So many rows stand beside a question: those around it, what is typed, and how things stand.
pub(super) const BESIDE_DIALOG: usize = 5;

/// What to draw in so many columns and rows.
pub(super) fn live(screen: &Screen, columns: usize, height: usize, now: u64) -> Live {
    let height = capped(height);
    let (typed, cursor) = typed(screen, columns, (height / 3).clamp(1, MOST_TYPED));
    let mut below = candidates(screen, columns);
    below.push(status(screen, columns));
    let mut middle = activity(screen, columns, now);
    middle.extend(todos(&screen.todos, columns));
    middle.extend(tasks(screen, columns));
    middle.extend(queue(screen, columns));
    // It stands apart from the answer above it.
    if middle.first().is_some_and(|row| row.width() > 0) {
        middle.insert(0, Row::default());
    }
    let room = height.saturating_sub(typed.len() + below.len() + 1);
    let asked = asked(screen, columns, room, now);
    // A question is read before anything else.
    let room = room.saturating_sub(asked.len());
    middle.truncate(room);
    let room = room.saturating_sub(middle.len());
    let mut rows = last(screen.transcript.open_rows(columns, now), room);
    rows.extend(middle);
    rows.extend(asked);
    // What is typed stands apart from what is above it, which may be the terminal's.
    if rows.last().is_none_or(|row| row.width() > 0) && rows.len() + typed.len() + below.len() < height {
        rows.push(Row::default());
    }
    let above = rows.len();
    rows.extend(typed);
    rows.extend(below);
    // A screen of a few rows shows what is typed.
    let cut = rows.len().saturating_sub(height.max(1));
    rows.drain(..cut);
    let rows = rows.into_iter().map(|row| fit_row(row, columns)).collect();
    let cursor = cursor.map(|(row, column)| ((above + row).saturating_sub(cut), column.min(columns)));
    Live { rows, cursor }
}

/// A tall screen is not filled: when it is made lower, what goes up and out of reach is then what is over, and not what would be
/// drawn again below.
fn capped(height: usize) -> usize {
    if height > TALL { (height * 3 / 4).max(TALL) } else { height }
}

/// The last of rows, and a word about those above.
fn last(mut rows: Vec<Row>, room: usize) -> Vec<Row> {
    if rows.len() > room {
        rows.drain(..rows.len() - room);
        if let Some(first) = rows.first_mut() {
            *first = row("⋮", QUIET);
        }
    }
    rows
}

/// What is typed, and where the cursor stands in it.
fn typed(screen: &Screen, columns: usize, most: usize) -> (Vec<Row>, Option<(usize, usize)>) {
    let room = columns.saturating_sub(width(PROMPT)).max(2);
    let laid = screen.editor.laid(room);
    let shown = window(laid.rows.len(), laid.row, most);
    let more = |rows: usize| (rows > 0 && most >= WITH_MARKS).then(|| span(&format!("⋮ {rows} more"), QUIET));
    let (above, below) = (more(shown.start), more(laid.rows.len() - shown.end));
    let cursor = (laid.row - shown.start + usize::from(above.is_some()), laid.column + width(PROMPT));
    let spans = above.into_iter().chain(laid.rows[shown].iter().map(|text| span(text, PLAIN))).chain(below);
    let style = if screen.running.is_some() { QUIET } else { NOTE };
    let prompts = std::iter::once(Span::styled(PROMPT, style)).chain(std::iter::repeat(Span::raw("  ")));
    let mut rows: Vec<Row> = prompts.zip(spans).map(|(prompt, text)| Row::from(vec![prompt, text])).collect();
    if screen.editor.is_empty()
        && let Some(first) = rows.first_mut()
    {
        let is_free = screen.running.is_some() && screen.dialogs.is_empty();
        let words = if is_free { "(what you type now is sent next)" } else { "" };
        first.spans.push(Span::styled(words, QUIET));
    }
    let is_elsewhere = !screen.dialogs.is_empty() && !screen.is_typing_past_a_question();
    (rows, (!is_elsewhere).then_some(cursor))
}

/// In so many rows there is room to say what is left out.
const WITH_MARKS: usize = 4;

/// The rows around the cursor that are shown: with those that say what is left out, at most so many.
fn window(rows: usize, cursor: usize, most: usize) -> Range<usize> {
    if rows <= most {
        return 0..rows;
    }
    if most < WITH_MARKS {
        let from = (cursor + 1).saturating_sub(most);
        return from..from + most;
    }
    let from = cursor.saturating_sub((most - 2) / 2);
    match from {
        0 | 1 => 0..most - 1,
        from if from + most > rows => rows - (most - 1)..rows,
        from => from..from + most - 2,
    }
}

fn candidates(screen: &Screen, columns: usize) -> Vec<Row> {
    let candidates = screen.candidates();
    let widest = candidates.iter().map(|(word, _)| width(word)).max().unwrap_or(0);
    let more = candidates.len().saturating_sub(MOST_CANDIDATES);
    let line = |(word, about): &(String, &str)| {
        let gap = " ".repeat(widest - width(word) + 2);
        fit_row(Row::from(vec![Span::styled(format!("  {word}{gap}"), NOTE), span(about, QUIET)]), columns)
    };
    let mut rows: Vec<Row> = candidates.iter().take(MOST_CANDIDATES).map(line).collect();
    if more > 0 {
        rows.push(row(&format!("  … {more} more; Tab completes"), QUIET));
    }
    rows
}

fn activity(screen: &Screen, columns: usize, now: u64) -> Vec<Row> {
    let Some(running) = screen.running else { return Vec::new() };
    let took = screen.lasted(now).filter(|took| took.as_secs() > 0).map(seconds).unwrap_or_default();
    let (style, words) = match (running.stops, screen.dialogs.is_empty()) {
        (0, false) => return Vec::new(),
        (0, true) => match running.again.map(|again| again.saturating_sub(now)) {
            Some(left) => (WAIT, format!("asks again in {}s", left.div_ceil(1_000))),
            None => (NOTE, format!("works {took}")),
        },
        (1, _) => (WAIT, "stops; Esc again does not wait".to_owned()),
        _ => (BAD, "stops at once".to_owned()),
    };
    let keys = if running.stops == 0 { "  Esc stops" } else { "" };
    let line = vec![
        Span::styled(format!("{} ", spinner(now)), style),
        span(words.trim_end(), style),
        Span::styled(keys, QUIET),
    ];
    vec![Row::default(), fit_row(Row::from(line), columns)]
}

fn todos(todos: &[Todo], columns: usize) -> Vec<Row> {
    let left = todos.iter().filter(|todo| todo.state != TodoState::Done).count();
    if left == 0 {
        return Vec::new();
    }
    // What is done and far above is known.
    let first_open = todos.iter().position(|todo| todo.state != TodoState::Done).unwrap_or(0);
    let from = first_open.saturating_sub(2).min(todos.len().saturating_sub(MOST_TODOS));
    let line = |todo: &Todo| {
        let (sign, style): (&str, Style) = match todo.state {
            TodoState::Open => ("☐", PLAIN),
            TodoState::Begun => ("◐", STRONG),
            TodoState::Done => ("☑", QUIET),
        };
        let mark = if todo.state == TodoState::Done { GOOD } else { style };
        fit_row(Row::from(vec![Span::styled(format!("  {sign} "), mark), span(&todo.text, style)]), columns)
    };
    let mut rows: Vec<Row> = todos.iter().skip(from).take(MOST_TODOS).map(line).collect();
    let below = todos.len().saturating_sub(from + MOST_TODOS);
    if below > 0 {
        rows.push(row(&format!("    … {below} more"), QUIET));
    }
    rows
}

fn tasks(screen: &Screen, columns: usize) -> Vec<Row> {
    let line = |(id, about): &(String, String)| {
        fit_row(
            Row::from(vec![Span::styled("  ⟳ ", NOTE), span(id, QUIET), span(&format!("  {about}"), PLAIN)]),
            columns,
        )
    };
    let more = screen.tasks.len().saturating_sub(3);
    let mut rows: Vec<Row> = screen.tasks.iter().take(3).map(line).collect();
    if more > 0 {
        rows.push(row(&format!("    … {more} more tasks; /tasks lists them"), QUIET));
    }
    rows
}

fn queue(screen: &Screen, columns: usize) -> Vec<Row> {
    let line = |text: &String| {
        let first = clean(text.lines().next().unwrap_or_default());
        row(&fit(&format!("  next: {first}"), columns), QUIET)
    };
    screen.queue.iter().take(3).map(line).collect()
}

fn asked(screen: &Screen, columns: usize, room: usize, now: u64) -> Vec<Row> {
    let Some(dialog) = screen.dialogs.front() else { return Vec::new() };
    let mut rows = vec![Row::default()];
    let waiting = screen.dialogs.len() - 1;
    let taken = 1 + usize::from(waiting > 0);
    rows.extend(dialog.rows(columns, room.saturating_sub(taken), screen.is_heard(now)));
    if waiting > 0 {
        rows.push(row(&format!("({waiting} more waiting)"), QUIET));
    }
    // The keys are below, and what it is about is above: what does not fit is missing in between, and is seen to be.
    let excess = rows.len().saturating_sub(room.max(5));
    if excess > 0 {
        rows.splice(2..excess + 3, [row("  ⋮", QUIET)]);
    }
    rows
}

/// The last row: a word that was just said, or how things stand.
fn status(screen: &Screen, columns: usize) -> Row {
    if let Some(hint) = &screen.hint {
        return row(&fit(&clean(hint), columns), WAIT);
    }
    if screen.is_typing_past_a_question() {
        return row(&fit(TYPING, columns), WAIT);
    }
    let mut words = standing(&screen.status, "% of context left");
    if width(&words.join(BETWEEN)) > columns {
        words = standing(&screen.status, "% left");
    }
    // Half a word says nothing: what does not fit is left out, the last first.
    while words.len() > 1 && width(&words.join(BETWEEN)) > columns {
        words.pop();
    }
    row(&fit(&words.join(BETWEEN), columns), QUIET)
}

/// Why keys are no answers now.
const TYPING: &str = "you are typing a message: Tab goes to the question, Enter sends";

const BETWEEN: &str = " · ";

fn standing(status: &Status, left: &str) -> Vec<String> {
    let mut words = vec![format!("mode {}", status.mode)];
    if !status.model.is_empty() {
        words.push(clean(&status.model));
    }
    match status.context {
        Some((used, window)) if window > 0 => {
            let free = window.saturating_sub(used) as u128 * 100 / u128::from(window);
            words.push(format!("{free}{left}"));
        }
        _ => {}
    }
    if status.used != (0, 0) {
        words.push(format!("{}↑ {}↓", tokens(status.used.0), tokens(status.used.1)));
    }
    if let Some(cost) = status.cost {
        words.push(format!("${cost:.2}"));
    }
    words.push("/help".to_owned());
    words
}

/// `950`, `12.3k`, `1.2M`
pub(super) fn tokens(count: u64) -> String {
    match count {
        ..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

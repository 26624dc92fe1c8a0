//! What the person is asked: whether a call may run, or what a form wants to know.
//!
//! Only a key that was pressed after the question could be read is an answer. What was typed on before goes where it was going,
//! however long its writer thinks about the next word, and what is pasted never answers anything.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use haft_engine::policy::{self, Answer, Choosing, Chosen, Given};
use haft_tool::{CallId, View};
use ratatui::text::Span;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::{
    editor::Editor,
    text::{Break, Row, fit, fit_row, prefixed, row, span, wrap},
    theme::{BAD, NOTE, PLAIN, QUIET, STRONG, WAIT},
    view,
};
use crate::{
    choose,
    form::{Field, Said},
};

/// How long a question has been there, and no key was pressed, before a key is an answer to it.
const TO_READ: u64 = 400;

/// Whether a question that has been there for so long can be answered.
pub(super) fn could_be_read(quiet: u64) -> bool {
    quiet >= TO_READ
}

/// A question about a call, with everything that is to be seen of it.
#[derive(Debug)]
pub(super) struct Asked {
    /// By which number it can be taken back.
    pub(super) id: u64,
    /// The call, if it is about one.
    pub(super) call: Option<CallId>,
    /// Who wants to do what, and why that is asked; the first line says most.
    pub(super) head: String,
    /// What it would change or run.
    pub(super) preview: View,
    pub(super) choice: Choice,
    pub(super) reply: oneshot::Sender<Answer>,
}

/// What can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Once, for the session, perhaps always, or no.
    Permission { always: bool },
    /// Yes or no.
    YesOrNo,
}

/// A form that somebody outside wants filled in.
#[derive(Debug)]
pub(super) struct Inquired {
    pub(super) id: u64,
    pub(super) head: String,
    pub(super) fields: Vec<Field>,
    pub(super) reply: oneshot::Sender<Given>,
}

/// Something that the model would have the person decide.
#[derive(Debug)]
pub(super) struct Undecided {
    pub(super) id: u64,
    /// The call that asks.
    pub(super) call: Option<CallId>,
    pub(super) questions: Vec<policy::Choice>,
    pub(super) reply: oneshot::Sender<Choosing>,
}

/// What is asked now.
#[derive(Debug)]
pub(super) enum Dialog {
    Question(Box<Question>),
    Form(Box<Form>),
    Decision(Box<Decision>),
}

#[derive(Debug)]
pub(super) struct Question {
    asked: Asked,
    /// The words of a no, while they are written.
    reason: Option<Editor>,
}

#[derive(Debug)]
pub(super) struct Form {
    inquired: Inquired,
    answers: Map<String, Value>,
    editor: Editor,
    /// What was wrong with the last answer.
    wrong: Option<String>,
    /// Whether it could be read before the last key.
    is_read: bool,
}

#[derive(Debug)]
pub(super) struct Decision {
    undecided: Undecided,
    chosen: Vec<Chosen>,
    editor: Editor,
    wrong: Option<String>,
    is_read: bool,
}

/// What a key came to.
pub(super) enum Pressed {
    /// Nothing here.
    Ignored,
    /// It was for the dialog, which goes on.
    Taken,
    /// The whole of it is to be shown.
    ShowAll(View),
    /// It is answered.
    Answered,
}

impl Dialog {
    pub(super) fn question(asked: Asked) -> Dialog {
        Dialog::Question(Box::new(Question { asked, reason: None }))
    }

    pub(super) fn form(inquired: Inquired) -> Dialog {
        Dialog::Form(Box::new(Form {
            inquired,
            answers: Map::new(),
            editor: Editor::default(),
            wrong: None,
            is_read: false,
        }))
    }

    pub(super) fn decision(undecided: Undecided) -> Dialog {
        Dialog::Decision(Box::new(Decision {
            undecided,
            chosen: Vec::new(),
            editor: Editor::default(),
            wrong: None,
            is_read: false,
        }))
    }

    pub(super) fn id(&self) -> u64 {
        match self {
            Dialog::Decision(decision) => decision.undecided.id,
            Dialog::Question(question) => question.asked.id,
            Dialog::Form(form) => form.inquired.id,
        }
    }

    pub(super) fn call(&self) -> Option<&CallId> {
        match self {
            Dialog::Question(question) => question.asked.call.as_ref(),
            Dialog::Decision(decision) => decision.undecided.call.as_ref(),
            Dialog::Form(_) => None,
        }
    }

    /// The text that is being written for it, once it could be read.
    pub(super) fn editor(&mut self) -> Option<&mut Editor> {
        match self {
            Dialog::Question(question) => question.reason.as_mut(),
            Dialog::Form(form) => form.is_read.then_some(&mut form.editor),
            Dialog::Decision(decision) => decision.is_read.then_some(&mut decision.editor),
        }
    }

    /// Esc goes back a step, and is a no where nothing runs that it could stop.
    pub(super) fn escape(&mut self) -> Pressed {
        let Dialog::Question(question) = self else { return Pressed::Ignored };
        match (question.reason.take(), question.asked.choice) {
            (Some(_), _) => Pressed::Taken,
            (None, Choice::YesOrNo) => question.answer(Answer::No(None)),
            (None, Choice::Permission { .. }) => Pressed::Ignored,
        }
    }

    /// A key comes. `quiet`: for how long it has been seen and no key was pressed. What is written is meant for it from the
    /// first key on that comes after it could be read.
    pub(super) fn attend(&mut self, quiet: u64) {
        let is_read = match self {
            Dialog::Question(_) => return,
            Dialog::Form(form) => &mut form.is_read,
            Dialog::Decision(decision) => &mut decision.is_read,
        };
        *is_read |= could_be_read(quiet);
    }

    /// Whether its answer is being written: then all keys are for it.
    pub(super) fn is_begun(&self) -> bool {
        match self {
            Dialog::Question(question) => question.reason.is_some(),
            Dialog::Form(form) => form.is_read,
            Dialog::Decision(decision) => decision.is_read,
        }
    }

    /// A key, other than those that write.
    pub(super) fn key(&mut self, key: KeyEvent) -> Pressed {
        match self {
            Dialog::Question(question) => question.key(key),
            Dialog::Form(form) => form.key(key),
            Dialog::Decision(decision) => decision.key(key),
        }
    }

    /// How many rows all of it would take.
    pub(super) fn height(&self, columns: usize) -> usize {
        self.rows(columns, usize::MAX, true).len()
    }

    /// What is asked, whole, in words; a question about a call has a key for that.
    pub(super) fn words(&self) -> Option<String> {
        match self {
            Dialog::Question(_) => None,
            Dialog::Form(form) => Some(form.inquired.head.clone()),
            Dialog::Decision(decision) => {
                let questions = &decision.undecided.questions;
                let shown = questions.iter().zip(1..);
                Some(shown.map(|(question, at)| choose::shown(question, at, questions.len())).collect())
            }
        }
    }

    /// The rows of it, at most so many, and where its text is written: a row, and columns before it.
    pub(super) fn rows(&self, columns: usize, height: usize, listens: bool) -> Vec<Row> {
        match self {
            Dialog::Question(question) => question.rows(columns, height, listens),
            Dialog::Form(form) => form.rows(columns, height),
            Dialog::Decision(decision) => decision.rows(columns, height),
        }
    }
}

impl Question {
    fn key(&mut self, key: KeyEvent) -> Pressed {
        if let Some(reason) = &mut self.reason {
            if key.code != KeyCode::Enter {
                return Pressed::Ignored;
            }
            let words = reason.take();
            let words = words.trim();
            return self.answer(Answer::No((!words.is_empty()).then(|| words.to_owned())));
        }
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return Pressed::Ignored;
        }
        let KeyCode::Char(letter) = key.code else { return Pressed::Ignored };
        match (letter.to_ascii_lowercase(), self.asked.choice) {
            ('y', _) => self.answer(Answer::Once),
            ('n', _) => self.answer(Answer::No(None)),
            ('s', Choice::Permission { .. }) => self.answer(Answer::Session),
            ('a', Choice::Permission { always: true }) => self.answer(Answer::Always),
            ('r', Choice::Permission { .. }) => {
                self.reason = Some(Editor::default());
                Pressed::Taken
            }
            ('v', _) => Pressed::ShowAll(self.asked.preview.clone()),
            // An answer elsewhere, which nobody means as the beginning of a message.
            ('a' | 's' | 'r', _) => Pressed::Taken,
            _ => Pressed::Ignored,
        }
    }

    fn answer(&mut self, answer: Answer) -> Pressed {
        // The sender can be used once: another takes its place, which nobody listens to.
        let (unheard, _) = oneshot::channel();
        let reply = std::mem::replace(&mut self.asked.reply, unheard);
        // Whoever asked may have gone: there is nothing to answer then.
        let _ = reply.send(answer);
        Pressed::Answered
    }

    fn rows(&self, columns: usize, height: usize, listens: bool) -> Vec<Row> {
        let mut lines = self.asked.head.lines();
        let first = row(lines.next().unwrap_or_default(), STRONG.patch(WAIT));
        let mut rows = wrap(&first, columns, 2, Break::Words);
        let mut more: Vec<Row> =
            lines.flat_map(|line| wrap(&row(line, PLAIN), columns, 10, Break::Words)).collect();
        let all = view::rows(&self.asked.preview, columns.saturating_sub(4));
        let keys = self.keys(columns, listens, true);
        // What it is about is always seen, and some of the change; of why it is asked as much as there is room for.
        let most = height.saturating_sub(rows.len() + keys.len() + 4).max(1);
        if more.len() > most {
            more.splice(..=more.len() - most, [row("  ⋮", QUIET)]);
        }
        rows.extend(more);
        let room = height.saturating_sub(rows.len() + keys.len() + 1).max(3);
        let hidden = all.len().saturating_sub(room);
        let body = all.into_iter().take(room).collect();
        let bar = Span::styled("  │ ", QUIET);
        rows.extend(prefixed(body, &bar, &bar));
        if hidden > 0 {
            rows.push(row(&format!("  │ … {hidden} more lines: v shows all"), QUIET));
        }
        rows.extend(if hidden > 0 { keys } else { self.keys(columns, listens, false) });
        rows
    }

    fn keys(&self, columns: usize, listens: bool, is_cut: bool) -> Vec<Row> {
        if let Some(reason) = &self.reason {
            let label =
                Row::from(vec![span("No, because", BAD), span(" (Enter sends it, Esc goes back): ", QUIET)]);
            return writing(label, reason, columns);
        }
        let mut keys = match self.asked.choice {
            Choice::Permission { .. } => vec![("y", "yes, once"), ("s", "for this session")],
            Choice::YesOrNo => vec![("y", "yes")],
        };
        if self.asked.choice == (Choice::Permission { always: true }) {
            keys.push(("a", "always"));
        }
        keys.push(("n", "no"));
        if self.asked.choice != Choice::YesOrNo {
            keys.push(("r", "no, because …"));
        }
        if is_cut {
            keys.push(("v", "view all"));
        }
        let style = if listens { NOTE } else { QUIET };
        let key = |(letter, word): &(&str, &str)| {
            [Span::styled(format!("[{letter}] "), style.patch(STRONG)), span(&format!("{word}   "), style)]
        };
        wrap(&Row::from(keys.iter().flat_map(key).collect::<Vec<_>>()), columns, 0, Break::Words)
    }
}

impl Form {
    fn key(&mut self, key: KeyEvent) -> Pressed {
        if key.code != KeyCode::Enter {
            return Pressed::Ignored;
        }
        let line = self.editor.take();
        let Some(field) = self.inquired.fields.first() else { return self.given() };
        match field.read(line.trim()) {
            Ok(Said::No) => return self.give(Given::Declined),
            Ok(Said::Nobody) => return self.give(Given::NobodyThere),
            Ok(Said::Value(value)) => drop(self.answers.insert(field.name().to_owned(), value)),
            Ok(Said::Nothing) => {}
            Err(wrong) => {
                self.wrong = Some(wrong);
                return Pressed::Taken;
            }
        }
        self.wrong = None;
        self.inquired.fields.remove(0);
        if self.inquired.fields.is_empty() { self.given() } else { Pressed::Taken }
    }

    fn given(&mut self) -> Pressed {
        let answers = std::mem::take(&mut self.answers);
        self.give(Given::Answers(answers))
    }

    fn give(&mut self, given: Given) -> Pressed {
        let (unheard, _) = oneshot::channel();
        let _ = std::mem::replace(&mut self.inquired.reply, unheard).send(given);
        Pressed::Answered
    }

    fn rows(&self, columns: usize, height: usize) -> Vec<Row> {
        let mut lines = self.inquired.head.lines().filter(|line| !line.is_empty());
        let first = row(lines.next().unwrap_or_default(), STRONG.patch(WAIT));
        let mut rows = wrap(&first, columns, 2, Break::Words);
        rows.extend(lines.flat_map(|line| wrap(&row(line, PLAIN), columns, 4, Break::Words)));
        rows.truncate(height.saturating_sub(5).max(3));
        if let Some(field) = self.inquired.fields.first() {
            rows.extend(wrap(&row(&field.label(), NOTE), columns, 2, Break::Words).into_iter().take(4));
        }
        if let Some(wrong) = &self.wrong {
            rows.push(fit_row(row(wrong, BAD), columns));
        }
        rows.extend(writing(Row::from(span("> ", NOTE)), &self.editor, columns));
        rows
    }
}

impl Decision {
    fn key(&mut self, key: KeyEvent) -> Pressed {
        if key.code != KeyCode::Enter {
            return Pressed::Ignored;
        }
        let line = self.editor.take();
        let Some(question) = self.undecided.questions.get(self.chosen.len()) else { return self.decided() };
        match choose::read(&line, question) {
            Ok(choose::Said::Chosen(chosen)) => self.chosen.push(chosen),
            Ok(choose::Said::No) => return self.give(Choosing::Declined),
            Ok(choose::Said::Nobody) => return self.give(Choosing::NobodyThere),
            Err(wrong) => {
                self.wrong = Some(wrong);
                return Pressed::Taken;
            }
        }
        self.wrong = None;
        if self.chosen.len() < self.undecided.questions.len() { Pressed::Taken } else { self.decided() }
    }

    fn decided(&mut self) -> Pressed {
        let chosen = std::mem::take(&mut self.chosen);
        self.give(Choosing::Chosen(chosen))
    }

    fn give(&mut self, choosing: Choosing) -> Pressed {
        let (unheard, _) = oneshot::channel();
        let _ = std::mem::replace(&mut self.undecided.reply, unheard).send(choosing);
        Pressed::Answered
    }

    /// Where there is little room, what can be chosen comes before how.
    fn rows(&self, columns: usize, height: usize) -> Vec<Row> {
        let (number, of) = (self.chosen.len() + 1, self.undecided.questions.len());
        let head = row("The model asks you:", STRONG.patch(WAIT));
        let mut last: Vec<Row> = self.wrong.iter().map(|wrong| fit_row(row(wrong, BAD), columns)).collect();
        last.extend(writing(Row::from(span("> ", NOTE)), &self.editor, columns));
        let Some(question) = self.undecided.questions.get(self.chosen.len()) else { return last };
        let wrapped =
            |line: &str| wrap(&row(line, PLAIN), columns, 8, Break::Words).into_iter().collect::<Vec<Row>>();
        let shown = choose::shown(question, number, of);
        let lines: Vec<&str> = shown.lines().collect();
        let (how, what) = lines.split_last().unwrap_or((&"", &[]));
        let mut rows: Vec<Row> = what.iter().flat_map(|line| wrapped(line)).collect();
        let how = wrapped(how);
        let room = height.saturating_sub(last.len());
        if rows.len() + how.len() <= room {
            rows.extend(how);
        }
        if rows.len() < room {
            rows.insert(0, head);
        }
        if rows.len() > room {
            let hidden = rows.len() - room.saturating_sub(1);
            rows.truncate(room.saturating_sub(1));
            rows.push(row(&fit(&format!("  ⋮ {hidden} more, above"), columns), QUIET));
        }
        rows.extend(last);
        rows
    }
}

/// A label, and the end of what is written after it, with a mark where the cursor is.
fn writing(label: Row, editor: &Editor, columns: usize) -> Vec<Row> {
    let mut line = label;
    line.spans.push(span(&editor.text().replace('\n', " ⏎ "), PLAIN));
    line.spans.push(Span::styled("▏", NOTE));
    let mut rows = wrap(&line, columns, 2, Break::Anywhere);
    rows.drain(..rows.len().saturating_sub(4));
    rows
}

//! What the person is asked: whether a call may run, or what a form wants to know.
//!
//! Only a key that was pressed after the question could be read is an answer. What was typed on before goes where it was going,
//! however long its writer thinks about the next word, and what is pasted never answers anything.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use haft_engine::policy::{self, Answer, AnswerKind, Choosing, Chosen, Given, OfferedAnswer};
use haft_tool::{CallId, View};
use ratatui::{style::Style, text::Span};
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
    draw::plain_line,
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
    /// The sub-agent that makes it, if one does.
    pub(super) agent: Option<SubAgent>,
    /// Who wants to do what, and why that is asked; the first line says most.
    pub(super) head: String,
    /// What it would change or run.
    pub(super) preview: View,
    pub(super) choice: Choice,
    pub(super) reply: oneshot::Sender<Answer>,
}

/// A sub-agent, as a question names it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SubAgent {
    /// Its own session, which no other has.
    pub(super) session: String,
    /// What kind of agent it is. There may be several of them at work.
    pub(super) kind: String,
}

/// What can be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// These answers, each with its meaning.
    Permission(Vec<OfferedAnswer>),
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

impl Choice {
    fn offers(&self, answer: AnswerKind) -> bool {
        match self {
            Choice::Permission(offered) => offered.iter().any(|offered| offered.answer == answer),
            Choice::YesOrNo => matches!(answer, AnswerKind::Once | AnswerKind::No),
        }
    }
}

impl Asked {
    /// Says for which piece of work it is asked, and asks in the name of the call that gave that away.
    pub(super) fn is_for(&mut self, call: Option<CallId>, work: &str) {
        let at = self.head.find('\n').map_or(self.head.len(), |end| end + 1);
        self.head.insert_str(at, &format!("  for     {}\n", plain_line(work.to_owned())));
        self.call = call.or(self.call.take());
    }
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
        match (question.reason.take(), &question.asked.choice) {
            (Some(_), _) => Pressed::Taken,
            (None, Choice::YesOrNo) => question.answer(Answer::No(None)),
            (None, Choice::Permission(_)) => Pressed::Ignored,
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
        let choice = &self.asked.choice;
        let offered = |kind: AnswerKind, answer: Answer| choice.offers(kind).then_some(answer);
        let answer = match letter.to_ascii_lowercase() {
            'y' => offered(AnswerKind::Once, Answer::Once),
            'n' => Some(Answer::No(None)),
            's' => offered(AnswerKind::Session, Answer::Session),
            'a' => offered(AnswerKind::Always, Answer::Always),
            'u' => offered(AnswerKind::Unsandboxed, Answer::Unsandboxed),
            'r' if *choice != Choice::YesOrNo => {
                self.reason = Some(Editor::default());
                return Pressed::Taken;
            }
            'v' => return Pressed::ShowAll(self.whole()),
            // An answer elsewhere, which nobody means as the beginning of a message.
            'r' => None,
            _ => return Pressed::Ignored,
        };
        answer.map_or(Pressed::Taken, |answer| self.answer(answer))
    }

    fn answer(&mut self, answer: Answer) -> Pressed {
        // The sender can be used once: another takes its place, which nobody listens to.
        let (unheard, _) = oneshot::channel();
        let reply = std::mem::replace(&mut self.asked.reply, unheard);
        // Whoever asked may have gone: there is nothing to answer then.
        let _ = reply.send(answer);
        Pressed::Answered
    }

    /// What is asked, and all of what it is about.
    fn whole(&self) -> View {
        View::List(vec![View::text(self.asked.head.trim_end()), self.asked.preview.clone()])
    }

    /// All of it, if there is room. Else what it would do is seen before who wants it and why, and `v` shows the rest.
    fn rows(&self, columns: usize, height: usize, listens: bool) -> Vec<Row> {
        let (first, reasons) = self.head_rows(columns);
        let body = view::rows(&self.asked.preview, columns.saturating_sub(4));
        let all = first.len() + reasons.iter().map(Vec::len).sum::<usize>() + body.len();
        let with_meanings = self.keys(columns, listens, Keys::Meanings);
        let without = self.keys(columns, listens, Keys::Full { view: false });
        let mut keys = [with_meanings, without].into_iter();
        if let Some(keys) = keys.find(|keys| all + keys.len() <= height).filter(|_| first.len() <= MOST_FIRST)
        {
            return [first, reasons.concat(), barred(body), keys].concat();
        }
        let keys = self.few_keys(columns, height, listens);
        let room = height.saturating_sub(keys.len()).max(2);
        let first = cut(first, if room < ROOMY { 1 } else { MOST_FIRST }, columns);
        let least = if body.len() <= LEAST_BODY { body.len() } else { LEAST_BODY + 1 };
        let reasons = some_of(reasons, room.saturating_sub(first.len() + least), columns);
        let body = self::body(body, room - first.len() - reasons.len());
        [first, reasons, body, keys].concat()
    }

    /// The line that says most, and those that say why, each as rows.
    fn head_rows(&self, columns: usize) -> (Vec<Row>, Vec<Vec<Row>>) {
        let mut lines = self.asked.head.lines();
        let first = row(lines.next().unwrap_or_default(), STRONG.patch(WAIT));
        let reasons = lines.map(|line| wrap(&row(line, PLAIN), columns, 10, Break::Words)).collect();
        (wrap(&first, columns, 2, Break::Words), reasons)
    }

    /// The keys where something is left out, in a row if there are few.
    fn few_keys(&self, columns: usize, height: usize, listens: bool) -> Vec<Row> {
        let forms = [Keys::Full { view: true }, Keys::Words, Keys::Letters];
        let fits = |rows: &Vec<Row>| rows.len() == 1 || height > ROOMY + 4;
        let mut rows = forms.iter().map(|form| self.keys(columns, listens, *form));
        rows.find(fits).unwrap_or_else(|| self.keys(columns, listens, Keys::Letters))
    }

    fn keys(&self, columns: usize, listens: bool, form: Keys) -> Vec<Row> {
        if let Some(reason) = &self.reason {
            let is_roomy = matches!(form, Keys::Meanings | Keys::Full { view: false });
            let most = if is_roomy { MOST_WRITTEN } else { 2 };
            let label =
                Row::from(vec![span("No, because", BAD), span(" (Enter sends it, Esc goes back): ", QUIET)]);
            return writing(label, reason, columns, most);
        }
        let style = if listens { NOTE } else { QUIET };
        if let (Keys::Meanings, Choice::Permission(offered)) = (form, &self.asked.choice) {
            return meanings(offered, columns, style);
        }
        let choice = &self.asked.choice;
        let key = |(letter, short, long): &(&str, &str, &str)| match form {
            Keys::Full { .. } | Keys::Meanings => [format!("[{letter}] "), format!("{long}   ")],
            Keys::Words => [format!("[{letter}]"), format!("{short} ")],
            Keys::Letters => [format!("[{letter}]"), " ".to_owned()],
        };
        let yes = if *choice == Choice::YesOrNo { "yes" } else { "yes, once" };
        let keys = [
            (choice.offers(AnswerKind::Once), ("y", "es", yes)),
            (choice.offers(AnswerKind::Session), ("s", "ession", "for this session")),
            (choice.offers(AnswerKind::Always), ("a", "lways", "always")),
            (choice.offers(AnswerKind::Unsandboxed), ("u", "nsandboxed", "once, outside the sandbox")),
            (true, ("n", "o", "no")),
            (*choice != Choice::YesOrNo, ("r", "eason", "no, because …")),
            (!matches!(form, Keys::Meanings | Keys::Full { view: false }), ("v", "iew", "view all")),
        ];
        let offered = keys.iter().filter(|(is_offered, _)| *is_offered);
        let spans = offered.flat_map(|(_, named)| {
            let [letter, word] = key(named);
            [Span::styled(letter, style.patch(STRONG)), Span::styled(word, style)]
        });
        wrap(&without_end(spans.collect()), columns, 0, Break::Words)
    }
}

/// Each answer on a row of its own, with what it means.
fn meanings(offered: &[OfferedAnswer], columns: usize, style: Style) -> Vec<Row> {
    let line = |letter: char, meaning: &str| {
        let key = Span::styled(format!("[{letter}] "), style.patch(STRONG));
        wrap(&Row::from(vec![key, Span::styled(meaning.to_owned(), style)]), columns, 4, Break::Words)
    };
    let mut rows: Vec<Row> =
        offered.iter().flat_map(|offered| line(offered.answer.key(), &offered.meaning)).collect();
    rows.extend(line('r', "no, because …"));
    rows
}

/// How the keys are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Each on a row of its own, with what it means.
    Meanings,
    /// With what they mean; perhaps with that which shows all.
    Full {
        view: bool,
    },
    /// As words in which a letter stands out.
    Words,
    Letters,
}

/// Rows of the line that says most.
const MOST_FIRST: usize = 2;
/// Of what it would do, so many rows come before why it is asked.
const LEAST_BODY: usize = 3;
/// From so many rows on there is room for words.
const ROOMY: usize = 10;
/// Rows of an answer that is written.
const MOST_WRITTEN: usize = 4;

/// A row without blanks behind it, which would take a row of their own.
fn without_end(mut spans: Vec<Span<'static>>) -> Row {
    if let Some(last) = spans.last_mut() {
        last.content = last.content.trim_end().to_owned().into();
    }
    Row::from(spans)
}

/// At most so many rows; where some are missing, the last one says so.
fn cut(mut rows: Vec<Row>, most: usize, columns: usize) -> Vec<Row> {
    if rows.len() > most {
        rows.truncate(most);
        if let Some(last) = rows.last_mut() {
            last.spans.push(Span::styled(" …", QUIET));
            *last = fit_row(std::mem::take(last), columns);
        }
    }
    rows
}

/// As many reasons as there is room for, and not all of it for one.
fn some_of(reasons: Vec<Vec<Row>>, room: usize, columns: usize) -> Vec<Row> {
    let is_long = reasons.iter().map(Vec::len).sum::<usize>() > room;
    let reasons = reasons.into_iter().map(|rows| if is_long { cut(rows, 2, columns) } else { rows });
    let mut rows = reasons.collect::<Vec<_>>().concat();
    if rows.len() > room {
        rows.truncate(room.saturating_sub(1));
        rows.extend((room > 0).then(|| row("  ⋮", QUIET)));
    }
    rows
}

/// What it would do, in so many rows, one at least.
fn body(mut rows: Vec<Row>, room: usize) -> Vec<Row> {
    let room = room.max(1);
    if rows.len() <= room {
        return barred(rows);
    }
    let shown = if room < LEAST_BODY { room } else { room - 1 };
    let hidden = rows.len() - shown;
    rows.truncate(shown);
    if shown < room {
        rows.push(row(&format!("… {hidden} more lines: v shows all"), QUIET));
    }
    barred(rows)
}

fn barred(rows: Vec<Row>) -> Vec<Row> {
    let bar = Span::styled("  │ ", QUIET);
    prefixed(rows, &bar, &bar)
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
        rows.extend(writing(Row::from(span("> ", NOTE)), &self.editor, columns, MOST_WRITTEN));
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
        last.extend(writing(Row::from(span("> ", NOTE)), &self.editor, columns, MOST_WRITTEN));
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

/// A label and what is written after it, with a mark where the cursor is: at most so many rows, those around the cursor.
fn writing(label: Row, editor: &Editor, columns: usize, most: usize) -> Vec<Row> {
    let (before, after) = editor.parts();
    let on_one_line = |text: &str| span(&text.replace('\n', " ⏎ "), PLAIN);
    let mut line = label;
    line.spans.extend([on_one_line(before), Span::styled("▏", NOTE)]);
    let cursor = wrap(&line, columns, 2, Break::Anywhere).len();
    line.spans.push(on_one_line(after));
    let mut rows = wrap(&line, columns, 2, Break::Anywhere);
    rows.drain(..cursor.saturating_sub(most));
    rows.truncate(most);
    rows
}

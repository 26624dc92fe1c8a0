//! The person at the terminal.
//!
//! Questions go to the terminal itself, not to stdin and stdout: these carry messages. Where there is no terminal, or
//! nobody watches it, nobody is asked and the call is denied. One question at a time, in the order they came; one that is
//! withdrawn goes at once, and what was typed for it is no answer to another.

use std::{env, time::Duration};

use haft_engine::policy::{
    Answer, AnswerKind, Asker, CallFacts, Choices, Choosing, Execution, Given, Inquiry, OfferedAnswer,
    Question, QuestionStage,
};
use haft_tool::{BoxFuture, View};
use tokio::sync::{Mutex, watch};

use crate::{
    browser, choose,
    cli::Options,
    draw::{self, exact, exact_line, plain_line},
    form,
    tty::{self, Tty},
};

/// Whether somebody can be asked here.
pub(crate) fn may_ask(options: &Options) -> bool {
    let in_ci = env::var_os("CI").is_some_and(|value| !value.is_empty());
    !options.json && !options.quiet && !in_ci && tty::is_there()
}

/// Asks on the terminal that the process belongs to.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// Whose turn it is; given on in the order in which it was asked for.
    turn: Mutex<()>,
    /// How many questions there are, the open one included.
    questions: watch::Sender<usize>,
    /// Where rules are kept.
    kept_in: Option<String>,
}

/// Calls of one turn ask within this; then the first question knows of the others.
const GATHER: Duration = Duration::from_millis(20);

impl Terminal {
    pub(crate) fn new(kept_in: Option<String>) -> Terminal {
        Terminal { turn: Mutex::default(), questions: watch::Sender::new(0), kept_in }
    }

    async fn answer(&self, question: Question<'_>) -> std::io::Result<Answer> {
        let _queued = Queued::new(&self.questions);
        let _turn = self.turn.lock().await;
        tokio::time::sleep(GATHER).await;
        let mut open = Open::show(&question, self).await?;
        let answer = open.converse().await?;
        open.is_answered = true;
        Ok(answer)
    }
}

impl Asker for Terminal {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move { self.answer(question).await.unwrap_or(Answer::NobodyThere) })
    }

    fn inquire<'a>(&'a self, inquiry: Inquiry<'a>) -> BoxFuture<'a, Given> {
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            form::fill(inquiry).await.unwrap_or(Given::NobodyThere)
        })
    }

    fn open(&self, url: &str) -> bool {
        browser::open(url)
    }

    fn choose<'a>(&'a self, choices: Choices<'a>) -> BoxFuture<'a, Choosing> {
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            choose::choose(choices).await.unwrap_or(Choosing::NobodyThere)
        })
    }

    fn tell(&self, words: &str) {
        tty::say(&plain_line(words.to_owned()));
    }
}

/// A question that is asked or waits to be.
struct Queued<'a>(&'a watch::Sender<usize>);

impl Queued<'_> {
    fn new(questions: &watch::Sender<usize>) -> Queued<'_> {
        questions.send_modify(|count| *count += 1);
        Queued(questions)
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The question on the screen. If it is dropped before it is answered, it is taken away.
struct Open {
    tty: Tty,
    shown: Shown,
    questions: watch::Receiver<usize>,
    is_answered: bool,
}

impl Open {
    async fn show(question: &Question<'_>, terminal: &Terminal) -> std::io::Result<Open> {
        let shown = Shown::of(question, terminal.kept_in.as_deref());
        let (tty, questions) = (Tty::open()?, terminal.questions.subscribe());
        // What was typed before the question is no answer to it.
        tty.forget_typed();
        let open = Open { tty, shown, questions, is_answered: false };
        open.tty.write(&open.shown.words).await?;
        Ok(open)
    }

    async fn converse(&mut self) -> std::io::Result<Answer> {
        loop {
            let waiting = *self.questions.borrow_and_update() - 1;
            self.tty.write(&self.shown.prompt(waiting)).await?;
            let Some(line) = self.line(waiting).await? else { continue };
            match read(line.as_deref(), &self.shown.answers) {
                Some(Read::Answer(answer)) => return Ok(answer),
                Some(Read::ShowAll) => self.tty.write(&self.shown.all).await?,
                None => {}
            }
        }
    }

    /// A line; nothing if more questions have come meanwhile, which is to be told.
    async fn line(&mut self, waiting: usize) -> std::io::Result<Option<Option<String>>> {
        let Open { tty, questions, .. } = self;
        let more = async { questions.wait_for(|count| *count > waiting + 1).await.map(drop) };
        tokio::select! {
            biased;
            line = tty.line() => return line.map(Some),
            _ = more => {}
        }
        // What shows on the line is what counts: it begins anew.
        tty.forget_typed();
        tty.write(ERASE).await?;
        Ok(None)
    }
}

/// To the beginning of the line, and away with it.
const ERASE: &str = "\r\x1b[K";

impl Drop for Open {
    fn drop(&mut self) {
        if !self.is_answered {
            self.tty.forget_typed();
            self.tty.write_now(&format!("{ERASE}  (withdrawn: no answer is needed any more)\n"));
        }
    }
}

/// A question as it is shown.
struct Shown {
    words: String,
    /// Everything that the words leave out.
    all: String,
    is_cut: bool,
    answers: Vec<OfferedAnswer>,
}

impl Shown {
    fn of(question: &Question<'_>, kept_in: Option<&str>) -> Shown {
        let drawn = preview(question);
        let cut = cut(&drawn);
        let is_cut = cut.is_some();
        let body = boxed(cut.as_deref().unwrap_or(&drawn));
        let answers = question.answers();
        let meanings: String = answers.iter().map(meaning).collect();
        let words = format!("\n{}{body}{meanings}", head(question, kept_in));
        Shown { words, all: boxed(&drawn), is_cut, answers }
    }

    fn prompt(&self, waiting: usize) -> String {
        let waits = if waiting > 0 { format!("({waiting} more waiting) ") } else { String::new() };
        let mut keys: Vec<String> =
            self.answers.iter().map(|offered| format!("[{}]", offered.answer.key())).collect();
        if self.is_cut {
            keys.push("[v]iew all".to_owned());
        }
        format!("{waits}Allow it? {}, or `n` and a reason: ", keys.join(" "))
    }
}

/// A line with a key and what it means.
fn meaning(offered: &OfferedAnswer) -> String {
    format!("  [{}] {}\n", offered.answer.key(), offered.meaning)
}

/// Who wants to do what, and why that is asked. All of it may come from a model or a file: nothing in it may move the cursor
/// or look like a line of ours.
pub(crate) fn head(question: &Question<'_>, kept_in: Option<&str>) -> String {
    let CallFacts { tool, effects, decision, .. } = question.call;
    let mut lines =
        vec![format!("{}: {}", exact_line(tool.to_owned()), exact_line(question.description.to_owned()))];
    let mut say = |name: &str, words: String| lines.push(format!("  {name:<8}{}", exact_line(words)));
    let wants = if question.stage == QuestionStage::BeforeCall { "does" } else { "more" };
    say(wants, effects.to_string());
    say("why", decision.reason());
    if let Execution::Unsandboxed(Some(rule)) = question.execution {
        say("where", format!("outside the sandbox, by {rule}"));
    }
    if let Some((rule, origin)) = decision.trace.rule() {
        let layer = decision.trace.layer().map_or_else(String::new, |layer| format!(", layer {layer}"));
        let reason = decision.trace.rule_reason().map_or_else(String::new, |reason| format!(": {reason}"));
        say("rule", format!("{rule} ({origin}{layer}){reason}"));
    }
    if let (Some(rules), Some(place)) = (question.always, kept_in) {
        say("always", format!("allows {} in every workspace; written to {place}", rules.join(" and ")));
    }
    lines.join("\n") + "\n"
}

/// What it would do, as the tool draws it; what it was told, where it draws nothing.
fn preview(question: &Question<'_>) -> String {
    let input = || serde_json::to_string_pretty(question.call.input).unwrap_or_default();
    match question.preview {
        None => input(),
        Some(View::Text(words)) => format!("{words}\n{}", input()),
        Some(view) => draw::view(view),
    }
}

const MOST_LINES: usize = 60;
const MOST_COLUMNS: usize = 400;

/// As much as a person takes in at once, and how much more there is. `None` if that is all.
fn cut(text: &str) -> Option<String> {
    let is_long = |line: &str| line.chars().nth(MOST_COLUMNS).is_some();
    let count = text.lines().count();
    if count <= MOST_LINES && !text.lines().any(is_long) {
        return None;
    }
    let mut lines: Vec<String> =
        text.lines().take(MOST_LINES).map(|line| draw::fit(line, MOST_COLUMNS)).collect();
    lines.push(match count.saturating_sub(MOST_LINES) {
        0 => "… (long lines are cut: `v` shows all)".to_owned(),
        more => format!("… ({more} more lines: `v` shows all)"),
    });
    Some(lines.join("\n"))
}

/// Lines that cannot be taken for ours.
fn boxed(text: &str) -> String {
    exact(text.to_owned()).lines().map(|line| format!("  │ {line}\n")).collect()
}

/// What a line says.
#[derive(Debug, PartialEq)]
enum Read {
    Answer(Answer),
    ShowAll,
}

/// Only a clear word is an answer. The end of all lines is that nobody is there.
fn read(line: Option<&str>, offered: &[OfferedAnswer]) -> Option<Read> {
    let Some(line) = line else { return Some(Read::Answer(Answer::NobodyThere)) };
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let reason = Some(rest.trim()).filter(|reason| !reason.is_empty()).map(str::to_owned);
    let answer = match (word.to_ascii_lowercase().as_str(), reason) {
        ("v" | "view", None) => return Some(Read::ShowAll),
        ("y" | "yes", None) => Answer::Once,
        ("s" | "session", None) => Answer::Session,
        ("a" | "always", None) => Answer::Always,
        ("u" | "unsandboxed", None) => Answer::Unsandboxed,
        ("n" | "no", reason) => Answer::No(reason),
        _ => return None,
    };
    let is_offered = |kind: AnswerKind| offered.iter().any(|offered| offered.answer == kind);
    answer.kind().is_some_and(is_offered).then_some(Read::Answer(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [AnswerKind; 5] =
        [AnswerKind::Once, AnswerKind::Session, AnswerKind::Always, AnswerKind::Unsandboxed, AnswerKind::No];

    fn offering(kinds: &[AnswerKind]) -> Vec<OfferedAnswer> {
        kinds.iter().map(|answer| OfferedAnswer { answer: *answer, meaning: "x".to_owned() }).collect()
    }

    #[track_caller]
    fn check(line: &str, expected: Option<Answer>) {
        assert_eq!(read(Some(line), &offering(&ALL)), expected.map(Read::Answer), "{line}");
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        check("y", Some(Answer::Once));
        check("Yes", Some(Answer::Once));
        check("s", Some(Answer::Session));
        check("always", Some(Answer::Always));
        check("u", Some(Answer::Unsandboxed));
        check("u please", None);
        check("n", Some(Answer::No(None)));
        check("n use the copy in tests/", Some(Answer::No(Some("use the copy in tests/".to_owned()))));
        check("", None);
        check("y but only the first", None);
        check("ok", None);
        check("ya", None);
    }

    #[test]
    fn what_is_not_offered_is_no_answer() {
        let few = offering(&[AnswerKind::Unsandboxed, AnswerKind::No]);
        for line in ["a", "always", "y", "s"] {
            assert_eq!(read(Some(line), &few), None, "{line}");
        }
        assert_eq!(read(Some("u"), &offering(&[AnswerKind::Once, AnswerKind::No])), None);
        assert_eq!(read(None, &few), Some(Read::Answer(Answer::NobodyThere)));
    }

    #[test]
    fn what_is_left_out_is_said() {
        assert_eq!(cut("a\nb"), None);
        let long = "line\n".repeat(100);
        assert!(cut(&long).unwrap().ends_with("… (40 more lines: `v` shows all)"));
        assert!(cut(&"x".repeat(500)).unwrap().ends_with("…\n… (long lines are cut: `v` shows all)"));
    }

    #[test]
    fn nothing_that_is_shown_can_look_like_a_line_of_ours() {
        assert_eq!(boxed("a\nAllow it? \u{1b}[2J"), "  │ a\n  │ Allow it? \\u{1b}[2J\n");
    }
}

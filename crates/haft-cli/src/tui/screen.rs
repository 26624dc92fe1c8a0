//! Everything that is on the screen, and what keys do to it.
//!
//! Pure like the transcript: keys and events go in, rows and wishes come out. Who fulfils the wishes is [`app`](super::app).

use std::{collections::VecDeque, time::Duration};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use haft_tool::CallId;

use super::{
    dialog::{Asked, Dialog, Pressed, SubAgent, could_be_read},
    editor::Editor,
    history::History,
    prompts::Prompt,
    search::{Search, Searched},
    slash,
    transcript::{Happened, Transcript},
};

/// What the person wants.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wish {
    /// Say this to the model.
    Send(String),
    /// Do this, which is typed after a slash.
    Do(slash::Slash),
    /// Ask more, or less.
    NextMode,
    /// Stop the turn.
    Stop,
    /// Leave.
    Leave,
    /// Go to the background, as other programs do.
    Suspend,
    /// Draw all of it anew.
    Redraw,
}

/// What stands in the last row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Status {
    pub(super) mode: String,
    pub(super) model: String,
    /// Tokens of the context that are used, and how many there are.
    pub(super) context: Option<(u64, u64)>,
    /// Tokens that were sent and written in all.
    pub(super) used: (u64, u64),
    /// In dollars, if the prices are known.
    pub(super) cost: Option<f64>,
}

/// A step of what the model set out to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Todo {
    pub(super) text: String,
    pub(super) state: TodoState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TodoState {
    Open,
    Begun,
    Done,
}

/// A turn that runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    pub(super) since: u64,
    /// How often it was asked to stop.
    pub(super) stops: u32,
    /// When the model is asked again, if it did not answer.
    pub(super) again: Option<u64>,
}

impl Running {
    pub(super) fn since(now: u64) -> Running {
        Running { since: now, stops: 0, again: None }
    }
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Screen {
    pub(super) transcript: Transcript,
    pub(super) editor: Editor,
    pub(super) history: History,
    /// A search in it, while it goes on.
    search: Option<Search>,
    /// What was entered and is to be kept for the next time.
    pub(super) entered: Vec<String>,
    pub(super) dialogs: VecDeque<Dialog>,
    pub(super) status: Status,
    pub(super) todos: Vec<Todo>,
    /// Prompts of servers, which can be typed after a slash.
    pub(super) prompts: Vec<Prompt>,
    /// What goes on in the background: an id and a line each.
    pub(super) tasks: Vec<(String, String)>,
    pub(super) running: Option<Running>,
    /// Messages that wait for the turn to end.
    pub(super) queue: VecDeque<String>,
    /// A word that stays until the next key.
    pub(super) hint: Option<String>,
    /// The sub-agents that asked something, by their sessions.
    agents: Vec<String>,
    /// Since when the first dialog has been on the screen.
    asked_at: u64,
    last_key: u64,
    /// Whether the person turned to the question although something is typed.
    is_turned: bool,
    /// Whether the next Ctrl-C leaves.
    may_leave: bool,
    /// The columns of the last drawing: Up and Down go by rows.
    pub(super) columns: usize,
}

impl Screen {
    /// Takes in what happened.
    pub(super) fn happened(&mut self, what: Happened, now: u64) {
        match (&what, &mut self.running) {
            (Happened::Over, running) => *running = None,
            (Happened::Asking | Happened::Text(_), Some(running)) => running.again = None,
            _ => {}
        }
        self.transcript.happened(what, now);
    }

    /// The model did not answer, and is asked again at this moment.
    pub(super) fn pauses_until(&mut self, again: u64) {
        if let Some(running) = &mut self.running {
            running.again = Some(again);
        }
    }

    pub(super) fn new(history: History, columns: usize) -> Screen {
        Screen { history, columns, ..Screen::default() }
    }

    /// Somebody asks something. One after the other, in the order in which they came.
    pub(super) fn ask(&mut self, dialog: Dialog, now: u64) {
        if self.dialogs.is_empty() {
            self.asked_at = now;
        }
        self.mark(dialog.call().cloned(), true, now);
        self.dialogs.push_back(dialog);
    }

    /// A question about a call. Of one that a sub-agent makes it is said for which work: several may be under way.
    pub(super) fn ask_about(&mut self, mut asked: Asked, now: u64) {
        if let Some(SubAgent { session, kind }) = asked.agent.take() {
            match self.transcript.only_call(&format!("Delegate to {kind}: ")) {
                Some((call, work)) => asked.is_for(Some(call), &work),
                None => asked.is_for(None, &format!("sub-agent #{} of those that ask", self.number(session))),
            }
        }
        self.ask(Dialog::question(asked), now);
    }

    /// As which one of those that ask a sub-agent is known.
    fn number(&mut self, session: String) -> usize {
        let at = self.agents.iter().position(|known| *known == session);
        at.unwrap_or_else(|| {
            self.agents.push(session);
            self.agents.len() - 1
        }) + 1
    }

    /// A question that nobody waits for any more.
    pub(super) fn withdraw(&mut self, id: u64, now: u64) {
        let Some(at) = self.dialogs.iter().position(|dialog| dialog.id() == id) else { return };
        let dialog = self.dialogs.remove(at);
        self.mark(dialog.and_then(|dialog| dialog.call().cloned()), false, now);
        if at == 0 {
            self.next_question(now);
        }
    }

    /// The question that is shown now was not there before.
    fn next_question(&mut self, now: u64) {
        (self.asked_at, self.is_turned) = (now, false);
    }

    fn mark(&mut self, call: Option<CallId>, is_asked: bool, now: u64) {
        // One call may ask several things: for several that work for it.
        let is_open = |call: &CallId| self.dialogs.iter().any(|dialog| dialog.call() == Some(call));
        if let Some(call) = call.filter(|call| is_asked || !is_open(call)) {
            self.transcript.happened(Happened::Asked(call, is_asked), now);
        }
    }

    /// Whether a key would answer the question that is shown.
    pub(super) fn is_heard(&self, now: u64) -> bool {
        let is_open = self.may_answer() && could_be_read(self.quiet(now));
        self.is_turned || self.dialogs.front().is_some_and(|dialog| dialog.is_begun() || is_open)
    }

    /// A sentence may have a pause in its middle: while one is typed, letters and Enter belong to it.
    fn may_answer(&self) -> bool {
        self.editor.is_empty() || self.is_turned
    }

    /// Whether there is a question to which the keys do not go, because a message is being typed.
    pub(super) fn is_typing_past_a_question(&self) -> bool {
        !self.may_answer() && self.dialogs.front().is_some_and(|dialog| !dialog.is_begun())
    }

    /// Goes over to the question, or back to what is typed. Only a question that could be read can be turned to.
    fn turn(&mut self, now: u64) {
        let been_there = now.saturating_sub(self.asked_at);
        self.is_turned = !self.is_turned && could_be_read(been_there);
        if let Some(dialog) = self.dialogs.front_mut().filter(|_| self.is_turned) {
            dialog.attend(been_there);
        }
    }

    /// For how long the question has been there and no key was pressed.
    fn quiet(&self, now: u64) -> u64 {
        now.saturating_sub(self.asked_at.max(self.last_key))
    }

    fn attend(&mut self, now: u64) {
        let (quiet, may_answer) = (self.quiet(now), self.may_answer());
        if let Some(dialog) = self.dialogs.front_mut().filter(|_| may_answer) {
            dialog.attend(quiet);
        }
        self.last_key = now;
    }

    /// What was pasted. It is text, whatever it holds.
    pub(super) fn paste(&mut self, text: &str, now: u64) {
        self.attend(now);
        self.writing().insert(text);
    }

    fn writing(&mut self) -> &mut Editor {
        match self.dialogs.front_mut().and_then(Dialog::editor) {
            Some(editor) => editor,
            None => &mut self.editor,
        }
    }

    /// A key that was pressed.
    pub(super) fn key(&mut self, key: KeyEvent, now: u64) -> Option<Wish> {
        self.hint = None;
        if self.is_searched(key, now) {
            return None;
        }
        let may_leave = std::mem::take(&mut self.may_leave);
        let is_heard = self.is_heard(now);
        self.attend(now);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return self.interrupted(may_leave, now),
            KeyCode::Char('d') if control && self.editor.is_empty() && self.writing().is_empty() => {
                return Some(Wish::Leave);
            }
            KeyCode::Char('z') if control => return Some(Wish::Suspend),
            KeyCode::Char('l') if control => return Some(Wish::Redraw),
            KeyCode::Char('o') if control => {
                if !self.transcript.show_whole() {
                    self.hint = Some("nothing was shortened".to_owned());
                }
                return None;
            }
            KeyCode::BackTab => return Some(Wish::NextMode),
            KeyCode::Esc => return self.escape(now),
            KeyCode::Tab if self.is_turned || self.is_typing_past_a_question() && !self.is_command() => {
                self.turn(now);
                return None;
            }
            _ => {}
        }
        if is_heard && self.answered(key, now) {
            return None;
        }
        self.write(key)
    }

    /// Whether a key is for a search that goes on. Then it is for nothing else, and no answer.
    fn is_searched(&mut self, key: KeyEvent, now: u64) -> bool {
        let Some(mut search) = self.search.take() else { return false };
        self.last_key = now;
        let searched = search.key(key, &self.history, &mut self.editor);
        if searched == Searched::GoesOn {
            self.hint = Some(search.hint());
            self.search = Some(search);
        }
        searched != Searched::Passed
    }

    fn search(&mut self) {
        let search = Search::new(self.editor.text());
        self.hint = Some(search.hint());
        self.search = Some(search);
    }

    /// Ctrl-C: stops what runs, clears what is typed, and at last leaves.
    fn interrupted(&mut self, may_leave: bool, now: u64) -> Option<Wish> {
        if self.running.is_some() {
            return Some(self.stop());
        }
        if self.is_escaped(now) {
            return None;
        }
        if !self.editor.is_empty() {
            let typed = self.editor.take();
            self.history.clear(&typed);
            return None;
        }
        if may_leave {
            return Some(Wish::Leave);
        }
        self.may_leave = true;
        self.hint = Some("Ctrl-C again, or Ctrl-D, leaves".to_owned());
        None
    }

    fn escape(&mut self, now: u64) -> Option<Wish> {
        if self.is_escaped(now) {
            return None;
        }
        if self.running.is_some() {
            return Some(self.stop());
        }
        if !self.editor.is_empty() {
            self.hint = Some("Ctrl-C clears the line".to_owned());
        }
        None
    }

    /// Whether the dialog had a use for Esc.
    fn is_escaped(&mut self, now: u64) -> bool {
        match self.dialogs.front_mut().map(Dialog::escape) {
            None | Some(Pressed::Ignored) => return false,
            Some(Pressed::Answered) => self.close_dialog(now),
            Some(Pressed::Taken | Pressed::ShowAll(_)) => {}
        }
        true
    }

    fn close_dialog(&mut self, now: u64) {
        let call = self.dialogs.pop_front().and_then(|dialog| dialog.call().cloned());
        self.mark(call, false, now);
        self.next_question(now);
    }

    fn stop(&mut self) -> Wish {
        if let Some(running) = &mut self.running {
            running.stops += 1;
        }
        // What waited was written for a turn that went on: all of it can be thought over.
        if !self.queue.is_empty() {
            let mut waiting: Vec<String> = self.queue.drain(..).collect();
            waiting.extend(Some(self.editor.take()).filter(|typed| !typed.is_empty()));
            self.editor.set(&waiting.join("\n"));
        }
        Wish::Stop
    }

    /// A key for the dialog, if it has a use for it.
    fn answered(&mut self, key: KeyEvent, now: u64) -> bool {
        let Some(dialog) = self.dialogs.front_mut() else { return false };
        match dialog.key(key) {
            // Enter is no answer, and whoever looks at the question does not mean what is typed.
            Pressed::Ignored if dialog.editor().is_none() && key.code == KeyCode::Enter => self.is_turned,
            Pressed::Ignored => {
                self.is_turned &= dialog.editor().is_some();
                false
            }
            Pressed::Taken => true,
            Pressed::ShowAll(view) => {
                self.transcript.happened(Happened::Printed(view), now);
                true
            }
            Pressed::Answered => {
                self.close_dialog(now);
                true
            }
        }
    }

    /// A key for whatever is being written.
    fn write(&mut self, key: KeyEvent) -> Option<Wish> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let columns = self.columns.saturating_sub(2).max(2);
        let is_message = self.dialogs.front_mut().and_then(Dialog::editor).is_none();
        match key.code {
            KeyCode::Enter if !is_message => return None,
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => self.editor.insert("\n"),
            KeyCode::Enter => return self.enter(),
            KeyCode::Char('j') if control && is_message => self.editor.insert("\n"),
            KeyCode::Tab if is_message => self.complete(),
            KeyCode::Char('r') if control && is_message => self.search(),
            KeyCode::Up | KeyCode::Char('p') if is_message && (key.code == KeyCode::Up || control) => {
                if !self.editor.up(columns)
                    && let Some(line) = self.history.back(self.editor.text())
                {
                    self.editor.set(line);
                }
            }
            KeyCode::Down | KeyCode::Char('n') if is_message && (key.code == KeyCode::Down || control) => {
                if !self.editor.down(columns)
                    && let Some(line) = self.history.forth(self.editor.text())
                {
                    self.editor.set(line);
                }
            }
            code => {
                edit(self.writing(), code, control, alt);
                if self.editor.is_empty() {
                    self.history.clear("");
                }
            }
        }
        None
    }

    fn enter(&mut self) -> Option<Wish> {
        if let Some(line) = self.editor.text().strip_suffix('\\') {
            // As shells have it: the line goes on.
            let line = format!("{line}\n");
            self.editor.set(&line);
            return None;
        }
        let text = self.editor.text().trim().to_owned();
        if text.is_empty() {
            return None;
        }
        if slash::is_slash(&text) {
            return self.slash(&text);
        }
        self.editor.take();
        self.entered(&text);
        if self.running.is_some() {
            self.queue.push_back(text);
            return None;
        }
        Some(Wish::Send(text))
    }

    fn entered(&mut self, text: &str) {
        self.history.add(text);
        self.entered.push(text.to_owned());
    }

    fn slash(&mut self, text: &str) -> Option<Wish> {
        match slash::parse(text) {
            Ok(slash) => {
                self.editor.take();
                self.entered(text);
                Some(Wish::Do(slash))
            }
            Err(wrong) => {
                self.hint = Some(wrong);
                None
            }
        }
    }

    /// Completes as far as all candidates go.
    fn complete(&mut self) {
        let candidates = self.candidates();
        let Some((first, _)) = candidates.first() else { return };
        let is_common =
            |len: &usize| candidates.iter().all(|(word, _)| word.get(..*len) == first.get(..*len));
        let len = (1..=first.len()).rev().find(is_common).unwrap_or(first.len());
        let word = if len > self.editor.text().len() { &first[..len] } else { first.as_str() };
        let word = word.to_owned();
        self.editor.set(&word);
    }

    /// Whether there is something that Tab could complete.
    fn is_command(&self) -> bool {
        !self.candidates().is_empty()
    }

    /// What can be typed instead, while a command is typed.
    pub(super) fn candidates(&self) -> Vec<(String, &str)> {
        let text = self.editor.text();
        if text.contains('\n') {
            return Vec::new();
        }
        let is_begun =
            |prompt: &&Prompt| text.strip_prefix('/').is_some_and(|typed| prompt.command.starts_with(typed));
        let prompts = self.prompts.iter().filter(is_begun);
        let prompts = prompts.map(|prompt| (format!("/{} ", prompt.command), prompt.about.as_str()));
        slash::candidates(text).into_iter().chain(prompts).collect()
    }

    /// For how long the turn has run.
    pub(super) fn lasted(&self, now: u64) -> Option<Duration> {
        self.running.map(|running| Duration::from_millis(now.saturating_sub(running.since)))
    }
}

/// The keys that every editor has.
fn edit(editor: &mut Editor, code: KeyCode, control: bool, alt: bool) {
    match code {
        KeyCode::Backspace if control || alt => editor.delete_word(),
        KeyCode::Backspace => editor.backspace(),
        KeyCode::Char('h') if control => editor.backspace(),
        KeyCode::Delete => editor.delete(),
        KeyCode::Char('w') if control => editor.delete_to_blank(),
        KeyCode::Char('d') if alt => editor.delete_word_after(),
        KeyCode::Char('y') if control => editor.yank(),
        KeyCode::Char('u') if control => editor.delete_to_start(),
        KeyCode::Char('k') if control => editor.delete_to_end(),
        KeyCode::Left if control || alt => editor.word_left(),
        KeyCode::Right if control || alt => editor.word_right(),
        KeyCode::Char('b') if alt => editor.word_left(),
        KeyCode::Char('f') if alt => editor.word_right(),
        KeyCode::Left => editor.left(),
        KeyCode::Right => editor.right(),
        KeyCode::Char('b') if control => editor.left(),
        KeyCode::Char('f') if control => editor.right(),
        KeyCode::Char('d') if control => editor.delete(),
        KeyCode::Home => editor.home(),
        KeyCode::End => editor.end(),
        KeyCode::Char('a') if control => editor.home(),
        KeyCode::Char('e') if control => editor.end(),
        KeyCode::Char(c) if !control && !alt => editor.insert(c.encode_utf8(&mut [0; 4])),
        _ => {}
    }
}

//! Looking back for something that was typed, while it is typed what to look for.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{editor::Editor, history::History};

/// A search that goes on. What it finds is shown where a message is typed.
#[derive(Debug)]
pub(super) struct Search {
    words: String,
    /// The number of the line that was found.
    at: Option<usize>,
    is_missing: bool,
    /// What was typed before.
    before: String,
}

/// What a key came to.
#[derive(Debug, PartialEq)]
pub(super) enum Searched {
    GoesOn,
    Over,
    /// It is over, and the key is for what was found.
    Passed,
}

impl Search {
    pub(super) fn new(typed: &str) -> Search {
        Search { words: String::new(), at: None, is_missing: false, before: typed.to_owned() }
    }

    pub(super) fn key(&mut self, key: KeyEvent, history: &History, editor: &mut Editor) -> Searched {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('r') if control => self.find(self.at, history, editor),
            KeyCode::Char('c' | 'g') if control => return self.give_up(editor),
            KeyCode::Esc => return self.give_up(editor),
            // It can be looked at, and changed, before it is sent.
            KeyCode::Enter | KeyCode::Tab => return Searched::Over,
            KeyCode::Backspace => {
                self.words.pop();
                self.find(None, history, editor);
            }
            KeyCode::Char(letter) if is_plain => {
                self.words.push(letter);
                self.find(self.at.map(|at| at + 1), history, editor);
            }
            _ => return Searched::Passed,
        }
        Searched::GoesOn
    }

    fn find(&mut self, before: Option<usize>, history: &History, editor: &mut Editor) {
        let found = history.find(&self.words, before).filter(|_| !self.words.is_empty());
        self.is_missing = found.is_none() && !self.words.is_empty();
        if let Some((at, line)) = found {
            self.at = Some(at);
            editor.set(line);
        }
    }

    fn give_up(&self, editor: &mut Editor) -> Searched {
        editor.set(&self.before);
        Searched::Over
    }

    /// What is looked for.
    pub(super) fn hint(&self) -> String {
        let none = if self.is_missing { " (there is none)" } else { "" };
        format!("search back: {}{none}   Ctrl-R goes on, Enter takes it, Esc does not", self.words)
    }
}

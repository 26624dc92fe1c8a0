//! Colours and signs. Only the sixteen colours that every terminal has, as its owner set them: they can be read on light and
//! on dark ground. What is said by a colour is also said by a sign or a word.

use ratatui::style::{Color, Modifier, Style};

pub(super) const PLAIN: Style = Style::new();
pub(super) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub(super) const QUIET: Style = Style::new().add_modifier(Modifier::DIM);
pub(super) const GOOD: Style = Style::new().fg(Color::Green);
pub(super) const BAD: Style = Style::new().fg(Color::Red);
pub(super) const NOTE: Style = Style::new().fg(Color::Cyan);
pub(super) const WAIT: Style = Style::new().fg(Color::Yellow);
pub(super) const CODE: Style = Style::new().fg(Color::Cyan);
pub(super) const LINK: Style = Style::new().fg(Color::Blue).add_modifier(Modifier::UNDERLINED);
pub(super) const KEYWORD: Style = Style::new().fg(Color::Magenta);
pub(super) const LITERAL: Style = Style::new().fg(Color::Yellow);
pub(super) const COMMENT: Style = Style::new().add_modifier(Modifier::DIM).add_modifier(Modifier::ITALIC);

pub(super) const PROMPT: &str = "❯ ";
pub(super) const DONE: &str = "●";
pub(super) const FAILED: &str = "✗";
pub(super) const REFUSED: &str = "⊘";
pub(super) const WAITING: &str = "○";
pub(super) const BELOW: &str = "  ⎿ ";
pub(super) const BESIDE: &str = "    ";

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The sign of what goes on, at a moment.
pub(super) fn spinner(ms: u64) -> &'static str {
    SPINNER[(ms / 120 % SPINNER.len() as u64) as usize]
}

//! What a program printed: its colours are kept, everything else that it says to a terminal is dropped.
//!
//! A build that marks its errors red stays readable; a cursor that moves, a title, a link or a question to the terminal does
//! nothing.

use ratatui::{
    style::{Color, Modifier, Style},
    text::Span,
};

use super::text::{Row, span};

/// Printed text as lines with styles.
pub(super) fn lines(text: &str) -> Vec<Row> {
    let mut style = Style::new();
    text.lines().map(|line| self::line(line, &mut style)).collect()
}

/// One line. The style goes on to the next, as it does on a terminal.
fn line(line: &str, style: &mut Style) -> Row {
    // What a carriage return goes back over is not there any more: progress bars end as their last state.
    let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find('\u{1b}') {
        push(&mut spans, &rest[..at], *style);
        rest = match sequence(&rest[at + 1..]) {
            Sequence::Style(codes, rest) => {
                apply(style, codes);
                rest
            }
            Sequence::Other(rest) => rest,
        };
    }
    push(&mut spans, rest, *style);
    Row::from(spans)
}

fn push(spans: &mut Vec<Span<'static>>, text: &str, style: Style) {
    if !text.is_empty() {
        spans.push(span(&struck(text), style));
    }
}

/// A text without the characters that backspaces went back over, and without bells.
fn struck(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{8}' => drop(shown.pop()),
            '\u{7}' => {}
            c => shown.push(c),
        }
    }
    shown
}

enum Sequence<'a> {
    /// Codes of a style, and what follows.
    Style(&'a str, &'a str),
    /// Anything else: what follows.
    Other(&'a str),
}

/// What stands after an escape character.
fn sequence(text: &str) -> Sequence<'_> {
    let Some(first) = text.chars().next() else { return Sequence::Other("") };
    let rest = &text[first.len_utf8()..];
    match first {
        '[' => match rest.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c)) {
            Some(end) if rest[end..].starts_with('m') => Sequence::Style(&rest[..end], &rest[end + 1..]),
            Some(end) => Sequence::Other(&rest[end + 1..]),
            None => Sequence::Other(""),
        },
        // A title, a link, a picture: up to its end.
        ']' | 'P' | '_' | '^' | 'X' => {
            let (bell, end) = (rest.find('\u{7}'), rest.find("\u{1b}\\"));
            match (bell, end) {
                (Some(bell), end) if end.is_none_or(|end| bell < end) => Sequence::Other(&rest[bell + 1..]),
                (_, Some(end)) => Sequence::Other(&rest[end + 2..]),
                _ => Sequence::Other(""),
            }
        }
        '(' | ')' | '*' | '+' | '#' | '%' => {
            Sequence::Other(rest.chars().next().map_or("", |c| &rest[c.len_utf8()..]))
        }
        _ => Sequence::Other(rest),
    }
}

fn apply(style: &mut Style, codes: &str) {
    let mut codes = codes.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or(0));
    while let Some(code) = codes.next() {
        *style = match code {
            0 => Style::new(),
            1 => style.add_modifier(Modifier::BOLD),
            2 => style.add_modifier(Modifier::DIM),
            3 => style.add_modifier(Modifier::ITALIC),
            4 => style.add_modifier(Modifier::UNDERLINED),
            7 => style.add_modifier(Modifier::REVERSED),
            9 => style.add_modifier(Modifier::CROSSED_OUT),
            22 => style.remove_modifier(Modifier::BOLD | Modifier::DIM),
            23 => style.remove_modifier(Modifier::ITALIC),
            24 => style.remove_modifier(Modifier::UNDERLINED),
            27 => style.remove_modifier(Modifier::REVERSED),
            30..=37 => style.fg(indexed(code - 30)),
            38 => extended(&mut codes).map_or(*style, |color| style.fg(color)),
            39 => Style { fg: None, ..*style },
            40..=47 => style.bg(indexed(code - 40)),
            48 => extended(&mut codes).map_or(*style, |color| style.bg(color)),
            49 => Style { bg: None, ..*style },
            90..=97 => style.fg(indexed(code - 82)),
            100..=107 => style.bg(indexed(code - 92)),
            _ => *style,
        };
    }
}

fn indexed(number: u16) -> Color {
    Color::Indexed(u8::try_from(number).unwrap_or(0))
}

fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<Color> {
    let mut byte = || codes.next().map(|code| u8::try_from(code).unwrap_or(0));
    match byte()? {
        5 => Some(Color::Indexed(byte()?)),
        2 => Some(Color::Rgb(byte()?, byte()?, byte()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::text::text_of, *};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(lines(text).iter().map(text_of).collect::<Vec<_>>().join("\n"), expected, "{text:?}");
    }

    #[test]
    fn colours_stay_and_commands_go() {
        check("\u{1b}[31merror\u{1b}[0m: x", "error: x");
        assert_eq!(lines("\u{1b}[31merror")[0].spans[0].style.fg, Some(Color::Indexed(1)));
        check("a\u{1b}[2J\u{1b}[10;10Hb", "ab");
        check("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "alink");
        check("\u{1b}(Ba\u{1b}", "a");
        check("10%\r50%\r100%\r\nnext", "100%\nnext");
        check("abc\u{8}\u{8}x\u{7}", "ax");
    }

    #[test]
    fn a_colour_goes_on_over_the_end_of_a_line() {
        assert_eq!(lines("\u{1b}[38;5;200ma\nb")[1].spans[0].style.fg, Some(Color::Indexed(200)));
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_is_left(text in "[\u{1b}\u{7}\u{8}\\[\\]();0-9mJHa-c日\r\n\u{9b}\u{90}]{0,60}") {
            for row in lines(&text) {
                prop_assert!(!text_of(&row).contains(char::is_control));
            }
        }
    }
}

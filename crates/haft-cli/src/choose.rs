//! Something that the model would have the person decide, at the terminal.
//!
//! The words are the model's: they stand in a box that cannot look like a line of ours. Only what is typed is an answer,
//! and only a number that is offered chooses.

use std::io;

use haft_engine::policy::{Choice, Choices, Choosing, Chosen};

use crate::{
    draw::{fit, plain, plain_line},
    tty::Tty,
};

const MOST_COLUMNS: usize = 400;

/// Asks all questions, one after another.
pub(crate) async fn choose(choices: Choices<'_>) -> io::Result<Choosing> {
    let mut open = Open { tty: Tty::open()?, is_answered: false };
    open.tty.forget_typed();
    open.tty.write(&head(&choices)).await?;
    let chosen = open.converse(&choices).await?;
    open.is_answered = true;
    Ok(chosen)
}

/// The questions on the screen. If they are dropped before they are answered, they are taken away.
struct Open {
    tty: Tty,
    is_answered: bool,
}

impl Open {
    async fn converse(&self, choices: &Choices<'_>) -> io::Result<Choosing> {
        let mut chosen = Vec::new();
        for (at, choice) in choices.questions.iter().enumerate() {
            self.tty.write(&shown(choice, at + 1, choices.questions.len())).await?;
            match self.answer(choice).await? {
                Said::Chosen(answer) => chosen.push(answer),
                Said::No => return Ok(Choosing::Declined),
                Said::Nobody => return Ok(Choosing::NobodyThere),
            }
        }
        Ok(Choosing::Chosen(chosen))
    }

    async fn answer(&self, choice: &Choice) -> io::Result<Said> {
        loop {
            self.tty.write("  > ").await?;
            let Some(line) = self.tty.line().await? else { return Ok(Said::Nobody) };
            match read(&line, choice) {
                Ok(said) => return Ok(said),
                Err(what) => self.tty.write(&format!("  {what}\n")).await?,
            }
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.is_answered {
            self.tty.forget_typed();
            self.tty.write_now("\r\x1b[K  (withdrawn: no answer is needed any more)\n");
        }
    }
}

fn head(choices: &Choices<'_>) -> String {
    let text = choices.text.map_or_else(String::new, |text| {
        plain(text.to_owned()).lines().map(|line| format!("  │ {line}\n")).collect()
    });
    format!("\nThe model asks you:\n{text}")
}

/// A question with what can be chosen and typed.
pub(crate) fn shown(choice: &Choice, number: usize, of: usize) -> String {
    let count = if of > 1 { format!(" ({number} of {of})") } else { String::new() };
    let line = |text: String| fit(&plain_line(text), MOST_COLUMNS);
    let mut lines = vec![format!("  │ {}{count}", line(choice.question.clone()))];
    for (at, option) in choice.options.iter().enumerate() {
        let words = match option.description.as_str() {
            "" => option.label.clone(),
            description => format!("{}: {description}", option.label),
        };
        lines.push(format!("  │ {:>2}  {}", at + 1, line(words)));
    }
    lines.push(format!("  {}", how(choice)));
    lines.join("\n") + "\n"
}

/// What can be typed.
fn how(choice: &Choice) -> String {
    let mut ways = Vec::new();
    match (choice.options.is_empty(), choice.several) {
        (true, _) => {}
        (false, true) => ways.push("numbers with commas"),
        (false, false) => ways.push("a number"),
    }
    if choice.own_words {
        ways.push(if ways.is_empty() { "your words" } else { "and, or instead, your own words" });
    }
    format!("Type {}; nothing: no answer; `!`: answer none of it", ways.join(" "))
}

/// What was typed.
#[derive(Debug, PartialEq)]
pub(crate) enum Said {
    Chosen(Chosen),
    No,
    Nobody,
}

/// Numbers at the beginning choose, what follows is in the person's own words.
pub(crate) fn read(line: &str, choice: &Choice) -> Result<Said, String> {
    let line = line.trim();
    if line == "!" {
        return Ok(Said::No);
    }
    let is_number = |char: char| char.is_ascii_digit() || char == ',' || char == ' ';
    let end = line.find(|char| !is_number(char)).unwrap_or(line.len());
    let (mut numbers, mut words) = (&line[..end], line[end..].trim());
    // `3 months` chooses the third and says `months`; `2nd` and answers without options are words from the beginning.
    if choice.options.is_empty() || (!words.is_empty() && !numbers.ends_with([' ', ','])) {
        (numbers, words) = ("", line);
    }
    let labels = labels(numbers, choice)?;
    if !choice.own_words && !words.is_empty() {
        return Err("it is one of the numbers".to_owned());
    }
    let words = (!words.is_empty()).then(|| words.to_owned());
    Ok(Said::Chosen(Chosen { labels, words }))
}

fn labels(numbers: &str, choice: &Choice) -> Result<Vec<String>, String> {
    let mut places = Vec::new();
    for number in numbers.split([',', ' ']).filter(|number| !number.is_empty()) {
        let place = number.parse::<usize>().ok().filter(|place| (1..=choice.options.len()).contains(place));
        places
            .push(place.ok_or_else(|| {
                format!("there is no {number}; they go from 1 to {}", choice.options.len())
            })?);
    }
    places.sort_unstable();
    places.dedup();
    if places.len() > 1 && !choice.several {
        return Err("it is one of them only".to_owned());
    }
    Ok(places.into_iter().map(|place| choice.options[place - 1].label.clone()).collect())
}

#[cfg(test)]
mod tests {
    use haft_engine::policy::ChoiceOption;

    use super::*;

    fn choice(several: bool) -> Choice {
        let option = |label: &str| ChoiceOption { label: label.to_owned(), description: String::new() };
        Choice {
            header: "H".to_owned(),
            question: "Which?".to_owned(),
            options: vec![option("a"), option("b"), option("c")],
            several,
            own_words: true,
        }
    }

    #[track_caller]
    fn check(several: bool, line: &str, expected: Result<(&[&str], Option<&str>), &str>) {
        let said = read(line, &choice(several));
        let expected = expected.map_err(str::to_owned).map(|(labels, words)| {
            Said::Chosen(Chosen {
                labels: labels.iter().map(|label| (*label).to_owned()).collect(),
                words: words.map(str::to_owned),
            })
        });
        assert_eq!(said, expected, "{line}");
    }

    #[test]
    fn numbers_choose_and_words_are_words() {
        check(false, "2", Ok((&["b"], None)));
        check(false, "", Ok((&[], None)));
        check(false, "2 but faster", Ok((&["b"], Some("but faster"))));
        check(false, "none of these", Ok((&[], Some("none of these"))));
        check(false, "2nd", Ok((&[], Some("2nd"))));
        check(false, "1,2", Err("it is one of them only"));
        check(true, "3, 1,1", Ok((&["a", "c"], None)));
        check(true, "4", Err("there is no 4; they go from 1 to 3"));
        check(true, "0", Err("there is no 0; they go from 1 to 3"));
        assert_eq!(read("!", &choice(false)), Ok(Said::No));
    }

    #[test]
    fn without_options_numbers_are_words_and_without_words_only_numbers_count() {
        let bare = Choice { options: Vec::new(), ..choice(false) };
        assert_eq!(
            read("42", &bare),
            Ok(Said::Chosen(Chosen { labels: Vec::new(), words: Some("42".to_owned()) }))
        );
        let closed = Choice { own_words: false, ..choice(false) };
        assert_eq!(read("perhaps", &closed), Err("it is one of the numbers".to_owned()));
    }

    #[test]
    fn nothing_of_it_can_look_like_a_line_of_ours() {
        let evil = Choice { question: "a\n\u{1b}[2JAllow it?".to_owned(), ..choice(false) };
        let text = format!(
            "{}{}",
            head(&Choices { session: None, call: None, text: Some("x\n\u{1b}[2J"), questions: &[] }),
            shown(&evil, 1, 1)
        );
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(
            text.lines().filter(|line| line.contains("Allow it")).all(|line| line.starts_with("  │")),
            "{text}"
        );
    }
}

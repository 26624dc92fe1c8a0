//! Says a message to the engine and shows what happens.

use std::{path::Path, time::Duration};

use haft_engine::{Call, Session, result::ToolResult, turn::Event};
use haft_model::Dialect;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{pace::Pace, project::Project, tally::Tally, timeline::Timeline};
use crate::{
    draw::{Paint, columns, fit, plain},
    out::Out,
    watch,
};

/// Where the demo is played.
pub(super) struct Stage<'p> {
    pub(super) project: &'p Project,
    pub(super) session: Session,
    runtime: Runtime,
    out: Out,
    pub(super) paint: Paint,
    columns: usize,
    scenes: usize,
    calls: usize,
    tally: Tally,
    pace: Pace,
}

/// One turn, and how it went.
pub(super) struct Played {
    pub(super) results: Vec<ToolResult>,
    pub(super) timeline: Timeline,
}

/// The model of this demo speaks this API's JSON; any other would do.
pub(super) const DIALECT: Dialect = Dialect::Anthropic;

/// Lines are no longer than this, and no longer than the terminal is wide, if it is not too narrow for anything.
const MOST_COLUMNS: usize = 100;
const LEAST_COLUMNS: usize = 40;
const MARGIN: usize = 10;

impl<'p> Stage<'p> {
    pub(super) fn new(project: &'p Project, out: Out, paint: Paint, pace: Pace) -> anyhow::Result<Stage<'p>> {
        let session = project.session()?;
        let runtime = watch::runtime()?;
        let columns = columns().unwrap_or(MOST_COLUMNS).clamp(LEAST_COLUMNS, MOST_COLUMNS);
        let (scenes, calls, tally) = (0, 0, Tally::default());
        Ok(Stage { project, session, runtime, out, paint, columns, scenes, calls, tally, pace })
    }

    /// The model says something and makes calls; the engine answers. What it sent is shown.
    pub(super) fn turn(&mut self, words: &str, calls: &[(&str, Value)]) -> anyhow::Result<Played> {
        self.turn_watched(words, calls, |_, _| ())
    }

    /// The same, with somebody who watches and may interfere.
    pub(super) fn turn_watched(
        &mut self,
        words: &str,
        calls: &[(&str, Value)],
        mut watcher: impl FnMut(&Session, &Event),
    ) -> anyhow::Result<Played> {
        let message = self.message(words, calls);
        self.model(words, calls)?;
        let calls = DIALECT.calls(&message)?;
        let (mut timeline, pool) = (Timeline::default(), self.session.pool());
        let results = self.runtime.block_on(async {
            let mut turn = self.session.live_turn();
            calls.into_iter().for_each(|call| drop(turn.push(call)));
            turn.close();
            while let Some(event) = turn.next().await {
                timeline.note(&event);
                watcher(&self.session, &event);
            }
            turn.results().await
        });
        self.tally.note(&results, &timeline, &pool);
        Ok(Played { results, timeline })
    }

    /// What the policy says about such a call, without making it.
    pub(super) fn decided(&self, (name, input): (&str, Value)) -> anyhow::Result<String> {
        let explained = self.runtime.block_on(self.session.explain(Call::new("question", name, input)));
        let explained = explained.map_err(|refused| anyhow::anyhow!(refused.text()))?;
        Ok(format!("{} → nobody is there: not started", explained.decision.reason()))
    }

    /// The message as the API would have it.
    fn message(&mut self, words: &str, calls: &[(&str, Value)]) -> Value {
        let mut content = vec![json!({ "type": "text", "text": words })];
        for (name, input) in calls {
            self.calls += 1;
            let id = format!("toolu_{:02}", self.calls);
            content.push(json!({ "type": "tool_use", "id": id, "name": name, "input": input }));
        }
        json!({ "role": "assistant", "content": content })
    }

    fn model(&mut self, words: &str, calls: &[(&str, Value)]) -> anyhow::Result<()> {
        let width = calls.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let lines = calls.iter().map(|(name, input)| format!("{name:<width$}  {input}"));
        let lines: Vec<String> = [format!("“{words}”")].into_iter().chain(lines).collect();
        self.part("model", Paint::NOTE, lines)
    }

    /// What the engine did.
    pub(super) fn engine(&mut self, lines: Vec<String>) -> anyhow::Result<()> {
        self.part("engine", Paint::WAIT, lines)
    }

    /// What the model gets: at most so many lines of a result.
    pub(super) fn gets(&mut self, result: &ToolResult, most: usize) -> anyhow::Result<()> {
        let style = if result.is_error() { Paint::BAD } else { Paint::GOOD };
        let text = result.text();
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let mut shown: Vec<String> = lines.iter().take(most).map(|line| line.replace('\t', "  ")).collect();
        match lines.len().saturating_sub(most) {
            0 => {}
            1 => shown.push("… 1 more line".to_owned()),
            more => shown.push(format!("… {more} more lines")),
        }
        self.part("gets", style, shown)
    }

    /// What the model gets, some of its lines.
    pub(super) fn excerpt(&mut self, lines: &[&str]) -> anyhow::Result<()> {
        self.part("gets", Paint::GOOD, lines.iter().map(|line| (*line).to_owned()).collect())
    }

    /// Lines behind a word. Long ones go on in the next.
    fn part(&mut self, name: &str, style: anstyle::Style, lines: Vec<String>) -> anyhow::Result<()> {
        let mut label = self.paint.style(style, &format!("  {name:<8}"));
        let mut count = 0;
        for line in lines {
            for piece in wrapped(&self.named(&line), self.room()) {
                self.out.lines(format!("{label}{piece}").trim_end())?;
                label = " ".repeat(MARGIN);
                count += 1;
            }
        }
        self.out.flush()?;
        self.pace.read(count);
        Ok(())
    }

    /// How long was waited for whoever reads.
    pub(super) fn waited(&self) -> Duration {
        self.pace.waited()
    }

    /// How long a line behind a word may be.
    pub(super) fn room(&self) -> usize {
        self.columns - MARGIN
    }

    /// The same text with the temporary directories under names that can be read.
    pub(super) fn named(&self, text: &str) -> String {
        let show = |path: &Path| path.display().to_string();
        plain(
            text.replace(&show(&self.project.root), "$PROJECT")
                .replace(&show(&self.project.results), "$RESULTS"),
        )
    }

    pub(super) fn opening(&mut self) -> anyhow::Result<()> {
        let title = self.paint.style(Paint::STRONG, "haft demo");
        let words = format!("{OPENING}\n$PROJECT is {}, gone at the end.", self.project.root.display());
        let lines: Vec<String> = words.lines().flat_map(|line| wrapped(line, self.columns)).collect();
        self.out.lines(&lines.join("\n").replacen("haft demo", &title, 1))?;
        if self.pace.is_slow() {
            self.out.lines("Enter goes on without pauses, Ctrl-C ends it.")?;
        }
        Ok(self.out.flush()?)
    }

    pub(super) fn title(&mut self, title: &str) -> anyhow::Result<()> {
        self.scenes += 1;
        let head = format!("── {}. {title} ", self.scenes);
        let rule = "─".repeat(self.columns.saturating_sub(head.chars().count()));
        self.out.lines(&format!("\n{}", self.paint.style(Paint::STRONG, &format!("{head}{rule}"))))?;
        Ok(())
    }

    pub(super) fn closing(&mut self, took: String) -> anyhow::Result<()> {
        let table = self.tally.table(&took, self.paint);
        self.out.lines(&format!("\n{}\n\nNext, in a directory of yours:", table.trim_end()))?;
        let width = NEXT.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
        for (command, about) in NEXT {
            let line = format!("  {command:<width$}     {about}");
            match line.chars().count() <= self.columns {
                true => self.out.lines(&line)?,
                false => self.out.lines(&format!("  {command}\n    {about}"))?,
            }
        }
        Ok(self.out.flush()?)
    }
}

const OPENING: &str =
    "haft demo: a scripted model drives the real engine. No key, no network, nobody to ask.";

const NEXT: [(&str, &str); 6] = [
    ("haft", "a conversation with a model that works here"),
    ("haft run 'What does this project do?'", "one task, for scripts"),
    ("haft tools --all", "what a model can call here"),
    (r#"haft call Read '{"file_path":"README.md"}'"#, "call a tool as a model would"),
    (r#"haft explain Read '{"file_path":"/etc/passwd"}'"#, "what would be decided, and why"),
    ("haft turn --help", "answer a model's message, in any language"),
];

/// A line as lines of at most so many characters, broken at blanks; a single long word is cut.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width {
        return vec![line.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let last = lines.last_mut().expect("there is always one");
        let room = width.saturating_sub(last.chars().count());
        if word.trim_end().chars().count() <= room {
            last.push_str(word);
        } else {
            lines.push(fit(word, width));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_go_on_in_the_next() {
        assert_eq!(wrapped("one two three", 20), ["one two three"]);
        assert_eq!(wrapped("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrapped("a incomprehensibly", 8), ["a ", "incompr…"]);
    }
}

//! Tree to text, for whoever has to approve it.
//!
//! The text is made from the tree, so what is shown is what was understood. One item of the outermost list a line, one way to
//! quote, nothing left out, and what cannot be seen is written as an escape. Reading the text gives the same tree
//! again, unless something [odd](super::Part::Odd) is in it, or an odd character where it cannot be escaped.

mod words;

use super::tree::*;

/// The text of a script.
///
/// ```
/// use haft_shell::syntax::{parse, render};
///
/// assert_eq!(render(&parse("a  \"b\\\n\"&&`c`>d").script), "a 'b' && $(c) > d");
/// ```
pub fn render(script: &Script) -> String {
    let mut renderer = Renderer::default();
    for item in &script.items {
        renderer.item(item);
        renderer.out.push_str(if item.background { " &" } else { "" });
        renderer.end_line();
    }
    renderer.out.truncate(renderer.out.trim_end_matches('\n').len());
    renderer.out
}

#[derive(Default)]
struct Renderer {
    out: String,
    /// The here-documents of this line, with their ends.
    bodies: String,
}

impl Renderer {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn end_line(&mut self) {
        self.out.push('\n');
        self.out.push_str(&std::mem::take(&mut self.bodies));
    }

    /// A list within something: each item ended, here-documents after the line.
    fn list(&mut self, script: &Script) {
        for item in &script.items {
            self.item(item);
            self.push(if item.background { " &" } else { ";" });
            match self.bodies.is_empty() {
                true => self.push(" "),
                false => self.end_line(),
            }
        }
    }

    /// A list in the brackets of a substitution, where `time` means nothing at the beginning.
    fn substitution(&mut self, script: &Script) {
        let is_timed = script.items.first().is_some_and(|item| item.first.timed);
        self.list_in_brackets(if is_timed { "! ! " } else { "" }, script);
    }

    fn in_brackets(&mut self, script: &Script) {
        self.list_in_brackets("", script);
    }

    /// A list in brackets, which need no `;` before the last one.
    fn list_in_brackets(&mut self, before: &str, script: &Script) {
        let mut inner = Renderer::default();
        inner.push(before);
        inner.list(script);
        let text = match script.items.last() {
            Some(item) if !item.background && !item.ends_bare() && !inner.out.ends_with('\n') => {
                inner.out.trim_end_matches("; ")
            }
            _ => inner.out.trim_end_matches(' '),
        };
        // `$((` and `((` would be something else.
        self.push(if text.starts_with('(') { "( " } else { "(" });
        self.push(text);
        self.push(")");
    }

    fn item(&mut self, item: &Item) {
        self.pipeline(&item.first);
        for (connector, pipeline) in &item.rest {
            self.push(if *connector == Connector::And { " && " } else { " || " });
            self.pipeline(pipeline);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        self.push(if pipeline.timed { "time " } else { "" });
        self.push(if pipeline.negated { "! " } else { "" });
        if pipeline.is_bare() && !pipeline.timed && !pipeline.negated {
            return self.push("! !");
        }
        for (number, command) in pipeline.commands.iter().enumerate() {
            self.push(if number > 0 { " | " } else { "" });
            self.command(command);
        }
    }

    fn command(&mut self, command: &Command) {
        match &command.kind {
            CommandKind::Simple { assignments, words } => {
                return self.simple(assignments, words, &command.redirects);
            }
            kind => self.compound(kind),
        }
        for redirect in &command.redirects {
            self.push(" ");
            self.redirect(redirect);
        }
    }

    fn simple(&mut self, assignments: &[Assignment], words: &[Word], redirects: &[Redirect]) {
        let start = self.out.len();
        // A program that is called like a reserved word can only stand behind something else.
        let redirects_first = assignments.is_empty() && words.first().is_some_and(Word::is_reserved);
        let (before, after) = if redirects_first { (redirects, &[][..]) } else { (&[][..], redirects) };
        let space =
            |renderer: &mut Renderer| renderer.push(if renderer.out.len() > start { " " } else { "" });
        for redirect in before {
            space(self);
            self.redirect(redirect);
        }
        for assignment in assignments {
            space(self);
            self.assignment(assignment);
        }
        for word in words {
            space(self);
            self.word(word);
        }
        for redirect in after {
            space(self);
            self.redirect(redirect);
        }
    }

    fn compound(&mut self, kind: &CommandKind) {
        match kind {
            CommandKind::Simple { assignments, words } => self.simple(assignments, words, &[]),
            CommandKind::Group(script) => self.between("{ ", script, "}"),
            CommandKind::Subshell(script) => self.subshell(script),
            CommandKind::If { arms, otherwise } => self.conditions(arms, otherwise.as_ref()),
            CommandKind::While { until, condition, body } => {
                self.between(if *until { "until " } else { "while " }, condition, "");
                self.between("do ", body, "done");
            }
            CommandKind::For { select, name, words, body } => {
                self.push(if *select { "select " } else { "for " });
                self.push(name);
                self.loop_words(words.as_deref());
                self.between("; do ", body, "done");
            }
            CommandKind::ArithmeticFor { expression, body } => {
                self.push("for ((");
                self.verbatim(expression);
                self.between(")); do ", body, "done");
            }
            CommandKind::Case { word, arms } => self.case(word, arms),
            CommandKind::Arithmetic(word) => {
                self.push("((");
                self.verbatim(word);
                self.push("))");
            }
            CommandKind::Test(words) => {
                self.push("[[");
                self.words(words);
                self.push(" ]]");
            }
            CommandKind::Function { name, body } => {
                self.push("function ");
                self.word(name);
                self.push(" () ");
                self.command(body);
            }
            CommandKind::Odd(what, script) => self.odd(what, script),
        }
    }

    fn between(&mut self, before: &str, script: &Script, after: &str) {
        self.push(before);
        self.list(script);
        self.push(after);
    }

    /// Not [`in_brackets`](Self::in_brackets): here-documents of the line may be waiting, and come at the first end of
    /// a line, also in here.
    fn subshell(&mut self, script: &Script) {
        self.push("(");
        let start = self.out.len();
        self.list(script);
        if self.out.ends_with("; ") && !script.items.last().is_some_and(Item::ends_bare) {
            self.out.truncate(self.out.len() - 2);
        }
        if self.out[start..].starts_with('(') {
            self.out.insert(start, ' ');
        }
        self.push(")");
    }

    fn conditions(&mut self, arms: &[(Script, Script)], otherwise: Option<&Script>) {
        for (number, (condition, consequence)) in arms.iter().enumerate() {
            self.between(if number == 0 { "if " } else { "elif " }, condition, "");
            self.between("then ", consequence, "");
        }
        if let Some(script) = otherwise {
            self.between("else ", script, "");
        }
        self.push("fi");
    }

    fn loop_words(&mut self, words: Option<&[Word]>) {
        if let Some(words) = words {
            self.push(" in");
            self.words(words);
        }
    }

    fn case(&mut self, word: &Word, arms: &[(Vec<Word>, Script, ArmEnd)]) {
        self.push("case ");
        self.word(word);
        self.push(" in");
        for (patterns, body, end) in arms {
            for (number, pattern) in patterns.iter().enumerate() {
                self.push(if number == 0 { " (" } else { " | " });
                self.word(pattern);
            }
            self.push(") ");
            self.list(body);
            self.push(match end {
                ArmEnd::Leave => ";;",
                ArmEnd::FallThrough => ";&",
                ArmEnd::TestOn => ";;&",
            });
        }
        self.push(" esac");
    }

    fn odd(&mut self, what: &str, script: &Script) {
        match what.starts_with("`!(`") {
            true => self.push("!"),
            false => self.push("coproc "),
        }
        self.in_brackets(script);
    }

    fn assignment(&mut self, assignment: &Assignment) {
        self.push(&assignment.name);
        if let Some(index) = &assignment.index {
            self.push("[");
            self.verbatim(index);
            self.push("]");
        }
        self.push(if assignment.append { "+=" } else { "=" });
        match &assignment.value {
            AssignedValue::Scalar(word) => self.word(word),
            AssignedValue::Array(words) => {
                self.push("(");
                self.words(words);
                self.push(" )");
            }
        }
    }

    fn redirect(&mut self, redirect: &Redirect) {
        match &redirect.descriptor {
            Some(Descriptor::Number(number)) => self.push(&number.to_string()),
            Some(Descriptor::Variable(name)) => self.push(&format!("{{{name}}}")),
            None => {}
        }
        match &redirect.kind {
            RedirectKind::HereDocument(body) => self.here_document(body),
            RedirectKind::Duplicate(word) => {
                self.push(redirect.operator);
                self.word(word);
            }
            RedirectKind::Read(word)
            | RedirectKind::Write(word)
            | RedirectKind::ReadWrite(word)
            | RedirectKind::HereString(word) => {
                self.push(redirect.operator);
                self.push(" ");
                self.word(word);
            }
        }
    }
}

impl Item {
    /// Whether it ends with a `!` or `time` that nothing follows: then something must end it.
    fn ends_bare(&self) -> bool {
        self.rest.last().map_or(&self.first, |(_, pipeline)| pipeline).is_bare()
    }
}

impl Pipeline {
    fn is_bare(&self) -> bool {
        let [command] = self.commands.as_slice() else { return false };
        let CommandKind::Simple { assignments, words } = &command.kind else { return false };
        assignments.is_empty() && words.is_empty() && command.redirects.is_empty()
    }
}

//! Compound commands: brackets, conditions, loops, `case`, functions.

use super::{reader::Parser, tree::*, verbatim::Ends, word::Context};

impl Parser<'_> {
    /// The compound command that begins here, if one does.
    pub(super) fn compound(&mut self) -> Option<CommandKind> {
        if self.peek() == Some(b'(') {
            return Some(self.brackets());
        }
        let keyword = self.keyword()?;
        if keyword == "time" {
            // Within a pipeline it is the program of that name.
            return None;
        }
        let start = self.pos;
        self.take_keyword();
        Some(match keyword {
            "{" => self.group(),
            "if" => self.conditions(),
            "while" | "until" => self.repeat(keyword == "until"),
            "for" => self.for_loop(),
            "select" => self.loop_over_words(true),
            "case" => self.case(),
            "[[" => self.test(),
            "function" => self.function_with_keyword(),
            "coproc" => self.coprocess(),
            "!" => self.negated_brackets(),
            other => {
                self.fail(start, format!("`{other}` does not belong here"));
                CommandKind::Group(Script::default())
            }
        })
    }

    fn group(&mut self) -> CommandKind {
        let script = self.some_script();
        self.expect_keyword("}");
        CommandKind::Group(script)
    }

    /// `((` is arithmetic if it ends with `))`, else two subshells. Bash tries in this order, and so do we; what is read
    /// twice for it is bounded, because brackets that fail at every level would take time without end.
    fn brackets(&mut self) -> CommandKind {
        if self.ahead(|parser| parser.eat("((")) {
            let start = self.pos;
            self.eat("((");
            match self.arithmetic(Ends::TRIAL) {
                Some(expression) => return CommandKind::Arithmetic(expression),
                None if self.has_failed() => {
                    self.blame(start);
                    return CommandKind::Odd("brackets that may be arithmetic", Script::default());
                }
                None => self.back_to(start),
            }
        }
        self.subshell()
    }

    fn back_to(&mut self, start: usize) {
        // Bash reads again what it has read as arithmetic, lines already joined and here-documents already gone.
        let source = &self.text[start..self.pos];
        let is_strange = ["<<", "#", "\\\n"].into_iter().any(|text| source.contains(text));
        // It loses the end of a line right behind the first bracket, too.
        if is_strange || matches!(self.raw(), Some(b'\n' | b'\\')) {
            return self.fail(start, "too much for a `((` that is not arithmetic; write `( (`");
        }
        match self.rereads.checked_sub(self.pos - start) {
            Some(left) => {
                self.rereads = left;
                self.pos = start;
            }
            None => self.fail(start, "too many `((` that are not arithmetic; write `( (`"),
        }
    }

    fn subshell(&mut self) -> CommandKind {
        self.eat("(");
        let script = self.some_script();
        self.close_bracket();
        CommandKind::Subshell(script)
    }

    fn close_bracket(&mut self) {
        if !self.eat(")") {
            self.expected("`)`");
        }
    }

    /// `!(a)` is `! (a)`, but where `extglob` was set it is a pattern, which nobody can see from here.
    fn negated_brackets(&mut self) -> CommandKind {
        self.eat("(");
        let script = self.some_script();
        self.close_bracket();
        CommandKind::Odd("`!(`, which is a pattern if `extglob` is set", script)
    }

    fn conditions(&mut self) -> CommandKind {
        let mut arms = Vec::new();
        loop {
            let condition = self.some_script();
            self.expect_keyword("then");
            let consequence = self.some_script();
            arms.push((condition, consequence));
            if self.keyword() != Some("elif") {
                break;
            }
            self.take_keyword();
        }
        let otherwise = (self.keyword() == Some("else")).then(|| {
            self.take_keyword();
            self.some_script()
        });
        self.expect_keyword("fi");
        CommandKind::If { arms, otherwise }
    }

    fn repeat(&mut self, until: bool) -> CommandKind {
        let condition = self.some_script();
        let body = self.do_done();
        CommandKind::While { until, condition, body }
    }

    fn do_done(&mut self) -> Script {
        self.expect_keyword("do");
        let body = self.some_script();
        self.expect_keyword("done");
        body
    }

    /// The body of a `for`, which may also be in braces.
    fn loop_body(&mut self) -> Script {
        self.lines();
        if self.keyword() != Some("{") {
            return self.do_done();
        }
        self.take_keyword();
        let body = self.some_script();
        self.expect_keyword("}");
        body
    }

    fn for_loop(&mut self) -> CommandKind {
        self.blanks();
        match self.sees("((") {
            true => self.arithmetic_for(),
            false => self.loop_over_words(false),
        }
    }

    fn arithmetic_for(&mut self) -> CommandKind {
        let start = self.pos;
        self.eat("((");
        let expression = self.arithmetic(Ends::ARITHMETIC);
        // Those in a substitution would be taken for others by bash.
        let source = &self.text[start..self.pos];
        let is_whole = expression.as_ref().is_some_and(|word| semicolons(word) == 2);
        if !is_whole || source.matches(';').count() != 2 {
            self.fail(start, "`for ((` needs three expressions: `for ((a; b; c)); do …`");
            self.blame(start);
        }
        self.blanks();
        self.eat(";");
        let body = self.loop_body();
        CommandKind::ArithmeticFor { expression: expression.unwrap_or_default(), body }
    }

    fn loop_over_words(&mut self, select: bool) -> CommandKind {
        let name = self.loop_variable();
        self.blanks();
        let words = match self.peek() {
            Some(b';') => {
                self.bump();
                None
            }
            _ => self.loop_words(),
        };
        self.lines();
        if words.is_none() && self.keyword() == Some("{") {
            // Bash goes on to look for the `in`, wherever it comes.
            self.fail(self.pos, "a loop with braces needs `in`");
        }
        let body = self.loop_body();
        CommandKind::For { select, name, words, body }
    }

    fn loop_variable(&mut self) -> String {
        self.blanks();
        let start = self.pos;
        let name = self.identifier();
        if name.is_empty() || !self.at_word_end() {
            self.fail(start, "a loop needs the name of a variable");
        }
        name
    }

    /// `in a b c`, with the `;` or the end of the line that must come after it.
    fn loop_words(&mut self) -> Option<Vec<Word>> {
        self.lines();
        if self.keyword() != Some("in") {
            return None;
        }
        self.take_keyword();
        let mut words = Vec::new();
        self.blanks();
        while !self.at_word_end() {
            words.push(self.word(Context::ARGUMENT));
            self.blanks();
        }
        match self.peek() {
            Some(b';') => self.bump(),
            Some(b'\n') => {}
            _ => self.expected("`;`"),
        }
        Some(words)
    }

    fn case(&mut self) -> CommandKind {
        self.blanks();
        let word = self.some_word(Context::PLAIN);
        self.expect_keyword("in");
        let mut arms = Vec::new();
        self.lines();
        while self.keyword() != Some("esac") && !self.has_failed() {
            let (arm, is_last) = self.case_arm();
            arms.push(arm);
            self.lines();
            if is_last {
                break;
            }
        }
        self.expect_keyword("esac");
        CommandKind::Case { word, arms }
    }

    fn case_arm(&mut self) -> ((Vec<Word>, Script, ArmEnd), bool) {
        let patterns = self.case_patterns();
        let body = self.nested(Self::script);
        let end = match () {
            () if self.eat(";;&") => Some(ArmEnd::TestOn),
            () if self.eat(";;") => Some(ArmEnd::Leave),
            () if self.eat(";&") => Some(ArmEnd::FallThrough),
            () => None,
        };
        ((patterns, body, end.unwrap_or(ArmEnd::Leave)), end.is_none())
    }

    fn case_patterns(&mut self) -> Vec<Word> {
        self.eat("(");
        let mut patterns = Vec::new();
        loop {
            self.blanks();
            patterns.push(self.some_word(Context::PLAIN));
            self.blanks();
            if !self.eat("|") {
                self.close_bracket();
                return patterns;
            }
        }
    }

    fn coprocess(&mut self) -> CommandKind {
        let script = self.nested(|parser| {
            parser.blanks();
            let command = parser.named_or_plain_command();
            let pipeline = Pipeline { negated: false, timed: false, commands: vec![command] };
            Script { items: vec![Item { first: pipeline, rest: Vec::new(), background: true }] }
        });
        CommandKind::Odd("a coprocess", script)
    }

    /// A name may stand before a compound command, not before a simple one.
    fn named_or_plain_command(&mut self) -> Command {
        let is_named = self.ahead(|parser| {
            let has_name = !parser.identifier().is_empty() && parser.at_word_end();
            parser.blanks();
            has_name && (parser.peek() == Some(b'(') || parser.keyword().is_some())
        });
        if is_named && self.keyword().is_none() {
            self.identifier();
        }
        self.command()
    }
}

fn semicolons(word: &Word) -> usize {
    let in_part = |part: &Part| match part {
        Part::Literal(text) => text.matches(';').count(),
        _ => 0,
    };
    word.parts.iter().map(in_part).sum()
}

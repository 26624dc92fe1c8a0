//! Lists and pipelines: what stands between commands.

use super::{
    reader::{Parser, ends_word},
    tree::*,
};

/// What ends a list in command position. Nothing else may begin a command with one of these.
const CLOSERS: [&str; 10] = ["then", "else", "elif", "fi", "do", "done", "esac", "}", "in", "]]"];

/// The words that mean something in command position.
const RESERVED: [&str; 22] = [
    "if", "then", "else", "elif", "fi", "do", "done", "esac", "}", "in", "]]", "case", "while", "until",
    "for", "select", "function", "time", "coproc", "{", "!", "[[",
];

pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

impl Parser<'_> {
    /// Commands up to something that cannot begin one; the caller knows what that should be.
    pub(super) fn script(&mut self) -> Script {
        let mut script = Script::default();
        self.lines();
        while !self.at_list_end() {
            let item = self.item();
            script.items.push(item);
            if !self.separator(&mut script) {
                break;
            }
            self.lines();
        }
        script
    }

    /// The same, where at least one command must stand.
    pub(super) fn some_script(&mut self) -> Script {
        let script = self.nested(Self::script);
        if script.items.is_empty() {
            self.expected("a command");
        }
        script
    }

    fn at_list_end(&mut self) -> bool {
        self.blanks();
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.peek_second(), Some(b';' | b'&')),
            _ => self.keyword().is_some_and(|word| CLOSERS.contains(&word)),
        }
    }

    /// Takes what ends the last item of the list. `false` if nothing does.
    fn separator(&mut self, script: &mut Script) -> bool {
        self.blanks();
        match self.peek() {
            Some(b'\n') => return self.newline(),
            Some(b';') if !matches!(self.peek_second(), Some(b';' | b'&')) => {}
            Some(b'&') => {
                if let Some(item) = script.items.last_mut() {
                    item.background = true;
                }
            }
            _ => return false,
        }
        self.bump();
        true
    }

    fn item(&mut self) -> Item {
        let mut item = Item { first: self.pipeline(), rest: Vec::new(), background: false };
        loop {
            self.blanks();
            let connector = match () {
                () if self.eat("&&") => Connector::And,
                () if self.eat("||") => Connector::Or,
                () => return item,
            };
            self.lines();
            let pipeline = self.pipeline();
            item.rest.push((connector, pipeline));
        }
    }

    fn pipeline(&mut self) -> Pipeline {
        // Most pipelines are one command, which is large: a list that grows by itself would make room for four.
        let mut pipeline = Pipeline { negated: false, timed: false, commands: Vec::with_capacity(1) };
        if self.prefixes(&mut pipeline) && self.ends_bare_prefix() {
            pipeline.commands.push(self.nothing());
            return pipeline;
        }
        loop {
            let command = self.command();
            pipeline.commands.push(command);
            self.blanks();
            if self.sees("||") || !self.eat("|") {
                return pipeline;
            }
            if self.eat("&") {
                self.pipe_errors_too(&mut pipeline);
            }
            self.lines();
            self.no_prefix_here();
        }
    }

    /// Nothing needs to follow `!` and `time`, but then `;` or the end of the line must.
    fn ends_bare_prefix(&mut self) -> bool {
        match self.peek() {
            None | Some(b'\n') => true,
            Some(b';') => !matches!(self.peek_second(), Some(b';' | b'&')),
            _ => false,
        }
    }

    /// Takes `!` and `time` before a pipeline; each may come several times.
    fn prefixes(&mut self, pipeline: &mut Pipeline) -> bool {
        let mut any = false;
        loop {
            self.blanks();
            match self.keyword() {
                // Without a blank, and with `extglob`, this would be a pattern: `command` says so.
                Some("!") if self.sees("!(") => return any,
                Some("!") => pipeline.negated = !pipeline.negated,
                Some("time") => pipeline.timed = true,
                _ => return any,
            }
            any = true;
            self.take_keyword();
            if pipeline.timed {
                self.time_options();
            }
        }
    }

    fn time_options(&mut self) {
        for option in ["-p", "--"] {
            self.blanks();
            if self.sees(option) && self.ahead(|parser| parser.eat(option) && parser.at_word_end()) {
                self.eat(option);
            }
        }
    }

    /// `!` stands before a whole pipeline only.
    fn no_prefix_here(&mut self) {
        if self.keyword() == Some("!") {
            self.fail(self.pos, "`!` is only possible before the whole pipeline");
        }
    }

    /// `a |& b` is `a 2>&1 | b`.
    fn pipe_errors_too(&mut self, pipeline: &mut Pipeline) {
        let span = self.since(self.pos);
        let word = Word { parts: vec![Part::Literal("1".to_owned())], span };
        let redirect = Redirect {
            descriptor: Some(Descriptor::Number(2)),
            operator: ">&",
            kind: RedirectKind::Duplicate(word),
        };
        match pipeline.commands.last_mut() {
            // The redirections of a function stand with its body.
            Some(Command { kind: CommandKind::Function { body, .. }, .. }) => body.redirects.push(redirect),
            Some(command) => command.redirects.push(redirect),
            None => {}
        }
    }

    fn nothing(&mut self) -> Command {
        let kind = CommandKind::Simple { assignments: Vec::new(), words: Vec::new() };
        Command { kind, redirects: Vec::new(), span: self.since(self.pos) }
    }

    /// The reserved word that stands here. To be asked only in command position.
    pub(super) fn keyword(&mut self) -> Option<&'static str> {
        // Most words can be told by their first letter.
        if !b"itefd}]cwus{![".contains(&self.peek()?) {
            return None;
        }
        let found = self.plain_word()?;
        RESERVED.into_iter().find(|word| found.is(word))
    }

    /// Takes the reserved word that was just seen.
    pub(super) fn take_keyword(&mut self) {
        if let Some(word) = self.keyword() {
            self.eat(word);
        }
    }

    /// Takes this reserved word, which must stand here.
    pub(super) fn expect_keyword(&mut self, wanted: &'static str) {
        self.lines();
        match self.keyword() {
            Some(found) if found == wanted => self.take_keyword(),
            _ => self.expected(&format!("`{wanted}`")),
        }
    }

    /// The short unquoted word that stands here, if it is one.
    fn plain_word(&mut self) -> Option<Short> {
        self.ahead(|parser| {
            let mut word = Short::default();
            while !parser.at_word_end() {
                word.push(parser.peek()?)?;
                parser.bump();
            }
            Some(word)
        })
    }

    pub(super) fn at_word_end(&mut self) -> bool {
        match self.peek() {
            None => true,
            Some(b'<' | b'>') => self.peek_second() != Some(b'('),
            Some(byte) => ends_word(byte),
        }
    }
}

/// A word of at most eight bytes, as long as the longest reserved word: to look at without allocating.
#[derive(Default)]
struct Short {
    bytes: [u8; 8],
    length: usize,
}

impl Short {
    fn push(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(self.length)? = byte;
        self.length += 1;
        Some(())
    }

    fn is(&self, word: &str) -> bool {
        self.bytes[..self.length] == *word.as_bytes()
    }
}

//! Here-documents.
//!
//! Their bodies come after the line, when the commands they belong to are already read. A redirection gets a place-holder
//! with a number until then; [`fill`](HereDocuments::fill) puts the bodies in once the script around them is whole.

use super::{quote::Around, reader::Parser, tree::*, word::Context};

#[derive(Default)]
pub(super) struct HereDocuments {
    pending: Vec<Pending>,
    bodies: Vec<Word>,
}

struct Pending {
    delimiter: String,
    /// Whether the body is plain text.
    quoted: bool,
    /// Whether tabs before its lines are dropped.
    strip: bool,
    /// Where the redirection stands.
    at: usize,
}

impl Parser<'_> {
    /// The delimiter of a here-document, from behind the operator on. The word is a place-holder.
    pub(super) fn here_document(&mut self, strip: bool, at: usize) -> Word {
        let start = self.pos;
        let word = self.some_word(Context::PLAIN);
        let source = &self.text[start..self.pos];
        if source.contains(['$', '`', '\n']) || source.contains("<(") || source.contains(">(") {
            self.fail(at, "a here-document's end must be a plain or quoted word");
        }
        let quoted = word.parts.iter().any(|part| matches!(part, Part::Quoted(_)));
        let number = self.here.bodies.len() + self.here.pending.len();
        self.here.pending.push(Pending { delimiter: word.plain_text(), quoted, strip, at });
        Word { parts: Vec::new(), span: number..number }
    }

    /// Reads the bodies that begin here, at the beginning of a line.
    pub(super) fn here_bodies(&mut self) {
        for pending in std::mem::take(&mut self.here.pending) {
            let body = self.here_body(&pending);
            self.here.bodies.push(body);
        }
    }

    /// Puts the bodies into a script that is read, and complains if one never came.
    pub(super) fn finish_here(&mut self, script: &mut Script) {
        if let Some(pending) = self.here.pending.first() {
            let at = pending.at;
            self.fail(at, "a here-document begins, but its text never comes");
        }
        self.here.fill(script);
    }

    fn here_body(&mut self, pending: &Pending) -> Word {
        let start = self.pos;
        let (body, end) = self.here_text(pending);
        // Without its end it is not known what belongs to it: all of it is left to `salvage`.
        self.blame(pending.at);
        let source = start..end;
        let parts = match pending.quoted {
            true => vec![Part::Quoted(body)],
            false if self.has_failed() => Vec::new(),
            false => self.here_parts(&body, source.clone()),
        };
        Word { parts, span: self.span(source.start, source.end) }
    }

    /// Its lines, and where they end.
    fn here_text(&mut self, pending: &Pending) -> (String, usize) {
        let mut body = String::new();
        loop {
            let end = self.pos;
            if self.raw().is_none() {
                self.fail(pending.at, format!("a here-document is not ended by `{}`", pending.delimiter));
                return (body, end);
            }
            let line = self.here_line(!pending.quoted);
            let line = if pending.strip { line.trim_start_matches('\t') } else { line.as_str() };
            let bare = line.strip_suffix('\n').unwrap_or(line);
            if bare == pending.delimiter {
                return (body, end);
            }
            if self.in_substitution && bare.starts_with(&pending.delimiter) && bare.contains(')') {
                // Bash takes this for the end, and what follows for commands.
                self.fail(end, "the end of a here-document must stand alone on its line");
                return (body, end);
            }
            body.push_str(line);
        }
    }

    /// One line with its end; lines that end with a backslash are joined if they are to be.
    fn here_line(&mut self, joins: bool) -> String {
        let mut line = String::new();
        loop {
            let rest = &self.text[self.pos..];
            let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
            let piece = &rest[..length];
            self.pos += length;
            match piece.strip_suffix("\\\n") {
                Some(joined) if joins && !ends_with_escape(joined) => line.push_str(joined),
                _ => {
                    line.push_str(piece);
                    return line;
                }
            }
        }
    }

    fn here_parts(&mut self, body: &str, source: std::ops::Range<usize>) -> Vec<Part> {
        let parts = self.within(body, source, |parser| parser.nested(|parser| parser.double(Around::Here)));
        match parts.as_slice() {
            [] => vec![Part::Quoted(String::new())],
            [Part::Quoted(_)] => parts,
            _ => vec![Part::Double(parts)],
        }
    }
}

/// Whether a backslash at the end of this would quote what comes next.
fn ends_with_escape(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

impl HereDocuments {
    pub(super) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    fn fill(&mut self, script: &mut Script) {
        if !self.bodies.is_empty() || !self.pending.is_empty() {
            self.pending.clear();
            self.fill_script(script);
            self.bodies.clear();
        }
    }

    fn fill_script(&mut self, script: &mut Script) {
        for item in &mut script.items {
            let rest = item.rest.iter_mut().map(|(_, pipeline)| pipeline);
            for pipeline in std::iter::once(&mut item.first).chain(rest) {
                pipeline.commands.iter_mut().for_each(|command| self.fill_command(command));
            }
        }
    }

    fn fill_command(&mut self, command: &mut Command) {
        self.fill_kind(&mut command.kind);
        for redirect in &mut command.redirects {
            if let RedirectKind::HereDocument(word) = &mut redirect.kind {
                *word = self.bodies.get_mut(word.span.start).map(std::mem::take).unwrap_or_default();
            }
        }
    }

    /// Words are not looked into: a substitution has here-documents of its own, which are there already.
    fn fill_kind(&mut self, kind: &mut CommandKind) {
        match kind {
            CommandKind::Simple { .. } | CommandKind::Arithmetic(_) | CommandKind::Test(_) => {}
            CommandKind::Group(script) | CommandKind::Subshell(script) | CommandKind::Odd(_, script) => {
                self.fill_script(script)
            }
            CommandKind::If { arms, otherwise } => {
                let scripts = arms.iter_mut().flat_map(|(condition, then)| [condition, then]);
                scripts.chain(otherwise).for_each(|script| self.fill_script(script));
            }
            CommandKind::While { condition, body, .. } => {
                self.fill_script(condition);
                self.fill_script(body);
            }
            CommandKind::For { body, .. } | CommandKind::ArithmeticFor { body, .. } => self.fill_script(body),
            CommandKind::Case { arms, .. } => arms.iter_mut().for_each(|(_, body, _)| self.fill_script(body)),
            CommandKind::Function { body, .. } => self.fill_command(body),
        }
    }
}

impl Word {
    /// Its text if nothing in it is expanded.
    fn plain_text(&self) -> String {
        let text = |part: &Part| match part {
            Part::Literal(text) | Part::Quoted(text) | Part::Glob(text) => text.clone(),
            Part::Tilde(name) => format!("~{name}"),
            _ => String::new(),
        };
        self.parts.iter().map(text).collect()
    }
}

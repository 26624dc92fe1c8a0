//! A line of words: white space is one space, and marks stand close to the words that they are for.

/// A line that is being written.
#[derive(Debug, Default)]
pub(super) struct Inline {
    text: String,
    /// White space that counts only if a word follows.
    space: bool,
    /// Marks that are written with the first word after them.
    waiting: Vec<String>,
}

impl Inline {
    /// Adds words; white space between them is one space.
    pub(super) fn say(&mut self, text: &str) {
        self.space |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            self.word(word);
            self.space = true;
        }
        self.space = text.ends_with(char::is_whitespace) || (self.space && text.trim().is_empty());
    }

    /// Adds one word as it is, white space in it and all.
    pub(super) fn word(&mut self, word: &str) {
        if self.space && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push(' ');
        }
        self.space = false;
        self.waiting.drain(..).for_each(|mark| self.text.push_str(&mark));
        self.text.push_str(word);
    }

    /// Begins a new line in the same paragraph.
    pub(super) fn end_line(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.space = false;
    }

    pub(super) fn end_word(&mut self) {
        self.space = true;
    }

    pub(super) fn open(&mut self, mark: String) {
        self.waiting.push(mark);
    }

    /// Ends the mark that was opened last. One that stood before no word was never there.
    pub(super) fn close(&mut self, mark: &str) {
        if self.waiting.pop().is_none() {
            self.text.push_str(mark);
        }
    }

    /// How many of the open marks have not been written.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The line so far; the marks that are open are those of the next.
    pub(super) fn take(&mut self, open: Vec<String>) -> String {
        self.waiting = open;
        self.space = false;
        let text = std::mem::take(&mut self.text);
        if text.ends_with('\n') { text.trim_end().to_owned() } else { text }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Code within a line: between as many backquotes as it has nowhere in itself.
pub(super) fn code(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let fence = "`".repeat(longest_run(&text) + 1);
    let room = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{room}{text}{room}{fence}")
}

/// The most backquotes in a row.
pub(super) fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

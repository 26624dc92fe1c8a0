//! Server-sent events, from bytes cut anywhere.
//!
//! Pure and bounded. Lines end with any of the three line ends, comments are passed over, several lines of data are one
//! datum. A byte is looked at once, however small the pieces are, and what is kept between events is used again.

use memchr::memchr2;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its kind, if it was said.
    pub(super) kind: String,
    pub(super) data: String,
    has_data: bool,
}

/// Cuts bytes into events.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    event: Event,
    after_return: bool,
}

/// An event is larger than is read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Events {
    /// Takes bytes, and gives the events that they complete to `found`. An event has at most so many bytes.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        most: usize,
        mut found: impl FnMut(&Event),
    ) -> Result<(), TooLarge> {
        let mut rest = bytes;
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let is_second_half = end == 0 && rest[0] == b'\n' && self.after_return;
            self.after_return = rest[end] == b'\r';
            if !is_second_half && self.line.is_empty() {
                // A whole line, as most are, is read where it is.
                self.bound(end, most)?;
                self.event.line(&rest[..end], &mut found);
            } else if !is_second_half {
                self.extend(&rest[..end], most)?;
                self.end_of_line(&mut found);
            }
            rest = &rest[end + 1..];
        }
        if !rest.is_empty() {
            self.after_return = false;
            self.extend(rest, most)?;
        }
        Ok(())
    }

    /// The stream is over: the last event may lack the line that ends it.
    pub(super) fn end(&mut self, mut found: impl FnMut(&Event)) {
        self.end_of_line(&mut found);
        self.event.end(&mut found);
    }

    fn extend(&mut self, bytes: &[u8], most: usize) -> Result<(), TooLarge> {
        self.bound(bytes.len(), most)?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Whether so many more bytes may belong to this event.
    fn bound(&self, more: usize, most: usize) -> Result<(), TooLarge> {
        let is_small = self.event.data.len() + self.line.len() + more <= most;
        is_small.then_some(()).ok_or(TooLarge)
    }

    fn end_of_line(&mut self, found: &mut impl FnMut(&Event)) {
        self.event.line(&self.line, found);
        self.line.clear();
    }
}

impl Event {
    /// A line of it; an empty one ends it.
    fn line(&mut self, line: &[u8], found: &mut impl FnMut(&Event)) {
        if line.is_empty() {
            return self.end(found);
        }
        let line = String::from_utf8_lossy(line);
        let line = line.trim_start_matches('\u{feff}');
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.kind),
            // Older servers of llama.cpp have an error in a field of its own.
            "error" if value.starts_with('{') => {
                self.has_data = true;
                "error".clone_into(&mut self.kind);
                self.data = format!("{{\"error\":{value}}}");
            }
            _ => {}
        }
    }

    /// Told if it has data, and empty from then on.
    fn end(&mut self, found: &mut impl FnMut(&Event)) {
        if std::mem::take(&mut self.has_data) {
            found(self);
        }
        self.kind.clear();
        self.data.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &str, expected: &[(&str, &str)]) {
        for step in [1, 2, 3, bytes.len().max(1)] {
            let (mut events, mut found) = (Events::default(), Vec::new());
            for chunk in bytes.as_bytes().chunks(step) {
                events.push(chunk, 100, |event| found.push(event.clone())).expect("small events");
            }
            let found: Vec<_> = found.iter().map(|event| (&*event.kind, &*event.data)).collect();
            assert_eq!(found, expected, "in steps of {step}");
        }
    }

    #[test]
    fn events_are_cut_whatever_ends_their_lines() {
        check("data: a\n\ndata:b\n\n", &[("", "a"), ("", "b")]);
        check("event: ping\r\ndata: {}\r\n\r\ndata: x\r\n\r\n", &[("ping", "{}"), ("", "x")]);
        check("data: a\rdata: b\r\r", &[("", "a\nb")]);
        check("\u{feff}data:  é\n\n", &[("", " é")]);
    }

    #[test]
    fn comments_and_unknown_fields_are_passed_over() {
        check(": OPENROUTER PROCESSING\n\n:\n\nid: 3\nretry: 5\ndata: a\nnonsense\n\n", &[("", "a")]);
        check("event: lonely\n\ndata: a\n\n", &[("", "a")]);
        check("data\n\n", &[("", "")]);
        check("error: soon\n\nerror: {\"code\":500}\n\n", &[("error", "{\"error\":{\"code\":500}}")]);
        check("data: unended", &[]);
    }

    #[test]
    fn the_last_event_may_lack_its_end() {
        let (mut events, mut found) = (Events::default(), Vec::new());
        events
            .push(b"data: a\n\ndata: b", 100, |event| found.push(event.data.clone()))
            .expect("small events");
        events.end(|event| found.push(event.data.clone()));
        assert_eq!(found, ["a", "b"]);
    }

    #[test]
    fn an_event_that_is_too_large_is_refused_before_it_is_kept() {
        for text in ["x".repeat(300), "data: xxxxxxxx\n".repeat(30)] {
            for step in [1, 7, text.len()] {
                let mut events = Events::default();
                let mut pushed = text.as_bytes().chunks(step).map(|chunk| events.push(chunk, 100, |_| ()));
                assert!(pushed.any(|pushed| pushed == Err(TooLarge)));
            }
        }
    }
}

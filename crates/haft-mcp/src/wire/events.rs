//! Server-sent events, from bytes.
//!
//! Pure, and bounded: an event that is larger than the largest message is dropped and reported, and the stream goes on.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its kind; empty for a message.
    pub(crate) kind: String,
    pub(crate) data: String,
    /// From here on the stream can be resumed.
    pub(crate) id: Option<String>,
    /// How long to wait before the stream is opened again, in milliseconds.
    pub(crate) retry: Option<u64>,
    /// Its data were more than is read: they are gone.
    pub(crate) is_cut: bool,
}

/// Cuts bytes into events.
pub(crate) struct Events {
    line: Vec<u8>,
    event: Event,
    has_begun: bool,
    after_return: bool,
    most: usize,
}

impl Events {
    /// With data of at most so many bytes.
    pub(crate) fn new(most: usize) -> Events {
        Events { line: Vec::new(), event: Event::default(), has_begun: false, after_return: false, most }
    }

    /// Takes bytes, and gives the events that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<Event>) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            let is_second_half = end == 0 && rest[0] == b'\n' && self.after_return;
            self.after_return = rest[end] == b'\r';
            if !is_second_half {
                self.extend(&rest[..end]);
                self.end_of_line(out);
            }
            rest = &rest[end + 1..];
        }
        if !rest.is_empty() {
            self.after_return = false;
            self.extend(rest);
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        // The field's name is kept of a line that is too long: it says what is missing.
        match self.line.len() + bytes.len() <= self.most.saturating_add(64) {
            true => self.line.extend_from_slice(bytes),
            false => self.event.is_cut = true,
        }
    }

    fn end_of_line(&mut self, out: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() && !self.event.is_cut {
            return self.end_of_event(out);
        }
        if line.is_empty() {
            self.event.data.clear();
            return self.end_of_event(out);
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        self.take(field.trim_start_matches('\u{feff}'), value);
    }

    fn take(&mut self, field: &str, value: &str) {
        self.has_begun |= !field.is_empty();
        match field {
            "data" if self.event.data.len() + value.len() > self.most => self.event.is_cut = true,
            "data" => {
                self.event.data.push_str(value);
                self.event.data.push('\n');
            }
            "event" => self.event.kind = value.to_owned(),
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok(),
            _ => {}
        }
    }

    fn end_of_event(&mut self, out: &mut Vec<Event>) {
        let mut event = std::mem::take(&mut self.event);
        if !std::mem::take(&mut self.has_begun) && !event.is_cut {
            return;
        }
        if event.is_cut {
            event.data.clear();
        }
        event.data.truncate(event.data.trim_end_matches('\n').len());
        out.push(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &str, expected: &[(&str, &str)]) {
        for step in [1, 2, 3, bytes.len().max(1)] {
            let (mut events, mut out) = (Events::new(50), Vec::new());
            bytes.as_bytes().chunks(step).for_each(|chunk| events.push(chunk, &mut out));
            let found: Vec<_> = out.iter().map(|event| (&*event.kind, &*event.data)).collect();
            assert_eq!(found, expected, "in steps of {step}");
        }
    }

    #[test]
    fn events_are_cut_whatever_ends_their_lines() {
        check("data: a\n\ndata:b\n\n", &[("", "a"), ("", "b")]);
        check("event: endpoint\r\ndata: /m\r\n\r\n", &[("endpoint", "/m")]);
        check("data: a\rdata: b\r\r", &[("", "a\nb")]);
        check(": keep-alive\n\n:\n\ndata: a\n\n", &[("", "a")]);
        check("data: a", &[]);
        check("data\n\n", &[("", "")]);
    }

    #[test]
    fn what_resumes_a_stream_is_told() {
        let (mut events, mut out) = (Events::new(50), Vec::new());
        events.push(b"id: 7\nretry: 250\ndata:\n\n", &mut out);
        assert_eq!(out, [Event { id: Some("7".into()), retry: Some(250), ..Event::default() }]);
    }

    #[test]
    fn an_event_that_is_too_large_is_reported_and_the_stream_goes_on() {
        let long = "x".repeat(500);
        for text in [
            format!("data: {long}\n\ndata: b\n\n"),
            format!("data: {}\ndata: {}\n\ndata: b\n\n", &long[..40], &long[..40]),
        ] {
            for step in [1, 7, text.len()] {
                let (mut events, mut out) = (Events::new(50), Vec::new());
                text.as_bytes().chunks(step).for_each(|chunk| events.push(chunk, &mut out));
                assert_eq!(out.len(), 2, "{out:?}");
                assert!(out[0].is_cut && out[0].data.is_empty(), "{out:?}");
                assert_eq!(out[1].data, "b");
            }
        }
    }
}

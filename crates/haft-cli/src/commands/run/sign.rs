//! A sign of life: on a terminal, one line that says what runs and for how long, and goes away.

use std::{
    io::{self, IsTerminal},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use haft_agent::AgentEvent;
use haft_engine::turn::Event;
use haft_tool::CallId;

use crate::out::{self, Talk};

/// What goes on, known to whoever tells and to whoever draws.
#[derive(Debug, Clone, Default)]
pub(super) struct Sign {
    going: Arc<Mutex<Going>>,
    is_on: bool,
}

/// So often it is drawn anew.
pub(super) const TICK: Duration = Duration::from_millis(250);

#[derive(Debug, Default)]
struct Going {
    /// Since when the model is asked.
    asked: Option<Instant>,
    /// When it is asked again.
    again: Option<Instant>,
    /// What runs, and since when.
    calls: Vec<(CallId, String, Instant)>,
}

impl Sign {
    /// Nothing is drawn where stderr is no terminal, or nobody wants to know.
    pub(super) fn new(talk: Talk) -> Sign {
        Sign { is_on: !talk.is_quiet() && io::stderr().is_terminal(), ..Sign::default() }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Takes in what happens. `line`: what a call that starts is called.
    pub(super) fn told(&self, event: &AgentEvent, line: impl FnOnce(&CallId) -> Option<String>) {
        if self.is_on {
            let mut going = self.going.lock().unwrap_or_else(PoisonError::into_inner);
            going.told(event, line, Instant::now());
        }
    }

    pub(super) fn draw(&self) {
        let going = self.going.lock().unwrap_or_else(PoisonError::into_inner);
        match going.words(Instant::now()) {
            Some(words) => out::show_sign(&words),
            None => out::take_sign_away(),
        }
    }
}

impl Going {
    fn told(&mut self, event: &AgentEvent, line: impl FnOnce(&CallId) -> Option<String>, now: Instant) {
        match event {
            AgentEvent::Asking { .. } => *self = Going { asked: Some(now), ..Going::default() },
            AgentEvent::Usage { .. } => self.asked = None,
            AgentEvent::Retrying { delay, .. } => self.pauses(*delay, now),
            AgentEvent::Tool(Event::Started { call, tool, .. }) => {
                self.starts(call, line(call).unwrap_or_else(|| tool.clone()), now);
            }
            AgentEvent::Tool(Event::Finished(result)) => {
                self.calls.retain(|(call, ..)| *call != result.call);
            }
            _ => {}
        }
    }

    fn starts(&mut self, call: &CallId, line: String, now: Instant) {
        self.calls.push((call.clone(), line, now));
    }

    fn pauses(&mut self, delay: Duration, now: Instant) {
        self.again = now.checked_add(delay);
    }

    fn words(&self, now: Instant) -> Option<String> {
        if let Some(left) = self.again.map(|again| again.saturating_duration_since(now)) {
            return Some(format!("… asks again in {}s", left.as_secs_f64().ceil()));
        }
        if let Some((_, line, since)) = self.calls.first() {
            let more = match self.calls.len() - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            return Some(format!("… {}s{more}: {line}", now.duration_since(*since).as_secs()));
        }
        let asked = self.asked?;
        Some(format!("… {}s: the model is asked", now.duration_since(asked).as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_says_what_runs_and_for_how_long() {
        let (mut going, start) = (Going::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(going.words(start), None);
        going.told(&AgentEvent::Asking { turn: 1 }, |_| None, start);
        assert_eq!(going.words(after(3)).unwrap(), "… 3s: the model is asked");
        going.pauses(Duration::from_secs(8), after(3));
        assert_eq!(going.words(after(5)).unwrap(), "… asks again in 6s");
        going.told(&AgentEvent::Asking { turn: 1 }, |_| None, after(11));
        assert_eq!(going.words(after(12)).unwrap(), "… 1s: the model is asked");
        for call in ["1", "2"] {
            going.starts(&call.into(), format!("Run {call}"), after(12));
        }
        assert_eq!(going.words(after(20)).unwrap(), "… 8s, and 1 more: Run 1");
    }
}

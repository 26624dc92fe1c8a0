//! Who ran when, as a picture.

use std::time::{Duration, Instant};

use haft_engine::turn::Event;
use haft_tool::CallId;

/// One call on the time line.
pub(super) struct Track {
    call: CallId,
    started: Option<Duration>,
    finished: Duration,
    /// Why it ran.
    pub(super) reason: Option<String>,
}

/// The calls of a turn, noted as their events come. Time begins with the first of them.
#[derive(Default)]
pub(super) struct Timeline {
    began: Option<Instant>,
    pub(super) tracks: Vec<Track>,
}

/// How many characters the longest track has, at most, and what stands beside it.
const WIDTH: usize = 40;
const LEAST_WIDTH: usize = 8;
const FIGURES: usize = 22;

impl Timeline {
    pub(super) fn note(&mut self, event: &Event) {
        let now = self.began.get_or_insert_with(Instant::now).elapsed();
        match event {
            Event::Queued { call, .. } => {
                self.tracks.push(Track { call: call.clone(), started: None, finished: now, reason: None })
            }
            Event::Started { call, decision, .. } => {
                if let Some(track) = self.track(call) {
                    track.started = Some(now);
                    track.reason = Some(decision.reason());
                }
            }
            Event::Finished(result) => {
                if let Some(track) = self.track(&result.call) {
                    track.finished = now;
                }
            }
            Event::Refused { .. }
            | Event::PermissionRequested { .. }
            | Event::HookSaid { .. }
            | Event::Progress { .. }
            | Event::Retrying { .. }
            | Event::Unrecorded { .. }
            | Event::TaskStarted { .. }
            | Event::TaskEnded { .. } => {}
        }
    }

    fn track(&mut self, call: &CallId) -> Option<&mut Track> {
        self.tracks.iter_mut().find(|track| track.call == *call)
    }

    /// A line for each call, of about so many characters: dots while it waits, a bar while it runs.
    pub(super) fn lines(&self, labels: &[String], room: usize) -> Vec<String> {
        let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let longest = room.saturating_sub(width + FIGURES).clamp(LEAST_WIDTH, WIDTH);
        let line = |(track, label): (&Track, &String)| {
            let started = track.started.unwrap_or(track.finished);
            let waits = self.scaled(started, longest);
            let ends = self.scaled(track.finished, longest).max(waits + 1);
            let picture = format!("{}{}", "·".repeat(waits), "━".repeat(ends - waits));
            let ran = (track.finished - started).as_millis();
            let waited =
                if waits > 2 { format!("after {} ms, ", started.as_millis()) } else { String::new() };
            format!("{label:<width$}  {picture:<wide$}  {waited}{ran} ms", wide = longest + 1)
        };
        self.tracks.iter().zip(labels).map(line).collect()
    }

    /// How long all calls took one by one, and how long it really took.
    pub(super) fn saved(&self) -> (u128, u128) {
        let ran = |track: &Track| track.started.map_or(0, |started| (track.finished - started).as_millis());
        (self.tracks.iter().map(ran).sum(), self.end().as_millis())
    }

    fn end(&self) -> Duration {
        self.tracks.iter().map(|track| track.finished).max().unwrap_or_default()
    }

    fn scaled(&self, at: Duration, longest: usize) -> usize {
        let end = self.end().as_secs_f64().max(1e-9);
        (at.as_secs_f64() / end * longest as f64) as usize
    }
}

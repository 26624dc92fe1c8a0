//! Times, as people write and read them.

use haft_store::Instant;
use jiff::{Span, Timestamp, civil::DateTime, tz::TimeZone};

use crate::{
    draw::{Paint, columns},
    exit::usage,
};

/// What time it is, and where.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    now: Timestamp,
    zone: TimeZone,
}

impl Clock {
    /// The clock of this machine.
    pub(crate) fn here() -> Clock {
        Clock { now: Timestamp::now(), zone: TimeZone::system() }
    }

    /// A time that somebody wrote: so long ago, a day, or a day and a time of it.
    pub(crate) fn parse(&self, text: &str) -> anyhow::Result<Instant> {
        let wrong = || {
            usage(format!("`{text}` is no time; write `30m`, `2h`, `3d`, `2026-11-16` or `2026-11-16T09:30`"))
        };
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Instant(at.as_millisecond()));
        }
        if let Ok(at) = text.parse::<DateTime>() {
            let at = at.to_zoned(self.zone.clone()).map_err(|_| wrong())?;
            return Ok(Instant(at.timestamp().as_millisecond()));
        }
        let span: Span = text.parse().map_err(|_| wrong())?;
        let before = self.now.to_zoned(self.zone.clone()).checked_sub(span).map_err(|_| wrong())?;
        Ok(Instant(before.timestamp().as_millisecond()))
    }

    /// A time as short as it can be told: the time of this day, or the day.
    pub(crate) fn short(&self, at: Instant) -> String {
        let Some(at) = self.local(at) else { return "?".to_owned() };
        let today = self.now.to_zoned(self.zone.clone()).date();
        let format = if at.date() == today { "%H:%M:%S" } else { "%m-%d %H:%M" };
        at.strftime(if at.year() == today.year() { format } else { "%Y-%m-%d" }).to_string()
    }

    /// A time with all that belongs to it.
    pub(crate) fn whole(&self, at: Instant) -> String {
        self.local(at).map_or_else(|| "?".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M:%S %Z").to_string())
    }

    fn local(&self, at: Instant) -> Option<jiff::Zoned> {
        Timestamp::from_millisecond(at.0).ok().map(|at| at.to_zoned(self.zone.clone()))
    }
}

/// What a table is written on.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) clock: Clock,
    pub(crate) columns: usize,
    pub(crate) paint: Paint,
}

impl Page {
    /// stdout. Eighty columns where nothing says how many there are.
    pub(crate) fn stdout() -> Page {
        Page { clock: Clock::here(), columns: columns().unwrap_or(80), paint: Paint::stdout() }
    }
}

/// How long something took.
pub(crate) fn time(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000..60_000_000 => format!("{:.1} s", us as f64 / 1e6),
        _ => format!("{} min", us / 60_000_000),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Noon of a day, at Greenwich.
    pub(crate) fn noon() -> Clock {
        Clock { now: "2026-11-16T12:00:00Z".parse().unwrap(), zone: TimeZone::UTC }
    }

    /// The same, on a page of eighty columns without colours.
    pub(crate) fn plain() -> Page {
        Page { clock: noon(), columns: 80, paint: Paint::default() }
    }

    #[test]
    fn times_are_told_as_short_as_they_can_be() {
        for (text, expected) in [
            ("2026-11-16T09:30:05Z", "09:30:05"),
            ("2026-11-15T09:30:05Z", "11-15 09:30"),
            ("2025-11-16T09:30:05Z", "2025-11-16"),
        ] {
            let at = noon().parse(text).unwrap();
            assert_eq!(noon().short(at), expected);
        }
    }

    #[test]
    fn times_are_understood_as_people_write_them() {
        for (text, expected) in [
            ("2h", "2026-11-16 10:00:00 UTC"),
            ("90m", "2026-11-16 10:30:00 UTC"),
            ("3d", "2026-11-13 12:00:00 UTC"),
            ("2026-11-01", "2026-11-01 00:00:00 UTC"),
            ("2026-11-01T09:30", "2026-11-01 09:30:00 UTC"),
        ] {
            assert_eq!(noon().whole(noon().parse(text).unwrap()), expected);
        }
        assert!(noon().parse("yesterday").unwrap_err().to_string().contains("`yesterday` is no time"));
    }
}

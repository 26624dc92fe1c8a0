//! How long the server wants to be left alone.
//!
//! Servers say it in seconds, in milliseconds, as a date, as the time at which a limit is lifted, or in words.

use std::time::{Duration, SystemTime};

/// Longer than this nobody waits; a server that says so is wrong, or its clock is.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What the headers say, by their names in lower case.
pub(super) fn of_headers<'h>(header: &dyn Fn(&str) -> Option<&'h str>, now: SystemTime) -> Option<Duration> {
    let milliseconds = header("retry-after-ms").and_then(|text| seconds(text.trim())).map(|ms| ms / 1_000.0);
    let stated = milliseconds
        .and_then(duration)
        .or_else(|| header("retry-after").and_then(|text| of_words(text).or_else(|| until(text, now))));
    stated.or_else(|| of_limits(header, now))
}

/// A limit that is used up is lifted at a time. Of several, the last one counts.
fn of_limits<'h>(header: &dyn Fn(&str) -> Option<&'h str>, now: SystemTime) -> Option<Duration> {
    const LIMITS: [(&str, &str); 6] = [
        ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
        ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
        ("x-ratelimit-remaining", "x-ratelimit-reset"),
        ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
        ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
        ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ];
    let used_up =
        LIMITS.iter().filter(|(remaining, _)| header(remaining).is_some_and(|left| left.trim() == "0"));
    used_up.filter_map(|(_, reset)| header(reset)).filter_map(|text| reset(text, now)).max()
}

/// A time span, a date, or the seconds since 1970, perhaps in milliseconds.
fn reset(text: &str, now: SystemTime) -> Option<Duration> {
    match seconds(text.trim()) {
        Some(at) if at > 1e11 => since(Duration::try_from_secs_f64(at / 1_000.0).ok()?, now),
        Some(at) if at > 1e8 => since(Duration::try_from_secs_f64(at).ok()?, now),
        _ => of_words(text).or_else(|| until(text, now)),
    }
}

/// `20`, `1.5`, `6m0s`, `120ms`, `34.07s`, `1h2m`.
pub(super) fn of_words(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Some(seconds) = seconds(text) {
        return duration(seconds);
    }
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount = seconds(&rest[..digits])?;
        let unit = &rest[digits..];
        let end = unit.find(|c: char| c.is_ascii_digit()).unwrap_or(unit.len());
        total += amount
            * match &unit[..end] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3_600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = &unit[end..];
    }
    (!text.is_empty()).then_some(total).and_then(duration)
}

/// "… Please try again in 1.898s. …"
pub(super) fn of_message(message: &str) -> Option<Duration> {
    let (_, rest) = message.split_once("try again in ").or_else(|| message.split_once("retry in "))?;
    let word = rest.split_whitespace().next()?;
    of_words(word.trim_end_matches(['.', ',', ';', ')']))
        .filter(|_| word.contains(|c: char| c.is_alphabetic()))
}

fn seconds(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|seconds: &f64| is_number && seconds.is_finite())
}

fn duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().map(|wait| wait.min(LONGEST))
}

fn until(text: &str, now: SystemTime) -> Option<Duration> {
    since(date(text.trim())?, now)
}

/// How long it is until then. What has passed needs no waiting.
fn since(then: Duration, now: SystemTime) -> Option<Duration> {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(then.saturating_sub(now).min(LONGEST))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` or `1994-11-06T08:49:37Z`, as the time since 1970.
fn date(text: &str) -> Option<Duration> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    if let Some((_, rest)) = text.split_once(", ") {
        let words: Vec<&str> = rest.split(' ').collect();
        let [day, month, year, clock, "GMT"] = words[..] else { return None };
        let month = MONTHS.iter().position(|name| *name == month)? + 1;
        return at(number(year)?, u64::try_from(month).ok()?, number(day)?, clock);
    }
    let (day, clock) = text.split_once(['T', ' '])?;
    let numbers: Vec<u64> = day.split('-').map(number).collect::<Option<_>>()?;
    let [year, month, day] = numbers[..] else { return None };
    let clock = clock.strip_suffix('Z').or_else(|| clock.strip_suffix("+00:00"))?;
    at(year, month, day, clock.split('.').next()?)
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Days are counted in years that begin in March, so that the odd day is the last one.
fn at(year: u64, month: u64, day: u64, clock: &str) -> Option<Duration> {
    let numbers: Vec<u64> = clock.split(':').map(number).collect::<Option<_>>()?;
    let [hour, minute, second] = numbers[..] else { return None };
    let is_date = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let epoch = 719_468;
    Some(Duration::from_secs(((days - epoch) * 24 + hour) * 3_600 + minute * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1994-11-06T08:49:37Z.
    const THEN: u64 = 784_111_777;

    #[track_caller]
    fn check(headers: &[(&str, &str)], expected: Option<f64>) {
        let find = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(THEN);
        let found = of_headers(&find, now).map(|wait| wait.as_secs_f64());
        assert_eq!(found, expected, "{headers:?}");
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        check(&[("retry-after", "20")], Some(20.0));
        check(&[("retry-after", " 1.5 ")], Some(1.5));
        check(&[("retry-after-ms", "250"), ("retry-after", "9")], Some(0.25));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(30.0));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], Some(0.0));
        check(&[("retry-after", "1994-11-06T08:49:47Z")], Some(10.0));
        check(&[("retry-after", "31536000")], Some(86_400.0));
        for broken in
            ["", "soon", "-3", "1e9999", "NaN", "Sun, 99 Foo 1994 08:50:07 GMT", "1994-13-06T08:49:47Z", "5x"]
        {
            check(&[("retry-after", broken)], None);
        }
    }

    #[test]
    fn a_limit_counts_when_it_is_used_up() {
        let requests = ("x-ratelimit-reset-requests", "6m0s");
        check(&[("x-ratelimit-remaining-requests", "0"), requests], Some(360.0));
        check(&[("x-ratelimit-remaining-requests", "3"), requests], None);
        check(&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "120ms")], Some(0.12));
        check(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "784111787000")], Some(10.0));
        let reset = ("anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:50:37.5Z");
        check(&[("anthropic-ratelimit-input-tokens-remaining", "0"), reset], Some(60.0));
    }

    #[test]
    fn words_of_a_message_count_only_with_a_unit() {
        assert_eq!(
            of_message("Limit 3. Please try again in 1.898s. Bye"),
            Some(Duration::from_millis(1_898))
        );
        assert_eq!(of_message("Please retry in 34.5s."), Some(Duration::from_millis(34_500)));
        assert_eq!(of_message("Please try again in 3 days"), None);
        assert_eq!(of_message("try again in a while"), None);
    }

    #[test]
    fn days_are_counted_rightly() {
        let days = |text: &str| date(text).map(|time| time.as_secs() / 86_400);
        assert_eq!(days("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(days("2000-02-29T00:00:00Z"), Some(11_016));
        assert_eq!(days("2000-03-01T00:00:00Z"), Some(11_017));
        assert_eq!(days("2026-11-16T12:00:00Z"), Some(20_773));
        assert_eq!(date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(THEN)));
    }
}

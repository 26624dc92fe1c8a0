//! Pages that were fetched a moment ago: models ask for the same page again and again.
//!
//! Small, and per session: what one session may see is none of another's business. Whether a call may run has been decided
//! before anybody looks here.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use haft_tool::SessionId;
use tokio::time::Instant;

use super::Fetched;

/// How long a page is good.
const GOOD: Duration = Duration::from_secs(15 * 60);
/// How many are kept, and how large one may be.
const MOST: usize = 16;
const LARGEST: usize = 1024 * 1024;

#[derive(Default)]
pub(super) struct Cache(Mutex<VecDeque<Kept>>);

struct Kept {
    session: SessionId,
    /// What was asked for, before anybody pointed elsewhere.
    asked: String,
    since: Instant,
    fetched: Fetched,
}

impl Cache {
    /// What this session got for this address, and how long ago.
    pub(super) fn find(&self, session: &SessionId, asked: &str) -> Option<(Fetched, Duration)> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it =
            |kept: &&Kept| kept.session == *session && kept.asked == asked && kept.since.elapsed() < GOOD;
        kept.iter().find(is_it).map(|kept| (kept.fetched.clone(), kept.since.elapsed()))
    }

    /// Keeps a page in the place of the oldest.
    pub(super) fn keep(&self, session: &SessionId, asked: &str, fetched: &Fetched) {
        if fetched.block.len() > LARGEST {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|one| one.since.elapsed() < GOOD && (one.session != *session || one.asked != asked));
        kept.truncate(MOST - 1);
        kept.push_front(Kept {
            session: session.clone(),
            asked: asked.to_owned(),
            since: Instant::now(),
            fetched: fetched.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use haft_tool::Block;

    use super::*;

    fn fetched(text: &str) -> Fetched {
        Fetched { block: Block::Text(text.to_owned()), ..Fetched::default() }
    }

    fn text(cache: &Cache, session: &str, asked: &str) -> Option<String> {
        let (fetched, _) = cache.find(&session.into(), asked)?;
        fetched.block.as_text().map(str::to_owned)
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_is_good_for_a_quarter_of_an_hour_in_its_session() {
        let cache = Cache::default();
        cache.keep(&"one".into(), "https://a/", &fetched("old"));
        cache.keep(&"one".into(), "https://a/", &fetched("new"));
        assert_eq!(text(&cache, "one", "https://a/").as_deref(), Some("new"));
        assert_eq!(text(&cache, "two", "https://a/"), None);
        assert_eq!(text(&cache, "one", "https://b/"), None);
        tokio::time::advance(GOOD).await;
        assert_eq!(text(&cache, "one", "https://a/"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_goes_and_the_large_does_not_come() {
        let cache = Cache::default();
        for number in 0..=MOST {
            cache.keep(&"one".into(), &number.to_string(), &fetched("x"));
        }
        assert!(text(&cache, "one", "0").is_none() && text(&cache, "one", "1").is_some());
        cache.keep(&"one".into(), "large", &fetched(&"x".repeat(LARGEST + 1)));
        assert_eq!(text(&cache, "one", "large"), None);
    }
}

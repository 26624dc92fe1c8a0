//! Turns made by chance: whatever is called, and whenever it is stopped, the promises of a turn hold.

use std::time::Duration;

use haft_engine::Session;
use haft_testkit::{Probe, Workspace, panicking, sleeping};
use haft_tool::{Effects, FaultKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::kit::{allowing, begin, call, kind};

#[derive(Debug, Clone)]
enum Made {
    Sleep { ms: u64, reads: Option<&'static str>, writes: Option<&'static str> },
    Panic,
    Unknown,
    Invalid,
}

impl Made {
    fn tool(&self) -> &'static str {
        match self {
            Made::Sleep { .. } | Made::Invalid => "Sleep",
            Made::Panic => "Panic",
            Made::Unknown => "Nonsense",
        }
    }

    fn input(&self) -> Value {
        match self {
            Made::Sleep { ms, reads, writes } => json!({ "ms": ms, "reads": reads, "writes": writes }),
            Made::Invalid => json!({ "ms": "soon" }),
            _ => json!({}),
        }
    }

    fn effects(&self) -> Effects {
        let Made::Sleep { reads, writes, .. } = self else { return Effects::none() };
        let path = |name: &&str| format!("/{name}");
        let effects = reads.iter().fold(Effects::none(), |effects, name| effects.and_reads(path(name)));
        writes.iter().fold(effects, |effects, name| effects.and_writes(path(name)))
    }
}

fn any_call() -> impl Strategy<Value = Made> {
    let path = || prop::option::of(prop::sample::select(vec!["a", "b", "d", "d/x", "d/y"]));
    prop_oneof![
        8 => (0..50u64, path(), path()).prop_map(|(ms, reads, writes)| Made::Sleep { ms, reads, writes }),
        1 => Just(Made::Panic),
        1 => Just(Made::Unknown),
        1 => Just(Made::Invalid),
    ]
}

fn session(workspace: &Workspace, probe: &Probe, cap: usize) -> Session {
    let engine = allowing(workspace, &["Edit(**)"]).tool(sleeping(probe)).tool(panicking());
    begin(engine.settings(|settings| settings.parallel = cap), workspace)
}

/// When each call began and ended, as positions in the list of notes.
fn spans(notes: &[String], calls: usize) -> Vec<Option<(usize, usize)>> {
    let position = |mark: &str, n: usize| notes.iter().position(|note| *note == format!("{mark}{n}"));
    (0..calls).map(|n| Some((position("+", n)?, position("-", n).unwrap_or(usize::MAX)))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_turn_keeps_its_promises(
        turn in prop::collection::vec(any_call(), 0..16),
        cap in 1..6usize,
        live in any::<bool>(),
        stop in prop::option::of(0..200u64),
    ) {
        let workspace = Workspace::new("-- a\n-- b\n-- d/x\n");
        let probe = Probe::default();
        let session = session(&workspace, &probe, cap);
        let calls: Vec<_> = turn.iter().enumerate().map(|(n, made)| call(&n.to_string(), made.tool(), made.input())).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let results = runtime.block_on(async {
            if let Some(ms) = stop {
                let session = session.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    session.interrupt();
                });
            }
            if !live {
                return session.turn(calls).await;
            }
            let turn = session.live_turn();
            for call in calls {
                turn.push(call).expect("the turn has not begun to stop");
            }
            turn.results().await
        });

        let ids: Vec<String> = results.iter().map(|result| result.call.to_string()).collect();
        prop_assert_eq!(ids, (0..turn.len()).map(|n| n.to_string()).collect::<Vec<_>>());

        let spans = spans(&probe.notes(), turn.len());
        for (n, made) in turn.iter().enumerate() {
            let stopped = kind(&results[n]) == Some(FaultKind::Cancelled);
            prop_assert!(stop.is_some() || !stopped);
            match made {
                Made::Unknown => prop_assert!(stopped || kind(&results[n]) == Some(FaultKind::UnknownTool)),
                Made::Invalid => prop_assert!(stopped || kind(&results[n]) == Some(FaultKind::InvalidInput)),
                Made::Panic => prop_assert!(stopped || kind(&results[n]) == Some(FaultKind::Internal)),
                Made::Sleep { .. } => prop_assert!(stopped || !results[n].is_error(), "{}", results[n].text()),
            }
            for earlier in 0..n {
                let conflict = made.effects().conflicts_with(&turn[earlier].effects());
                if let (true, Some((began, _)), Some((_, ended))) = (conflict, spans[n], spans[earlier]) {
                    prop_assert!(began > ended, "{n} overlaps {earlier}");
                }
            }
        }
        let mut running = 0usize;
        for note in probe.notes() {
            running = if note.starts_with('+') { running + 1 } else { running - 1 };
            prop_assert!(running <= cap);
        }
    }
}

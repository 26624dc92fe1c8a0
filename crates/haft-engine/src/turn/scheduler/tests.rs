//! The scheduler against a model that compares every pair.

use proptest::prelude::*;

use super::*;

/// `R a/b`, `W a`, `? ` (unknown), `S todos`, `-` (nothing), `H host`; several with `+`.
fn effects(text: &str) -> Effects {
    text.split('+').map(str::trim).fold(Effects::none(), |effects, part| match part.split_once(' ') {
        Some(("R", path)) => effects.and_reads(Path::new("/").join(path)),
        Some(("W", path)) => effects.and_writes(Path::new("/").join(path)),
        Some(("S", key)) => effects.and_state(key.to_owned(), Access::Write),
        Some(("H", host)) => effects.and_host(host, Access::Read),
        Some(("P", host)) => effects.and_host(host, Access::Write),
        _ if part == "?" => effects.and_unknown(),
        _ => effects,
    })
}

/// Runs a turn in waves: all that may start starts, then all of it ends. Shows the waves.
fn waves(turn: &str, cap: usize) -> String {
    let calls: Vec<&str> = turn.split('|').map(str::trim).collect();
    let mut scheduler = Scheduler::new(cap);
    for call in &calls {
        scheduler.push(&effects(call));
    }
    scheduler.close();
    let mut shown = Vec::new();
    loop {
        let wave: Vec<CallIndex> = std::iter::from_fn(|| scheduler.start()).collect();
        if wave.is_empty() {
            return shown.join(" ");
        }
        shown.push(format!("[{}]", wave.iter().map(|index| calls[*index]).collect::<Vec<_>>().join(", ")));
        wave.into_iter().for_each(|index| scheduler.finish(index));
    }
}

#[track_caller]
fn check(turn: &str, expected: &str) {
    assert_eq!(waves(turn, 10), expected);
}

#[test]
fn reads_run_together_and_a_later_edit_waits() {
    check("R a | R b | W a", "[R a, R b] [W a]");
}

#[test]
fn edits_of_different_files_run_together() {
    check("W a | W b | W a", "[W a, W b] [W a]");
}

#[test]
fn an_edit_and_a_read_of_one_file_keep_the_models_order() {
    check("W a | R a | W a | R a", "[W a] [R a] [W a] [R a]");
}

#[test]
fn a_directory_stands_for_what_lies_below_it() {
    check("R src | W src/a | R src/b", "[R src, R src/b] [W src/a]");
    check("W src/a | W src/b | R src", "[W src/a, W src/b] [R src]");
    check("W app | W app-evil", "[W app, W app-evil]");
}

#[test]
fn the_unknown_runs_alone() {
    check("R a | ? | R b | R c", "[R a] [?] [R b, R c]");
    check("? | ?", "[?] [?]");
}

#[test]
fn a_change_of_directory_runs_alone_and_other_state_does_not() {
    check("R a | S cwd | R b", "[R a] [S cwd] [R b]");
    check("R a | S todos | R b | S todos", "[R a, S todos, R b] [S todos]");
}

#[test]
fn fetches_run_together_and_sends_to_one_host_do_not() {
    check("H x | H x | P x | H y", "[H x, H x, H y] [P x]");
}

#[test]
fn at_most_the_cap_runs_at_once() {
    assert_eq!(waves("R a | R b | R c", 2), "[R a, R b] [R c]");
    assert_eq!(waves("R a | R b", 0), "[R a] [R b]");
}

#[test]
fn while_the_model_writes_only_reads_start() {
    let mut scheduler = Scheduler::new(10);
    for call in ["W a", "R b", "R a", "?"] {
        scheduler.push(&effects(call));
    }
    assert_eq!(std::iter::from_fn(|| scheduler.start()).collect::<Vec<_>>(), [1]);
    scheduler.close();
    assert_eq!(std::iter::from_fn(|| scheduler.start()).collect::<Vec<_>>(), [0]);
    scheduler.finish(0);
    assert_eq!(std::iter::from_fn(|| scheduler.start()).collect::<Vec<_>>(), [2]);
    scheduler.finish(1);
    scheduler.finish(2);
    assert_eq!(std::iter::from_fn(|| scheduler.start()).collect::<Vec<_>>(), [3]);
}

/// What a turn may cost: the number of edges must grow with the calls, not with their pairs.
#[test]
fn crowded_turns_stay_linear() {
    let shapes: [fn(usize) -> String; 5] = [
        |_| "W same".to_owned(),
        |n| if n.is_multiple_of(2) { "R src".to_owned() } else { format!("W src/{n}") },
        |n| if n < 5_000 { "R src".to_owned() } else { format!("W src/{n}") },
        |n| if n < 5_000 { format!("W src/{n}") } else { "R src".to_owned() },
        |n| if n.is_multiple_of(3) { "?".to_owned() } else { format!("R src/{n}") },
    ];
    for shape in shapes {
        let mut scheduler = Scheduler::new(10);
        for n in 0..10_000 {
            scheduler.push(&effects(&shape(n)));
        }
        let edges: usize = scheduler.nodes.iter().map(|node| node.waited_for_by.len()).sum();
        assert!(edges <= 80_000, "{edges} edges for {}", shape(1));
    }
}

fn any_effects() -> impl Strategy<Value = Effects> {
    let path = prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 0..4)
        .prop_map(|parts| parts.join("/"));
    let part = prop_oneof![
        6 => path.clone().prop_map(|path| format!("R {path}")),
        6 => path.prop_map(|path| format!("W {path}")),
        1 => Just("?".to_owned()),
        1 => Just("S cwd".to_owned()),
        1 => Just("S todos".to_owned()),
        1 => Just("H x".to_owned()),
        1 => Just("P x".to_owned()),
        2 => Just("-".to_owned()),
    ];
    prop::collection::vec(part, 1..3).prop_map(|parts| effects(&parts.join("+")))
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Push,
    End(usize),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// At every moment, what runs is exactly what a comparison of all pairs would let run.
    #[test]
    fn it_does_what_a_comparison_of_all_pairs_would_do(
        turn in prop::collection::vec(any_effects(), 1..24),
        cap in 1..5usize,
        steps in prop::collection::vec(prop_oneof![Just(Step::Push), (0..8usize).prop_map(Step::End)], 0..80),
    ) {
        let mut scheduler = Scheduler::new(cap);
        let mut pushed = 0;
        let mut closed = false;
        let mut running: Vec<CallIndex> = Vec::new();
        let mut done = vec![false; turn.len()];
        // After the random steps, everything is pushed and ended, so that every turn comes to its end.
        let rest = std::iter::repeat_n(Step::Push, turn.len() + 1).chain(std::iter::repeat_n(Step::End(0), turn.len()));
        for step in steps.into_iter().chain(rest) {
            match step {
                Step::Push if pushed < turn.len() => {
                    prop_assert_eq!(scheduler.push(&turn[pushed]), pushed);
                    pushed += 1;
                }
                Step::Push => {
                    closed = true;
                    scheduler.close();
                }
                Step::End(which) if !running.is_empty() => {
                    let index = running.remove(which % running.len());
                    done[index] = true;
                    scheduler.finish(index);
                }
                Step::End(_) => {}
            }
            let may_start = |index: usize| {
                let effects = &turn[index];
                (closed || (effects.is_read_only() && effects.is_concurrency_safe()))
                    && (0..index).all(|earlier| done[earlier] || !turn[earlier].conflicts_with(effects))
            };
            let mut expected: Vec<CallIndex> =
                (0..pushed).filter(|index| !done[*index] && !running.contains(index) && may_start(*index)).collect();
            expected.truncate(cap - running.len());
            let started: Vec<CallIndex> = std::iter::from_fn(|| scheduler.start()).collect();
            prop_assert_eq!(&started, &expected);
            running.extend(started);
        }
        prop_assert!(done.iter().all(|done| *done), "a call never ran");
    }
}

/// A turn in which calls change when they first start. `R a > W b` reads `a` until then.
fn changing_waves(turn: &str) -> String {
    let calls: Vec<Vec<&str>> =
        turn.split('|').map(|call| call.split('>').map(str::trim).collect()).collect();
    let mut scheduler = Scheduler::new(10);
    let mut now: Vec<Effects> = calls.iter().map(|call| effects(call[0])).collect();
    for effects in &now {
        scheduler.push(effects);
    }
    scheduler.close();
    let (mut shown, mut changed) = (Vec::new(), vec![false; calls.len()]);
    loop {
        let wave: Vec<CallIndex> = std::iter::from_fn(|| scheduler.start()).collect();
        if wave.is_empty() {
            return shown.join(" ");
        }
        let is_changing = |index: &CallIndex| calls[*index].len() > 1 && !changed[*index];
        let (changing, running): (Vec<CallIndex>, Vec<CallIndex>) = wave.into_iter().partition(is_changing);
        for index in changing {
            changed[index] = true;
            now[index] = effects(calls[index][1]);
            scheduler.reschedule(index, &now[index], |other| now[other].conflicts_with(&now[index]));
        }
        if !running.is_empty() {
            let names = running.iter().filter_map(|index| calls[*index].last().copied());
            shown.push(format!("[{}]", names.collect::<Vec<_>>().join(", ")));
        }
        running.into_iter().for_each(|index| scheduler.finish(index));
    }
}

#[test]
fn a_call_that_changes_waits_for_what_it_touches_now() {
    // The read runs already when the first call changes.
    assert_eq!(changing_waves("R a > W b | R b"), "[R b] [W b]");
    // This one had to wait for its predecessor, so it still comes after the changed call.
    assert_eq!(changing_waves("R a > W c | W b | W b+W c"), "[W b] [W c] [W b+W c]");
    assert_eq!(changing_waves("R a | R b > ? | R c"), "[R a, R c] [?]");
    assert_eq!(changing_waves("W a > W a | W a"), "[W a] [W a]");
    // Each changes to what the other was: whoever waits already goes on waiting, and nobody waits for ever.
    assert_eq!(changing_waves("W a > W b | W b > W a"), "[W a] [W b]");
}

#[test]
fn a_read_that_becomes_a_write_waits_for_the_end_of_the_message() {
    let mut scheduler = Scheduler::new(10);
    scheduler.push(&effects("R a"));
    assert_eq!(scheduler.start(), Some(0));
    scheduler.reschedule(0, &effects("W a"), |_| false);
    assert_eq!(scheduler.start(), None);
    scheduler.push(&effects("R a"));
    assert_eq!(scheduler.start(), None, "a later call that conflicts with what it does now waits");
    scheduler.close();
    assert_eq!(scheduler.start(), Some(0));
}

#[test]
fn what_comes_after_a_call_that_has_come_to_run_alone_is_held_back() {
    let mut scheduler = Scheduler::new(10);
    scheduler.close();
    scheduler.push(&effects("R a"));
    assert_eq!(scheduler.start(), Some(0));
    scheduler.reschedule(0, &effects("?"), |_| false);
    assert!(scheduler.is_alone_pending());
    scheduler.push(&effects("R b"));
    assert_eq!((scheduler.start(), scheduler.start()), (Some(0), None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever changes when: nothing runs beside what it conflicts with, and every call comes to its end.
    #[test]
    fn calls_that_change_never_run_beside_a_conflict(
        turn in prop::collection::vec((any_effects(), any_effects(), 0..3u8), 1..16),
        cap in 1..5usize,
        order in prop::collection::vec(0..8usize, 0..60),
        late in 0..16usize,
    ) {
        let mut scheduler = Scheduler::new(cap);
        let mut now: Vec<Effects> = Vec::new();
        let mut may_change: Vec<bool> = turn.iter().map(|(_, _, change)| *change == 0).collect();
        let (mut running, mut ended): (Vec<CallIndex>, usize) = (Vec::new(), 0);
        let mut order = order.into_iter();
        let first = turn.len().saturating_sub(late);
        for (effects, ..) in &turn[..first] {
            scheduler.push(effects);
            now.push(effects.clone());
        }
        scheduler.close();
        for step in 0..turn.len() * 4 + 4 {
            if step % 2 == 1 && now.len() < turn.len() {
                scheduler.push(&turn[now.len()].0);
                now.push(turn[now.len()].0.clone());
            }
            while let Some(index) = scheduler.start() {
                for other in &running {
                    prop_assert!(!now[*other].conflicts_with(&now[index]), "{index} runs beside {other}");
                }
                running.push(index);
            }
            prop_assert!(!running.is_empty() || ended == now.len(), "everybody waits");
            if running.is_empty() {
                continue;
            }
            let index = running.remove(order.next().unwrap_or(0) % running.len());
            if std::mem::take(&mut may_change[index]) {
                now[index] = turn[index].1.clone();
                let (all, effects) = (now.clone(), now[index].clone());
                scheduler.reschedule(index, &effects, |other| all[other].conflicts_with(&effects));
            } else {
                scheduler.finish(index);
                ended += 1;
            }
        }
        prop_assert_eq!(ended, turn.len(), "a call never ran");
    }
}

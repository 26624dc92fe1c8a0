//! Until a command ends, is stopped, or goes on in the background.

use std::{sync::Arc, time::Duration};

use haft_shell::run::{Ended, Piece, Process};
use haft_tool::{Cx, Fault, Progress, Reply};

use super::{BashInput, BashOptions, report, task::ShellTask};

/// How often somebody is told what is going on.
const TICK: Duration = Duration::from_millis(100);

/// How long a stopped command is waited for. The call itself has only a moment longer.
const LAST_WORDS: Duration = Duration::from_millis(400);

/// What comes first.
enum First {
    End(Ended),
    Cancel,
    /// It takes so long that the call should not.
    Long,
}

/// How long a command was waited for.
pub(super) enum Waited {
    /// It goes on as a task of the session.
    GoesOn(Box<Reply>),
    /// It has ended, or was told to and has not yet done so.
    Ended(Process, Option<Ended>),
}

pub(super) async fn wait(
    process: Process,
    input: &BashInput,
    options: &BashOptions,
    cx: &Cx,
) -> Result<Waited, Fault> {
    let ended = match first(&process, options.background_after, cx).await {
        First::Long => {
            process.lift_time_limit();
            return go_on(process, input, cx).map(|reply| Waited::GoesOn(Box::new(reply)));
        }
        First::End(ended) => Some(ended),
        First::Cancel => {
            process.stop();
            tokio::time::timeout(LAST_WORDS, process.ended()).await.ok()
        }
    };
    Ok(Waited::Ended(process, ended))
}

async fn first(process: &Process, background_after: Option<Duration>, cx: &Cx) -> First {
    let mut ticks = tokio::time::interval(TICK);
    let (long, mut reported) = (after(background_after), 0);
    tokio::pin!(long);
    loop {
        tokio::select! {
            biased;
            ended = process.ended() => return First::End(ended),
            () = cx.cancelled() => return First::Cancel,
            () = &mut long => match process.is_paused() {
                // It waits for the person, not for itself.
                true => long.set(after(Some(TICK))),
                false => return First::Long,
            },
            _ = ticks.tick() => reported = report_progress(process, reported, cx),
        }
    }
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Says what the command wrote last, if it wrote anything since. Returns how much it has written.
fn report_progress(process: &Process, reported: u64, cx: &Cx) -> u64 {
    let (written, line) = process.with_output(|output| (output.bytes(), output.last_line()));
    if written > reported {
        cx.progress(Progress::of(line, written, None));
    }
    written
}

/// The command goes on as a task of the session. It is not the call any more that could be asked.
pub(super) fn go_on(process: Process, input: &BashInput, cx: &Cx) -> Result<Reply, Fault> {
    process.gatekeeper().iter().for_each(|gate| gate.close());
    // Who asked for it waits for what it says with TaskOutput, perhaps in the same turn: nothing counts as seen yet.
    let seen =
        if input.background { Piece::default() } else { process.with_output(|output| output.since(0)) };
    let task = Arc::new(ShellTask::new(process, input.command.clone()));
    let tasks = cx.tasks();
    let id = tasks.add(task).map_err(stopped)?;
    tasks.see(&id, seen.next);
    Ok(report::in_the_background(&id, &seen.text))
}

/// Nobody takes care of it, so it does not go on.
fn stopped(mut fault: Fault) -> Fault {
    fault.message_mut().push_str(". The command was stopped; what it did until then stays done");
    fault
}

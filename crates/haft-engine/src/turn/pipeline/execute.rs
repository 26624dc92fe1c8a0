//! Step 6: the call itself, with time-out, cancellation, retry and panics caught.

use std::{panic::AssertUnwindSafe, task::Poll, time::Duration};

use futures::{FutureExt, future::CatchUnwind};
use haft_tool::{Bound, BoxFuture, Cx, Fault, FaultKind, Reply};

use super::{CallCx, foresee::Prepared, panic_fault};
use crate::{
    policy::{self, Permit},
    session::{Note, WaitingTime},
    turn::{Event, KernelCx},
};

/// How long a cancelled call may take to say its last word before it is dropped.
const GRACE: Duration = Duration::from_millis(500);

/// Runs a permitted call and counts the attempts. The permit is asked for so that nothing can run without one.
pub(crate) async fn execute(
    call_cx: &CallCx<'_>,
    prepared: &mut Prepared<'_>,
    cx: &Cx,
    _permit: &Permit,
    attempts: &mut u32,
) -> Result<Reply, Fault> {
    loop {
        *attempts += 1;
        let bound = prepared.bound.take();
        let fault = match once(call_cx, prepared, bound, cx).await {
            Err(fault) if may_retry(call_cx, prepared, &fault, *attempts) => fault,
            outcome => return outcome,
        };
        // Boxed, like all that is rare: the state of a call that simply works stays small.
        if !Box::pin(pause(call_cx, prepared, cx, *attempts, &fault)).await {
            return Err(fault);
        }
    }
}

/// One attempt.
async fn once(
    call_cx: &CallCx<'_>,
    prepared: &Prepared<'_>,
    bound: Option<Box<dyn Bound>>,
    cx: &Cx,
) -> Result<Reply, Fault> {
    let body = body(call_cx, prepared, bound, cx)?;
    let body = match call_cx.session.own_asker() {
        Some(asker) => Box::pin(policy::asking(asker, body)),
        None => body,
    };
    let mut body = AssertUnwindSafe(body).catch_unwind();
    match futures::poll!(&mut body) {
        Poll::Ready(ended) => caught(prepared, ended),
        // Only a call that waits costs a clock and a token.
        Poll::Pending => Box::pin(within_limits(call_cx, prepared, cx, body)).await,
    }
}

/// What the tool said, or that it broke.
fn caught(prepared: &Prepared<'_>, ended: std::thread::Result<Result<Reply, Fault>>) -> Result<Reply, Fault> {
    ended.unwrap_or_else(|panic| Err(panic_fault(prepared.entry.name(), panic)))
}

/// The tool's own future. A later attempt binds the same input again: the first consumed it.
fn body<'a>(
    call_cx: &'a CallCx<'_>,
    prepared: &'a Prepared<'_>,
    bound: Option<Box<dyn Bound>>,
    cx: &Cx,
) -> Result<BoxFuture<'a, Result<Reply, Fault>>, Fault> {
    if let Some(kernel) = call_cx.kernel(prepared.entry) {
        let kx = KernelCx {
            cx: cx.clone(),
            pool: call_cx.pool,
            turn: *call_cx,
            stopped: &prepared.stopped_within,
            waiting: &prepared.waiting,
        };
        return Ok(kernel.run(prepared.input.clone(), kx));
    }
    let bound = match bound {
        Some(bound) => bound,
        None => prepared.entry.tool().clone().bind(&prepared.input)?,
    };
    // A tool may panic before its first await, too.
    std::panic::catch_unwind(AssertUnwindSafe(|| bound.run(cx.clone())))
        .map_err(|panic| panic_fault(prepared.entry.name(), panic))
}

async fn within_limits(
    call_cx: &CallCx<'_>,
    prepared: &Prepared<'_>,
    cx: &Cx,
    mut body: CatchUnwind<AssertUnwindSafe<BoxFuture<'_, Result<Reply, Fault>>>>,
) -> Result<Reply, Fault> {
    let name = prepared.entry.name();
    let limit = call_cx.time_limit(prepared.entry.tool().spec());
    let stopped = tokio::select! {
        biased;
        ended = &mut body => return caught(prepared, ended),
        () = cx.cancelled() => Fault::cancelled(format!("{name} was interrupted before it ended")),
        () = time_is_up(limit, &prepared.waiting) => timed_out(name, limit),
    };
    cx.token().cancel();
    // A last word may be a truthful result: what came so far, or that it was done after all.
    match tokio::time::timeout(GRACE, body).await {
        Ok(Ok(Ok(reply))) => Ok(reply),
        Ok(Ok(Err(last_word))) if stopped.kind() == FaultKind::Cancelled => Err(last_word),
        _ => Err(stopped),
    }
}

async fn time_is_up(limit: Option<Duration>, waiting: &WaitingTime) {
    match limit {
        Some(limit) => waiting.elapse(limit).await,
        None => std::future::pending().await,
    }
}

fn timed_out(name: &str, limit: Option<Duration>) -> Fault {
    let seconds = limit.unwrap_or_default().as_secs_f64();
    let message =
        format!("{name} took longer than {seconds} s and was stopped; what it had done by then stays done");
    Fault::new(FaultKind::TimedOut, message)
}

/// Only what may pass by itself, and only where twice is the same as once.
fn may_retry(call_cx: &CallCx<'_>, prepared: &Prepared<'_>, fault: &Fault, attempts: u32) -> bool {
    fault.is_retryable() && attempts < call_cx.retry().attempts && prepared.is_repeatable()
}

/// Waits before the next attempt. Says no if the call was cancelled meanwhile.
async fn pause(call_cx: &CallCx<'_>, prepared: &Prepared<'_>, cx: &Cx, attempts: u32, fault: &Fault) -> bool {
    let delay = call_cx.retry().delay(attempts);
    let redactor = call_cx.session.engine().redactor_for(prepared.entry.name());
    let reason = redactor.map_or_else(
        || fault.message().to_owned(),
        |redactor| redactor.redact(fault.message()).text.into_owned(),
    );
    if let Some(ticket) = &prepared.ticket {
        call_cx.note(ticket, Note::Retry { attempt: attempts + 1, delay, reason: &reason }).await;
    }
    call_cx.events.send(|| Event::Retrying {
        call: prepared.call.clone(),
        attempt: attempts + 1,
        delay,
        reason: reason.clone(),
    });
    tokio::select! {
        () = tokio::time::sleep(delay) => true,
        () = cx.cancelled() => false,
    }
}

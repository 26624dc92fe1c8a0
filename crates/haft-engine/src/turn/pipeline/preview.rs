//! What whoever is asked about a call gets to see of it.
//!
//! It is the tool's own code, run before anybody permitted the call: its time is short, and what breaks in it is only a
//! preview that is missing.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use haft_tool::{Cx, View};

use super::Prepared;

/// Longer than this, a person wonders what goes on.
const PATIENCE: Duration = Duration::from_secs(3);

/// The tool's preview of a call; that there is none, if it breaks or takes too long over it. It tells no more of what is
/// in the files than the answer will; what the call itself says is shown as it is, for that is what is judged.
pub(super) async fn preview(prepared: &Prepared<'_>, cx: &Cx) -> Option<View> {
    let mut view = drawn(prepared, cx).await;
    view.iter_mut().for_each(|view| prepared.secrets.hide_in_view(view));
    view
}

async fn drawn(prepared: &Prepared<'_>, cx: &Cx) -> Option<View> {
    let bound = prepared.bound.as_ref()?;
    let begun = std::panic::catch_unwind(AssertUnwindSafe(|| bound.preview(cx.clone())));
    let drawn = AssertUnwindSafe(begun.ok()?).catch_unwind();
    match tokio::time::timeout(PATIENCE, drawn).await {
        Ok(drawn) => drawn.ok().flatten(),
        Err(_) => Some(View::text("(there is no preview: it took too long)")),
    }
}

//! A change to a file, as a person sees it.

use std::{path::Path, time::Duration};

use haft_tool::View;
use similar::TextDiff;

/// A diff of more than this helps nobody.
pub(crate) const MOST_SHOWN: usize = 1024 * 1024;

/// The change as a unified diff; of large texts only that they changed.
pub(crate) fn diff(path: &Path, old: &str, new: &str) -> View {
    if old.len().max(new.len()) > MOST_SHOWN {
        return View::Text(format!("{}: {} → {} bytes", path.display(), old.len(), new.len()));
    }
    // Past its time it gives a coarser answer, never a wrong one.
    let diff = TextDiff::configure().timeout(Duration::from_millis(100)).diff_lines(old, new);
    let unified = diff.unified_diff().context_radius(3).to_string();
    View::Diff { path: path.display().to_string(), unified }
}

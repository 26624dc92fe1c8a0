//! The conversations of before, in this workspace.

use std::path::Path;

use haft_store::Instant;
use haft_tool::SessionId;

use crate::{
    cli::Options,
    exit::usage,
    place::Place,
    settings::Settings,
    store::{self, Store},
    transcript, watch,
};

/// A conversation of before.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Earlier {
    pub(super) session: SessionId,
    pub(super) last: Instant,
    /// How it began.
    pub(super) words: String,
}

/// Of so many sessions it is looked at whether they are conversations.
const MOST_SESSIONS: usize = 200;

/// The latest conversations of a workspace, the last one first, at most so many.
pub(super) async fn earlier(store: &Store, workspace: &Path, most: usize) -> anyhow::Result<Vec<Earlier>> {
    let workspace = workspace.display().to_string();
    let mut found = Vec::new();
    for row in store.book.sessions(MOST_SESSIONS).await? {
        // Where no call was made, the conversation itself knows where it was.
        let may_be = row.workspace.is_empty() || row.workspace == workspace;
        if found.len() < most
            && may_be
            && let Some(began) = transcript::beginning(store, &row.session).await?
            && (row.workspace == workspace || began.workspace.as_ref() == Some(&workspace))
        {
            found.push(Earlier { session: row.session, last: row.last, words: began.words });
        }
    }
    Ok(found)
}

/// The last conversation of the workspace.
pub(super) fn latest(options: &Options) -> anyhow::Result<String> {
    let place = Place::find(options.cwd.as_deref())?;
    let store = store::open(&Settings::read(options.config.as_deref(), &[])?)?;
    let found = watch::runtime()?.block_on(earlier(&store, &place.workspace, 1))?;
    let none =
        || usage("there is no conversation in this workspace to go on with; `haft sessions` lists all");
    Ok(found.first().ok_or_else(none)?.session.to_string())
}

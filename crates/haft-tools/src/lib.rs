//! The built-in tools, a file each, and the one list that registers them.
//!
//! A crate of its own so that an embedder with other tools compiles none of these. Adding a tool is its file and its
//! two lines here; forget the second and the compiler says that it is never constructed.

mod apply_patch; //  ApplyPatch: changes in several files, all or none
mod edit; //         Edit: replaces a passage of a text file
mod list; //         List: what is in a directory
mod read; //         Read: the lines of a text file
mod stat; //         Stat: what is at a path
mod tool_search; //  ToolSearch: finds tools that are not shown
mod write; //        Write: a file with this content
mod diff; //         for several: a change as a person sees it
mod stored; //       for several: a text file that is about to be changed
mod text; //         for several: text in the encoding that a file has
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing; //  for fuzz targets: doors to the pure parts
#[cfg(test)]
mod desk; //         for tests: a session that may edit

use haft_tool::{IntoTool, SharedTool};

pub use tool_search::ToolSearch;

/// All tools that need nothing but the contract. [`ToolSearch`] sees the runtime and is registered as a kernel tool.
pub fn builtin() -> Vec<SharedTool> {
    vec![
        apply_patch::ApplyPatch.into_tool(),
        edit::Edit.into_tool(),
        list::List.into_tool(),
        read::Read.into_tool(),
        stat::Stat.into_tool(),
        write::Write.into_tool(),
    ]
}

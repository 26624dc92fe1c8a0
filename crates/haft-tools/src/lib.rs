//! The built-in tools, a file each, and the one list that registers them.
//!
//! A crate of its own so that an embedder with other tools compiles none of these. Adding a tool is its file and its
//! two lines here; forget the second and the compiler says that it is never constructed.

mod ask_user; //     AskUser: questions for the person
mod apply_patch; //  ApplyPatch: changes in several files, all or none
mod bash; //         Bash: runs a command
mod batch; //        Batch: several calls in one
mod edit; //         Edit: replaces a passage of a text file
mod git; //          Git: looks into a repository
mod glob; //         Glob: the files whose paths fit a pattern
mod grep; //         Grep: the lines of files that match a pattern
mod list; //         List: what is in a directory
mod monitor; //      Monitor: tells of lines that a command prints
mod notebook_edit; // NotebookEdit: replaces, inserts or deletes a cell
mod plan; //         EnterPlanMode, ExitPlanMode, VerifyPlan: look first, agree, and compare
mod repl; //         Repl: runs code in an interpreter that stays
mod read; //         Read: what is in a file, as a model can take it in
mod skill; //        Skill: instructions that are loaded when they are wanted
mod stat; //         Stat: what is at a path
mod task_create; //  TaskCreate: notes something to do
mod task_get; //     TaskGet: all that is known of one thing to do
mod task_list; //    TaskList: what is to be done, and what goes on
mod task_update; //  TaskUpdate: changes something to do
mod task_output; //  TaskOutput: what a task in the background has said
mod task_stop; //    TaskStop: ends a task in the background
mod todo_write; //   TodoWrite: the list of things to do
mod tool_search; //  ToolSearch: finds tools that are not shown
#[cfg(feature = "web")]
mod web_fetch; //    WebFetch: what is at an address of the web
mod worktree; //     EnterWorktree, ExitWorktree: work beside the user's own tree
mod write; //        Write: a file with this content
mod kernel; //       for those that see the runtime: what their two halves share
mod items; //        for several: things to do, and what waits for what
mod process; //      for several: what a process finds around it
mod gate; //         for several: what a process asks while it runs
mod quoted; //       for several: what a program prints is no note of ours
mod diff; //         for several: a change as a person sees it
mod preview; //      for several: a change before it is made
mod stored; //       for several: a text file that is about to be changed
mod text; //         for several: text in the encoding that a file has
mod notebook; //     for several: a notebook's cells, and its text with another
mod shelf; //        for searches: the first of many finds, and no more
mod shown; //        for searches: a path as the model reads it
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing; //  for fuzz targets: what strangers' bytes reach
#[cfg(test)]
mod hidden;
#[cfg(test)]
mod desk; //         for tests: a session that may edit

use std::{path::PathBuf, sync::Arc};

use haft_engine::turn::Kernel;
use haft_tool::{IntoTool, SharedTool};

pub use bash::BashOptions;
pub use repl::ReplOptions;
pub use skill::{Sheet, skill};
pub use tool_search::ToolSearch;
#[cfg(feature = "web")]
pub use web_fetch::{Answer, Body, Network, Url, WebOptions, web_fetch_on};

/// All tools that see the runtime: register them by [`EngineBuilder::kernels`](haft_engine::EngineBuilder::kernels).
pub fn kernels() -> Vec<Arc<dyn Kernel>> {
    kernels_with(None)
}

/// The same, and those that make worktrees below a directory of one's own, if there is one.
pub fn kernels_with(worktrees: Option<PathBuf>) -> Vec<Arc<dyn Kernel>> {
    let mut kernels: Vec<Arc<dyn Kernel>> = vec![
        Arc::new(ask_user::AskUser),
        Arc::new(batch::Batch),
        Arc::new(plan::ExitPlanMode),
        Arc::new(tool_search::ToolSearch),
        Arc::new(plan::VerifyPlan),
    ];
    if let Some(directory) = worktrees {
        kernels.push(Arc::new(worktree::EnterWorktree { directory }));
        kernels.push(Arc::new(worktree::ExitWorktree));
    }
    kernels
}

/// All tools that need nothing but the contract. Those that see the runtime are [`kernels`].
pub fn builtin() -> Vec<SharedTool> {
    builtin_with(Options::default())
}

/// What can be chosen about the tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether every reply of Read says that what a file holds is data, not a request.
    pub data_reminder: bool,
    /// What holds for commands.
    pub bash: BashOptions,
    /// What holds for interpreters.
    pub repl: ReplOptions,
    /// What holds for fetching.
    #[cfg(feature = "web")]
    pub web: WebOptions,
}

/// All tools of [`builtin`], as somebody wants them.
pub fn builtin_with(options: Options) -> Vec<SharedTool> {
    vec![
        apply_patch::ApplyPatch.into_tool(),
        bash::Bash { options: options.bash }.into_tool(),
        edit::Edit.into_tool(),
        plan::EnterPlanMode.into_tool(),
        git::Git.into_tool(),
        glob::Glob.into_tool(),
        grep::Grep.into_tool(),
        list::List.into_tool(),
        monitor::Monitor { bash: bash::Bash { options: options.bash } }.into_tool(),
        notebook_edit::NotebookEdit.into_tool(),
        read::Read { data_reminder: options.data_reminder }.into_tool(),
        repl::Repl::new(options.repl).into_tool(),
        stat::Stat.into_tool(),
        task_create::TaskCreate.into_tool(),
        task_get::TaskGet.into_tool(),
        task_list::TaskList.into_tool(),
        task_output::TaskOutput.into_tool(),
        task_stop::TaskStop.into_tool(),
        todo_write::TodoWrite.into_tool(),
        task_update::TaskUpdate.into_tool(),
        #[cfg(feature = "web")]
        web_fetch::WebFetch::new(options.web).into_tool(),
        write::Write.into_tool(),
    ]
}

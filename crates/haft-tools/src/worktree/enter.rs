//! `EnterWorktree`: makes a worktree and moves the session into it.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use haft_engine::{
    session::{WORKTREE, Worktree},
    turn::{Kernel, KernelCx},
};
use haft_tool::{
    BoxFuture, Change, Class, Cx, Effects, Fault, IntoTool, Load, Reply, SharedTool, Spec, Tool, shown,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::work::{Kept, Work};
use crate::kernel::{not_here, typed};

/// Makes a git worktree of this repository on a new branch and moves the session into it.
///
/// Use it for work that must not touch the user's own files until it is good: what you change from then on is changed in
/// the worktree only, where relative paths and commands begin. It begins at the last commit. You need not commit: end it with
/// ExitWorktree, which merges, keeps or discards what you did. The name of one that was kept leads into it again. It fails
/// outside of a git repository, and in a worktree.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnterWorktreeInput {
    /// A short name for it, of lower-case letters, digits and `-`.
    name: Option<String>,
}

/// The tool.
#[derive(Debug, Clone)]
pub(crate) struct EnterWorktree {
    /// Where worktrees are made.
    pub(crate) directory: PathBuf,
}

impl Tool for EnterWorktree {
    type Input = EnterWorktreeInput;
    const SPEC: Spec = Spec::new("EnterWorktree")
        .toolset("planning")
        .aliases(&["enter_worktree"])
        .search_hint("git worktree branch isolated copy of the workspace work beside")
        .load(Load::Deferred);

    fn validate(&self, input: &EnterWorktreeInput) -> Result<(), Fault> {
        let is_plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
        let is_name = |name: &str| {
            (1..=40).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('-')
        };
        match &input.name {
            Some(name) if !is_name(name) => Err(Fault::rejected(
                "`name` has 1 to 40 lower-case letters, digits and `-`, and does not begin with `-`",
            )),
            _ => Ok(()),
        }
    }

    fn effects(&self, _: &EnterWorktreeInput) -> Effects {
        let words = ["git", "worktree", "add"].map(str::to_owned).to_vec();
        Effects::changes("workspace").and_command(words, Class::Write)
    }

    fn describe(&self, input: &EnterWorktreeInput) -> String {
        let name = input.name.as_ref().map_or_else(String::new, |name| format!(" `{name}`"));
        format!("Make a worktree{name} and work in it")
    }

    async fn call(&self, _: EnterWorktreeInput, _: &Cx) -> Result<Reply, Fault> {
        Err(not_here("EnterWorktree"))
    }
}

impl Kernel for EnterWorktree {
    fn tool(&self) -> SharedTool {
        self.clone().into_tool()
    }

    fn run<'a>(&'a self, input: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        Box::pin(async move {
            let input: EnterWorktreeInput = typed(&input)?;
            self.enter(input.name.unwrap_or_else(any_name), &kx).await
        })
    }
}

impl EnterWorktree {
    async fn enter(&self, name: String, kx: &KernelCx<'_>) -> Result<Reply, Fault> {
        let here = kx.cx.session();
        if let Some(worktree) = kx.session().worktree() {
            return Err(Fault::rejected(format!(
                "the session is in a worktree already (branch {}); leave it with ExitWorktree first",
                worktree.branch
            )));
        }
        let below = self.directory.clone();
        let look = Work::at(kx, (&here.workspace, &here.workspace), Vec::new()).await?;
        let parent = kx.cx.blocking(move || made(&below)).await?.join(of_repository(&look.common));
        let (parent, path) = (kx.cx.blocking(move || made(&parent)).await?, PathBuf::from(&name));
        let path = parent.join(path);
        let work = Work::at(kx, (&here.workspace, &here.workspace), vec![parent]).await?;
        let branch = format!("haft/{name}");
        let (base, into, left) =
            (work.head().await.map_err(no_commit)?, work.branch().await?, work.changed().await?);
        let place =
            path.to_str().ok_or_else(|| Fault::failed("the state directory has a name that is no text"))?;
        let found = work.kept(&path, &branch).await?;
        match found {
            Kept::Nothing => {
                work.run(&["worktree", "add", "--quiet", "--no-track", "-b", &branch, place, &base]).await?;
            }
            Kept::Branch => {
                work.run(&["worktree", "prune"]).await?;
                work.run(&["worktree", "add", "--quiet", place, &branch]).await?;
            }
            Kept::Tree => {}
        }
        let base = match found {
            Kept::Nothing => base,
            _ => work.run(&["merge-base", &base, &branch]).await?,
        };
        let inside = here.workspace.strip_prefix(&work.top).unwrap_or(Path::new(""));
        let text = |path: &Path| shown(path).to_string();
        let worktree = Worktree {
            path: text(&path),
            workspace: text(&path.join(inside)),
            branch: branch.clone(),
            base: base.clone(),
            into,
            left_workspace: text(&here.workspace),
            left_cwd: text(&here.cwd),
        };
        let stands = path.join(inside);
        // A workspace that is not part of the history is not in a new tree, either.
        if !stands.is_dir() {
            let made = stands.clone();
            kx.cx.blocking(move || self::made(&made)).await?;
        }
        Ok(Reply::text(told(&worktree, &stands, found, left))
            .change(Change::State(WORKTREE.to_owned(), worktree.to_value()))
            .change(Change::Cwd(stands)))
    }
}

fn told(worktree: &Worktree, stands: &Path, found: Kept, left: usize) -> String {
    let short = worktree.base.get(..10).unwrap_or(&worktree.base);
    let left = match left {
        0 => String::new(),
        count => format!(
            "\n{count} files of the user's tree have changes that are not committed; they are not in the worktree."
        ),
    };
    let again = match found {
        Kept::Nothing => "In a worktree now",
        Kept::Branch => "In a worktree of a branch that was kept",
        Kept::Tree => "Again in the worktree that was kept, with all that was left in it",
    };
    format!(
        "{again}: {} (branch {}, from {short}). Relative paths begin there, and the user's own tree cannot be \
         written.{left}\nLeave it with ExitWorktree.",
        shown(stands),
        worktree.branch
    )
}

fn made(directory: &Path) -> Result<PathBuf, Fault> {
    let make = || std::fs::create_dir_all(directory).and_then(|()| directory.canonicalize());
    make().map_err(|err| Fault::io("make", directory, err))
}

/// A name for the worktrees of one repository: its own, and something that tells two of one name apart.
fn of_repository(common: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    common.hash(&mut hasher);
    let top = if common.ends_with(".git") { common.parent().unwrap_or(common) } else { common };
    let name = top.file_name().unwrap_or_default().to_string_lossy();
    let plain: String =
        name.chars().filter(|char| char.is_ascii_alphanumeric() || "-_".contains(*char)).take(40).collect();
    format!("{plain}-{:08x}", hasher.finish() as u32)
}

fn any_name() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("w{:x}", now.as_micros())
}

fn no_commit(_: Fault) -> Fault {
    Fault::failed("the repository has no commit yet, so there is nothing that a worktree could begin from")
}

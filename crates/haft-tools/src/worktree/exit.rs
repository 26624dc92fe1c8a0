//! `ExitWorktree`: merges what was done in a worktree, keeps it or throws it away, and moves the session back.
//!
//! A merge is worked out in the history alone. Only if it fits is the user's tree moved forward to it, in one step that git
//! refuses as a whole where it would overwrite something. What does not fit leaves the user's tree as it was: their branch
//! comes into the worktree instead, with marks where it does not fit, and the next merge commits what was made of them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use haft_engine::{
    policy::{Choice, ChoiceOption, Choosing, protected},
    session::{WORKTREE, Worktree},
    turn::{Kernel, KernelCx},
};
use haft_tool::{
    BoxFuture, Change, Class, Cx, Effects, Fault, IntoTool, Load, Reply, SharedTool, Spec, Tool, shown,
    unshown,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::work::{Work, a_few, by_hand, complaint};
use crate::kernel::{not_here, typed};

/// Leaves the worktree that EnterWorktree made, and moves the session back to the user's own tree.
///
/// `merge` commits what you changed and merges it into the user's branch: forward if that is possible, by a merge commit
/// otherwise. Where it does not fit, their branch comes into the worktree with conflict markers: resolve them, and merge again.
/// `keep` leaves worktree and branch for later. `discard` removes both; the user is asked if something would be lost.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExitWorktreeInput {
    action: Action,
    /// The message of the commit, for `merge`.
    message: Option<String>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Action {
    Merge,
    Keep,
    Discard,
}

/// The tool.
pub(crate) struct ExitWorktree;

impl Tool for ExitWorktree {
    type Input = ExitWorktreeInput;
    const SPEC: Spec = Spec::new("ExitWorktree")
        .toolset("planning")
        .aliases(&["exit_worktree"])
        .search_hint("git worktree leave merge keep discard branch")
        .load(Load::Deferred)
        // A merge that is cut off in the middle would be worse than one that is waited for.
        .interrupt(haft_tool::Interrupt::Block)
        .needs_person();

    fn effects(&self, input: &ExitWorktreeInput) -> Effects {
        let effects = Effects::changes("workspace");
        let runs = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match input.action {
            Action::Keep => effects,
            Action::Merge => effects.and_command(runs(&["git", "merge"]), Class::Write),
            Action::Discard => effects.and_command(runs(&["git", "worktree", "remove"]), Class::Write),
        }
    }

    fn describe(&self, input: &ExitWorktreeInput) -> String {
        match input.action {
            Action::Merge => "Merge the worktree into the user's branch, and leave it",
            Action::Keep => "Leave the worktree as it is",
            Action::Discard => "Remove the worktree and its branch",
        }
        .to_owned()
    }

    async fn call(&self, _: ExitWorktreeInput, _: &Cx) -> Result<Reply, Fault> {
        Err(not_here("ExitWorktree"))
    }
}

impl Kernel for ExitWorktree {
    fn tool(&self) -> SharedTool {
        ExitWorktree.into_tool()
    }

    fn run<'a>(&'a self, input: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        Box::pin(async move {
            let input: ExitWorktreeInput = typed(&input)?;
            let worktree = kx.session().worktree().ok_or_else(|| {
                Fault::rejected("the session is in no worktree; one is made with EnterWorktree")
            })?;
            let leaving = Leaving { kx: &kx, worktree: &worktree };
            let said = match input.action {
                Action::Merge => leaving.merge(input.message).await?,
                Action::Keep => {
                    format!("The worktree stays at {} (branch {}).", worktree.path, worktree.branch)
                }
                Action::Discard => leaving.discard().await?,
            };
            let back = unshown(&worktree.left_cwd);
            Ok(Reply::text(format!("{said}\nBack in {}.", shown(&back)))
                .change(Change::State(WORKTREE.to_owned(), Value::Null))
                .change(Change::Cwd(back)))
        })
    }
}

struct Leaving<'a> {
    kx: &'a KernelCx<'a>,
    worktree: &'a Worktree,
}

impl<'a> Leaving<'a> {
    /// Git in the worktree. It may write the history only.
    async fn inside(&self) -> Result<Work<'a>, Fault> {
        let (path, workspace) = (unshown(&self.worktree.path), unshown(&self.worktree.workspace));
        Work::at(self.kx, (&path, &workspace), Vec::new()).await
    }

    /// Git in the user's tree, which it may write if it is to.
    async fn outside(&self, writes: bool) -> Result<Work<'a>, Fault> {
        let left = unshown(&self.worktree.left_workspace);
        let look = Work::at(self.kx, (&left, &left), Vec::new()).await?;
        if !writes {
            return Ok(look);
        }
        let top = look.top.clone();
        Work::at(self.kx, (&top, &left), vec![top.clone()]).await
    }

    async fn merge(&self, message: Option<String>) -> Result<String, Fault> {
        let (inside, outside) = (self.inside().await?, self.outside(true).await?);
        if outside.branch().await? != self.worktree.into {
            return Err(Fault::failed(format!(
                "the user's tree is not on the branch any more that the worktree began from (`{}`), so nothing was merged; \
                 keep the worktree, and tell the user",
                self.worktree.into
            )));
        }
        self.check_marks(&inside).await?;
        let (before, tip) = (outside.head().await?, commit_all(&inside, message).await?);
        let merged = self.merged(&inside, &before, &tip).await?;
        if merged == before {
            let left = self.leave_tree().await?;
            return Ok(format!("There was nothing to merge. {left}"));
        }
        self.check_names(&outside, &before, &merged).await?;
        let moved = outside.try_to(&["merge", "--quiet", "--ff-only", "--no-stat", &merged]).await?;
        if !moved.is_good {
            return Err(Fault::failed(format!(
                "the user's tree has changes in the way, so nothing was merged and nothing there has changed:\n{}\nYou \
                 are still in the worktree; keep it, and tell the user.",
                complaint(&moved)
            )));
        }
        let how = if merged == tip { "forward" } else { "by a merge commit" };
        let left = self.leave_tree().await.unwrap_or_else(|fault| format!("{}.", fault.message()));
        let short = |commit: &str| commit.get(..10).unwrap_or(commit).to_owned();
        Ok(format!(
            "Merged {how}: {} is at {} now, and was at {} (`git reset --keep {}` takes it back). {left}",
            if self.worktree.into.is_empty() { "HEAD" } else { &self.worktree.into },
            short(&merged),
            short(&before),
            short(&before),
        ))
    }

    /// The commit that has both, made in the history alone.
    async fn merged(&self, inside: &Work<'_>, before: &str, tip: &str) -> Result<String, Fault> {
        if inside.is_so(&["merge-base", "--is-ancestor", tip, before]).await? {
            return Ok(before.to_owned());
        }
        if inside.is_so(&["merge-base", "--is-ancestor", before, tip]).await? {
            return Ok(tip.to_owned());
        }
        let answer = inside
            .try_to(&["merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", before, tip])
            .await?;
        let mut words = answer.said.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let tree = words.next().unwrap_or_default().trim().to_owned();
        if !answer.is_good {
            let files: Vec<String> =
                words.filter(|name| !name.is_empty()).map(|name| name.into_owned()).collect();
            let files = if files.is_empty() { complaint(&answer) } else { a_few(&files) };
            return Err(self.bring_in(before, &files).await?);
        }
        let message = format!("Merge branch '{}'", self.worktree.branch);
        inside.author(&["commit-tree", &tree, "-p", before, "-p", tip, "-m", &message]).await
    }

    /// Brings what the user's branch has got meanwhile into the worktree, as far as it fits. Git remembers it as a merge that
    /// has begun; only in the worktree, where the model can end it.
    async fn bring_in(&self, before: &str, files: &str) -> Result<Fault, Fault> {
        let (path, workspace) = (unshown(&self.worktree.path), unshown(&self.worktree.workspace));
        let tree = Work::at(self.kx, (&path, &workspace), vec![path.clone()]).await?;
        let words = ["-c", "merge.conflictStyle=merge", "merge", "--no-commit", "--no-ff", "--quiet", before];
        let answer = tree.try_to(&words).await?;
        if !tree.is_merging().await? {
            return Ok(Fault::failed(format!(
                "it does not fit what the user's branch has got meanwhile (in conflict: {files}), so nothing was merged, and \
                 their branch cannot be brought into the worktree: {}\nYou are still in the worktree; keep it, and tell the \
                 user.",
                complaint(&answer)
            )));
        }
        let (_, unmarked) = self.conflicts(&tree).await?;
        let unmarked = if unmarked.is_empty() {
            String::new()
        } else {
            format!(
                "\nWithout markers, because they cannot be put together line by line or are gone on one side: {}; what is there \
                 now is what will be merged.",
                a_few(&unmarked)
            )
        };
        Ok(Fault::failed(format!(
            "it does not fit what the user's branch has got meanwhile, so nothing was merged and nothing there has changed; in \
             conflict: {files}\nYou are still in the worktree, which has the user's branch now, too: resolve the conflict \
             markers (<<<<<<<, =======, >>>>>>>) in these files, and merge again, or keep it.{unmarked}"
        )))
    }

    /// Marks of a conflict are for the model to resolve, and for nobody's history.
    async fn check_marks(&self, inside: &Work<'_>) -> Result<(), Fault> {
        if !inside.is_merging().await? {
            return Ok(());
        }
        let (marked, _) = self.conflicts(inside).await?;
        if marked.is_empty() {
            return Ok(());
        }
        Err(Fault::failed(format!(
            "conflict markers (<<<<<<<, =======, >>>>>>>) are left in {}, so nothing was merged; resolve them, and merge again",
            a_few(&marked)
        )))
    }

    /// The files in conflict: those with marks, and those without any.
    async fn conflicts(&self, tree: &Work<'_>) -> Result<(Vec<String>, Vec<String>), Fault> {
        let (top, names) = (tree.top.clone(), tree.unmerged().await?);
        let told = |names: Vec<PathBuf>| names.iter().map(|name| shown(name).to_string()).collect();
        let look = move || Ok(names.into_iter().partition(|name| is_marked(&top.join(name))));
        let (marked, unmarked) = self.kx.cx.blocking(look).await?;
        Ok((told(marked), told(unmarked)))
    }

    /// What is run later by others is not for a merge to bring in: each such file was for a person to allow, and so is this.
    async fn check_names(&self, outside: &Work<'_>, before: &str, merged: &str) -> Result<(), Fault> {
        let answer = outside.try_to(&["diff", "--name-only", "--no-renames", "-z", before, merged]).await?;
        if !answer.is_good {
            return Err(Fault::failed(format!("what would change cannot be told: {}", complaint(&answer))));
        }
        let left = unshown(&self.worktree.left_workspace);
        let home = self.kx.cx.session().home.clone();
        for name in answer.said.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let name = String::from_utf8_lossy(name);
            if let Some(why) = protected::why(&outside.top.join(&*name), &left, home.as_deref()) {
                return Err(by_hand(format!(
                    "Refused: the merge would change {name}, which is {why}.\nKeep the worktree, and tell the user to look at it \
                     and to run `git merge {}` themselves.",
                    self.worktree.branch
                )));
            }
        }
        Ok(())
    }

    async fn discard(&self) -> Result<String, Fault> {
        let (inside, outside) = (self.inside().await?, self.outside(false).await?);
        let differing = inside.differing().await?;
        let tip = inside.head().await?;
        let mut lost = differing.in_words();
        if !outside.is_so(&["merge-base", "--is-ancestor", &tip, "HEAD"]).await? {
            lost.push("commits that are not merged".to_owned());
        }
        if !lost.is_empty() {
            self.ask_to_discard(&lost).await?;
        }
        self.clean_up().await?;
        Ok(format!("The worktree and its branch {} are gone.", self.worktree.branch))
    }

    /// After a merge: removes the tree, unless it has files that no merge takes along and that nobody wants to lose.
    async fn leave_tree(&self) -> Result<String, Fault> {
        let lost = self.inside().await?.differing().await?.in_words();
        if !lost.is_empty() && self.ask_to_discard(&lost).await.is_err() {
            return Ok(format!(
                "The worktree stays at {} (branch {}): it has {}, which are in no commit, and nobody said that they may be \
                 lost.",
                self.worktree.path,
                self.worktree.branch,
                lost.join(", and ")
            ));
        }
        self.clean_up().await?;
        Ok("The worktree is gone.".to_owned())
    }

    async fn ask_to_discard(&self, lost: &[String]) -> Result<(), Fault> {
        let lost = lost.join(", and ");
        let option = |label: &str, description: &str| ChoiceOption {
            label: label.to_owned(),
            description: description.to_owned(),
        };
        let question = Choice {
            header: "Discard".to_owned(),
            question: format!("The worktree {} has {lost}. Throw that away?", self.worktree.branch),
            options: vec![option(DISCARD, "it cannot be taken back"), option(KEEP, "nothing is removed")],
            several: false,
            own_words: false,
        };
        let said = self.kx.choose(None, &[question]).await?;
        let nobody = matches!(said, Choosing::NobodyThere);
        let is_yes = matches!(said, Choosing::Chosen(chosen) if chosen.first().is_some_and(|one| one.labels == [DISCARD]));
        match (is_yes, nobody) {
            (true, _) => Ok(()),
            (_, true) => Err(Fault::denied(
                haft_tool::Refusal::NobodyThere,
                format!(
                    "The worktree has {lost}, and nobody is there to say that it may be lost: nothing was removed.\nLeave it with `keep`."
                ),
            )),
            _ => Err(Fault::denied(
                haft_tool::Refusal::Person,
                "The user does not want the worktree thrown away: nothing was removed.\nLeave it with `keep`, or go on in it.",
            )),
        }
    }

    /// The tree is ours, below the state directory; git only forgets it.
    async fn clean_up(&self) -> Result<(), Fault> {
        // Where the user's tree may be written, what git keeps of worktrees may not: it is where settings are looked for.
        let outside = self.outside(false).await?;
        let path = unshown(&self.worktree.path);
        let gone = path.clone();
        self.kx.cx.blocking(move || remove(&gone)).await?;
        outside.run(&["worktree", "prune"]).await?;
        outside.run(&["branch", "--quiet", "-D", &self.worktree.branch]).await?;
        Ok(())
    }
}

const DISCARD: &str = "Discard";
const KEEP: &str = "Keep";

fn remove(path: &Path) -> Result<(), Fault> {
    match std::fs::remove_dir_all(path) {
        Err(err) if err.kind() != std::io::ErrorKind::NotFound => Err(Fault::io("remove", path, err)),
        _ => Ok(()),
    }
}

/// Whether a file has a conflict's marks. What cannot be read has none that somebody could see.
fn is_marked(path: &Path) -> bool {
    let is_mark = |line: &[u8]| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> ");
    // Never through a link: that would be another file.
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file && std::fs::read(path).is_ok_and(|bytes| bytes.split(|byte| *byte == b'\n').any(is_mark))
}

/// Commits whatever has changed; gives what is checked out then.
async fn commit_all(inside: &Work<'_>, message: Option<String>) -> Result<String, Fault> {
    let is_merging = inside.is_merging().await?;
    inside.run(&["add", "--all"]).await?;
    if is_merging || !inside.is_so(&["diff", "--cached", "--quiet"]).await? {
        let message = message.filter(|message| !message.trim().is_empty());
        let message = message.unwrap_or_else(|| "Changes made in a worktree".to_owned());
        inside.author(&["commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", &message]).await?;
    }
    inside.head().await
}

//! What git is asked to do for a worktree: few words, all of them ours.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use haft_engine::turn::KernelCx;
use haft_tool::{Cx, Fault, Grant, Refusal, SessionFacts, shown};

use crate::git::{
    ask::{Answer, Git},
    pinned::Pin,
    repository::Repository,
};

/// Git in one tree of a repository, with what it may write.
pub(super) struct Work<'a> {
    git: Git<'a>,
    pins: Vec<Pin>,
    /// Where the files of the tree are.
    pub(super) top: PathBuf,
    /// Where the history is.
    pub(super) common: PathBuf,
}

impl<'a> Work<'a> {
    /// In the tree of this directory, which belongs to this workspace. It may write these places, and the history.
    pub(super) async fn at(
        kx: &'a KernelCx<'_>,
        (directory, workspace): (&Path, &Path),
        write: Vec<PathBuf>,
    ) -> Result<Work<'a>, Fault> {
        let look = runner(kx, directory, workspace, Vec::new())?;
        let repository = Repository::of(&look, workspace).await?;
        let top = repository.top.ok_or_else(|| {
            Fault::failed(format!(
                "{} is in no git repository with files, so there can be no worktree of it",
                shown(directory)
            ))
        })?;
        let common = place(&look.ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).await?)?;
        let mut roots = write;
        // A directory that may be written has all below it.
        if !roots.iter().any(|root| common.starts_with(root)) {
            roots.push(common.clone());
        }
        let git = runner(kx, directory, workspace, roots)?;
        Ok(Work { git, pins: repository.pins, top, common })
    }

    /// Does it, and gives what git said.
    pub(super) async fn run(&self, words: &[&str]) -> Result<String, Fault> {
        let answer = self.try_to(words).await?;
        match answer.is_good {
            true => Ok(text(&answer)),
            false => Err(Fault::failed(format!("git {} did not work: {}", words[0], complaint(&answer)))),
        }
    }

    /// Does it, and gives whatever came of it.
    pub(super) async fn try_to(&self, words: &[&str]) -> Result<Answer, Fault> {
        let words = words.iter().map(OsString::from).collect();
        self.git.tell(words, &self.pins).await
    }

    /// The same for what has an author: haft, where nobody has told git who works here.
    pub(super) async fn author(&self, words: &[&str]) -> Result<String, Fault> {
        if self.is_so(&["var", "GIT_COMMITTER_IDENT"]).await? {
            return self.run(words).await;
        }
        let mut signed = vec!["-c", "user.name=haft", "-c", "user.email=haft@localhost"];
        signed.extend(words);
        let answer = self.try_to(&signed).await?;
        match answer.is_good {
            true => Ok(text(&answer)),
            false => Err(Fault::failed(format!("git {} did not work: {}", words[0], complaint(&answer)))),
        }
    }

    /// Whether the question has a yes for an answer.
    pub(super) async fn is_so(&self, words: &[&str]) -> Result<bool, Fault> {
        Ok(self.try_to(words).await?.is_good)
    }

    /// The commit that is checked out.
    pub(super) async fn head(&self) -> Result<String, Fault> {
        self.run(&["rev-parse", "--verify", "HEAD^{commit}"]).await
    }

    /// The branch that is checked out; empty if it is none.
    pub(super) async fn branch(&self) -> Result<String, Fault> {
        Ok(text(&self.try_to(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await?))
    }

    /// How many files differ from what is checked out, with those that are new.
    pub(super) async fn changed(&self) -> Result<usize, Fault> {
        Ok(self.differing().await?.changed)
    }

    /// What no commit has: changes, and what git ignores. A directory that is ignored as a whole is one name, and nobody
    /// looks into it.
    pub(super) async fn differing(&self) -> Result<Differing, Fault> {
        let words = ["status", "--porcelain", "-z", "--untracked-files=normal", "--ignored=traditional"];
        let answer = self.try_to(&words).await?;
        let entries = answer.said.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        let (ignored, changed): (Vec<&[u8]>, Vec<&[u8]>) =
            entries.partition(|entry| entry.starts_with(b"!! "));
        let name = |entry: &&[u8]| shown(Path::new(OsStr::from_bytes(&entry[3..]))).to_string();
        Ok(Differing { changed: changed.len(), ignored: ignored.iter().map(name).collect() })
    }

    /// What an earlier worktree of this name has left: at its place, on its branch.
    pub(super) async fn kept(&self, path: &Path, branch: &str) -> Result<Kept, Fault> {
        let full = format!("refs/heads/{branch}");
        if !self.is_so(&["show-ref", "--verify", "--quiet", &full]).await? {
            return Ok(Kept::Nothing);
        }
        let answer = self.try_to(&["worktree", "list", "--porcelain", "-z"]).await?;
        let lines: Vec<&[u8]> = answer.said.split(|byte| *byte == 0).collect();
        // One paragraph for each: its place, what is checked out, its branch.
        let is_it = |told: &&[&[u8]]| {
            let place = [b"worktree ", path.as_os_str().as_bytes()].concat();
            told.contains(&&*place) && told.contains(&format!("branch {full}").as_bytes())
        };
        let is_listed = lines.split(|line| line.is_empty()).any(|told| is_it(&told));
        Ok(if is_listed && path.join(".git").is_file() { Kept::Tree } else { Kept::Branch })
    }

    /// Whether a merge has begun that is not committed.
    pub(super) async fn is_merging(&self) -> Result<bool, Fault> {
        self.is_so(&["rev-parse", "--verify", "--quiet", "MERGE_HEAD"]).await
    }

    /// The files that a merge could not put together, and nobody has told git that they are.
    pub(super) async fn unmerged(&self) -> Result<Vec<PathBuf>, Fault> {
        let answer = self.try_to(&["diff", "--name-only", "--diff-filter=U", "-z"]).await?;
        let names = answer.said.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
    }
}

/// What there is of a worktree that was made before.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    Nothing,
    /// Its branch; the tree is gone.
    Branch,
    Tree,
}

/// What a tree has that no commit has.
pub(super) struct Differing {
    pub(super) changed: usize,
    /// The names of what is ignored.
    pub(super) ignored: Vec<String>,
}

impl Differing {
    /// What would be lost with the tree, if anything would.
    pub(super) fn in_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.changed > 0 {
            words.push(format!("changes in {} files that are not committed", self.changed));
        }
        if !self.ignored.is_empty() {
            words.push(format!("files that git ignores ({})", a_few(&self.ignored)));
        }
        words
    }
}

/// The first of many names.
pub(super) fn a_few(names: &[String]) -> String {
    const FEW: usize = 5;
    let named = names[..names.len().min(FEW)].join(", ");
    match names.len().saturating_sub(FEW) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn runner<'a>(
    kx: &'a KernelCx<'_>,
    directory: &Path,
    workspace: &Path,
    write: Vec<PathBuf>,
) -> Result<Git<'a>, Fault> {
    let cx: &'a Cx = &kx.cx;
    let sandbox = kx.session().sandbox();
    // What rules keep from being read is kept from the model, not from git: it would take a file that it cannot read for
    // one that has changed. Nothing of a file's content is told.
    let grant = Grant {
        confined: sandbox.enabled,
        required: sandbox.required,
        write,
        limits: sandbox.limits.clone(),
        ..Grant::default()
    };
    let here = SessionFacts {
        cwd: directory.to_owned(),
        workspace: workspace.to_owned(),
        ..SessionFacts::clone(&cx.session())
    };
    Git::new(grant, here, cx)
}

pub(super) fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.said).trim_end().to_owned()
}

fn place(answer: &Answer) -> Result<PathBuf, Fault> {
    let path = PathBuf::from(text(answer));
    path.canonicalize().map_err(|err| Fault::io("find", &path, err))
}

/// What git complains about: a few lines, and they may be a stranger's names.
pub(super) fn complaint(answer: &Answer) -> String {
    let lines: Vec<&str> = answer.complaint.lines().take(12).collect();
    let text: String = lines.join("\n").chars().take(2_000).collect();
    if text.is_empty() { "it said nothing".to_owned() } else { text }
}

/// That somebody has to do it themselves.
pub(super) fn by_hand(message: String) -> Fault {
    Fault::denied(Refusal::Protected, message)
}

//! What git is asked to do for a worktree: few words, all of them ours.

use std::{
    ffi::OsString,
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
        let answer = self.try_to(&["status", "--porcelain", "-z", "--untracked-files=normal"]).await?;
        Ok(answer.said.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).count())
    }
}

fn runner<'a>(
    kx: &'a KernelCx<'_>,
    directory: &Path,
    workspace: &Path,
    write: Vec<PathBuf>,
) -> Result<Git<'a>, Fault> {
    let cx: &'a Cx = &kx.cx;
    let sandbox = &kx.session().engine().settings().sandbox;
    // What rules keep from being read is kept from the model, not from git: it would take a file that it cannot read for
    // one that has changed. Nothing of a file's content is told.
    let grant = Grant { confined: sandbox.enabled, required: sandbox.required, write, ..Grant::default() };
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

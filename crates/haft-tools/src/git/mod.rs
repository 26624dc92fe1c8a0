//! `Git`: looks into a repository and changes nothing.
//!
//! The repository is a stranger. Its settings can name programs for almost anything that git does, so three things stand
//! between them and a process, and none counts on another: only words that the table of programs calls harmless are
//! taken (`words`), settings that could run something are overruled (`pinned`, `repository`), and what runs in spite of
//! both can write nothing and reach nobody (the sandbox). What rules keep from being read is also kept from coming out
//! of the history (`withheld`).

mod words; //      which words are taken
pub(crate) mod pinned; // what git is told to be
pub(crate) mod ask; //    a small question to git
pub(crate) mod repository; // which repository this is, and what it would run
mod withheld; //   what rules keep from being shown
mod patterns; //   their patterns, as git understands them
mod report; //     what model and person are told
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod hostile;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use haft_shell::run::Process;
use haft_tool::{
    AbsolutePath, Cx, Effects, Fault, Grant, Limit, PathBase, ReadScope, Reply, SessionFacts, Spec, Tool,
    shown,
};
use schemars::JsonSchema;
use serde::Deserialize;

use ask::Git as Runner;
use repository::Repository;
use withheld::LeftOut;

/// Looks into a git repository: history, differences, state, who wrote what. It changes nothing, so it is not asked about.
///
/// Use it for log, diff, show, status, blame, branch, tag, grep, ls-files, ls-tree, cat-file, rev-parse, rev-list, shortlog,
/// describe, merge-base, reflog, stash list and show, remote -v, worktree list, for-each-ref, config --get and the like.
/// For what changes something or uses the network (add, commit, checkout, merge, push, fetch …) use Bash.
/// There is no shell: no pipes, no quotes, no `$( )`; each word is an element of `args`. To look at less, use git's own
/// options, such as `-n 20`, `--stat`, `--oneline` or `-- path`. An exit code other than 0 is told with what git said.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GitInput {
    /// The words after `git`, each by itself: `["log", "--oneline", "-5"]`, `["diff", "--stat", "main...HEAD"]`.
    args: Vec<String>,
    /// The directory to look from; the current one if it is left out. It takes the place of `-C`.
    #[serde(default = "AbsolutePath::here")]
    cwd: AbsolutePath,
}

/// The tool.
pub(crate) struct Git;

/// How long git may take.
const TIME: Duration = Duration::from_secs(60);

/// The engine's own limit must not cut off what the tool has to say about git taking too long.
const WITH_LAST_WORDS: Duration = Duration::from_secs(TIME.as_secs() + 30);

/// How long git is waited for after it was stopped.
const LAST_WORDS: Duration = Duration::from_millis(400);

impl Tool for Git {
    type Input = GitInput;
    const SPEC: Spec = Spec::new("Git")
        .toolset("readonly")
        .aliases(&["git", "git_read"])
        .search_hint("git history log diff show status blame commit branch tag repository version control")
        // It cuts its output itself, and keeps the whole while it comes.
        .limit(Limit::Bytes(200 * 1024))
        .timeout(WITH_LAST_WORDS);

    fn validate(&self, input: &GitInput) -> Result<(), Fault> {
        words::check(&input.args)
    }

    fn effects_here(&self, input: &GitInput, _: &PathBase) -> Effects {
        words::effects(&input.args, &input.cwd)
    }

    fn describe(&self, input: &GitInput) -> String {
        format!("Run {}", report::command(&input.args))
    }

    async fn call(&self, input: GitInput, cx: &Cx) -> Result<Reply, Fault> {
        let (session, cwd) = (cx.session(), input.cwd.to_path_buf());
        let here = stand(&session, cwd)?;
        let grant = read_only(cx.grant().await?);
        // A repository elsewhere has to be seen to be refused by its name.
        let finder = Runner::new(Grant { reads: ReadScope::Everything, ..grant.clone() }, here.clone(), cx)?;
        let repository = Repository::of(&finder, &session.workspace).await?;
        let runner = Runner::new(grant, here, cx)?;
        let left_out = withheld::left_out(&input.args, &runner, &repository).await?;
        let process = runner.start(all_words(&input.args, &left_out), &repository.pins).await?;
        let ended = wait(&process, cx).await;
        let told = report::Told { args: &input.args, ended: ended.as_ref(), left_out: &left_out.names };
        Ok(process.with_output(|output| told.reply(output)))
    }
}

/// The model's words, what is added to them, and what git must leave out.
fn all_words(args: &[String], left_out: &LeftOut) -> Vec<OsString> {
    let words = words::run(args).into_iter().map(OsString::from);
    words.chain(left_out.words.iter().cloned()).collect()
}

/// The session as it would be in this directory, links resolved.
fn stand(session: &SessionFacts, cwd: PathBuf) -> Result<SessionFacts, Fault> {
    let real = cwd.canonicalize().ok().filter(|real| real.is_dir());
    let Some(cwd) = real else {
        return Err(Fault::failed(format!("`cwd`: {} is no directory; nothing was run", shown(&cwd))));
    };
    Ok(SessionFacts { cwd, ..session.clone() })
}

/// Whatever was granted: nothing is written and nobody reached.
fn read_only(grant: Grant) -> Grant {
    Grant {
        write: Vec::new(),
        make: Vec::new(),
        make_directories: Vec::new(),
        permitted: Vec::new(),
        hosts: Vec::new(),
        ..grant
    }
}

/// The settings that a git finds which a shell starts unasked: the same as one of this tool. A repository that is not the
/// workspace's is refused here, too.
pub(crate) async fn variables_for_shell(
    grant: &Grant,
    session: &SessionFacts,
    cx: &Cx,
) -> Result<Vec<(OsString, OsString)>, Fault> {
    let here = stand(session, session.cwd.clone())?;
    let Ok(runner) = Runner::new(read_only(grant.clone()), here, cx) else {
        return Ok(pinned::variables(&[]));
    };
    let repository = Repository::of(&runner, &session.workspace).await?;
    let submodules = repository.submodule_pins(&runner).await?;
    Ok(pinned::variables(&[repository.pins, submodules].concat()))
}

/// Until it ends, or is stopped and had its time to.
async fn wait(process: &Process, cx: &Cx) -> Option<haft_shell::run::Ended> {
    tokio::select! {
        biased;
        ended = process.ended() => Some(ended),
        () = cx.cancelled() => {
            process.stop();
            tokio::time::timeout(LAST_WORDS, process.ended()).await.ok()
        }
    }
}

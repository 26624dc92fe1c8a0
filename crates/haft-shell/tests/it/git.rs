//! Real git in the real sandbox: ordinary work changes settings, and what could run something does not get through.
#![expect(clippy::disallowed_methods, reason = "a sandbox is tried with processes")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use haft_shell::{
    git_config::compare,
    lookup::linked_repository,
    sandbox::{Confinement, Support},
};

/// A workspace `w` that is a clone of `upstream`, each with a branch `master`.
struct Scene {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

const PREPARE: &str = "
git init -q -b master upstream && cd upstream && git config user.name U && git config user.email u@h.test
git config receive.denyCurrentBranch ignore && echo a > a && git add a && git commit -q -m a && git branch other && cd ..
git clone -q upstream w && cd w && git config user.name U && git config user.email u@h.test && git branch topic";

impl Scene {
    /// `None` where the kernel cannot do what is tried.
    fn new() -> Option<Scene> {
        let support = Support::here();
        if support.namespaces.is_err() || !support.notifications {
            println!("skipped: {support}");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let scene = Scene { _directory: directory, root };
        scene.outside(".", PREPARE);
        Some(scene)
    }

    /// Runs a script without a sandbox.
    #[track_caller]
    fn outside(&self, directory: &str, script: &str) -> String {
        let mut bash = Command::new("bash");
        bash.args(["-ec", script]).current_dir(self.root.join(directory)).stdin(Stdio::null());
        bash.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = bash.output().unwrap();
        assert!(output.status.success(), "{script}: {}", text(&output));
        text(&output)
    }

    fn confined(&self, directory: &str, write: &[&str], script: &str) -> Output {
        self.permitted(directory, write, &[], script)
    }

    /// Runs a script that was permitted to write these protected places.
    fn permitted(&self, directory: &str, write: &[&str], permitted: &[&str], script: &str) -> Output {
        let place = self.root.join(directory);
        let real = |places: &[&str]| places.iter().map(|place| self.root.join(place)).collect();
        let confinement =
            Confinement { write: real(write), permitted: real(permitted), ..Confinement::at(place) };
        let mut bash = Command::new("bash");
        bash.args(["-c", script]);
        let mut guard = confinement.prepare().unwrap().apply(&mut bash).unwrap();
        bash.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = bash.spawn().map_err(|err| guard.explain(err)).unwrap();
        guard.started().unwrap();
        child.wait_with_output().unwrap()
    }

    /// Runs a script in the workspace, which works without a word of failure.
    #[track_caller]
    fn works(&self, script: &str) {
        let output = self.confined("w", &["w", "upstream"], script);
        let said = text(&output);
        let has_failed = ["could not", "fatal:", "error:", "Permission denied", "busy"];
        assert!(
            output.status.success() && !has_failed.iter().any(|word| said.contains(word)),
            "{script}: {said}"
        );
    }

    /// Runs a script in the workspace, which changes no setting that could run or redirect something.
    #[track_caller]
    fn changes_nothing_powerful(&self, script: &str) {
        let settings = self.root.join("w/.git/config");
        let before = fs::read(&settings).unwrap();
        let output = self.confined("w", &["w"], script);
        let after = fs::read(&settings).unwrap_or_default();
        let powerful: Vec<_> =
            compare(&before, &after).into_iter().filter(|change| !change.is_harmless()).collect();
        assert!(powerful.is_empty(), "{script}: {powerful:?} {}", text(&output));
        fs::write(&settings, before).unwrap();
    }

    #[track_caller]
    fn has_setting(&self, key: &str, value: &str) {
        assert_eq!(self.outside("w", &format!("git config {key}")).trim(), value, "{key}");
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn git_commands_that_change_harmless_settings_work() {
    let Some(scene) = Scene::new() else { return };
    scene.works("git checkout -q -b t9 origin/other");
    scene.has_setting("branch.t9.merge", "refs/heads/other");
    scene.works("git branch -q --track t2 origin/master");
    scene.has_setting("branch.t2.remote", "origin");
    scene.works("git branch -m t2 t3");
    scene.has_setting("branch.t3.remote", "origin");
    scene.works("git branch -D t3 && ! git config branch.t3.remote");
    scene.works(
        "git remote add o ../upstream && git fetch -q o && git remote rename o p && git remote remove p",
    );
    scene.works("git config pull.rebase true && git config --unset pull.rebase");
    scene.works("echo b > b && git add b && git commit -q -m b && git push -q -u origin HEAD:new");
    scene.has_setting("branch.t9.merge", "refs/heads/new");
    scene.works("git gc -q && git pack-refs --all && git fsck --no-dangling");
    scene.works("echo c >> a && git stash -q && git stash pop -q && git checkout -q a && git merge -q topic");
    scene.works("git rebase -q origin/other && git tag v1 && git switch -q master && git reset -q --hard");
    scene.works("git sparse-checkout set --cone x && git sparse-checkout disable");
}

#[test]
fn settings_that_run_or_redirect_something_do_not_get_through() {
    let Some(scene) = Scene::new() else { return };
    for script in [
        "git config core.fsmonitor ./x",
        "git config alias.st '!x'",
        "git config core.hooksPath hooks",
        "git config include.path ../x",
        "git config remote.origin.url 'ext::sh -c x'",
        "git remote add e 'ext::sh -c x'",
        "git config url.ext::sh.insteadOf https:",
        "git config --file .git/config core.pager x",
        "printf '[core]\\nfsmonitor = ./x\\n' >> .git/config",
        "cp .git/config c && printf '[alias]\\nx = !x\\n' >> c && mv -f c .git/config",
        "git clone -q -c core.fsmonitor=./x ../upstream n && cp n/.git/config .git/config",
        "ln -sf ../x .git/config",
        "rm -f .git/config && printf '[core]\\nfsmonitor = ./x\\n' > .git/config",
    ] {
        scene.changes_nothing_powerful(script);
    }
}

#[test]
fn worktrees_and_submodules_are_added_after_a_yes() {
    let Some(scene) = Scene::new() else { return };
    fs::create_dir(scene.root.join("x")).unwrap();
    let permitted = ["w/.git/worktrees"];
    let script = "git worktree add -q ../x topic && git -C ../x status --short";
    let output = scene.permitted("w", &["w", "x"], &permitted, script);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(linked_repository(&scene.root.join("x")).unwrap(), scene.root.join("w/.git"));
    let script = "git worktree add -q inner other && git worktree remove inner && git worktree prune";
    let output = scene.permitted("w", &["w"], &permitted, script);
    assert!(output.status.success(), "{}", text(&output));
    let script = "git -c protocol.file.allow=always submodule --quiet add ../upstream sub && git -C sub status --short";
    let output = scene.permitted("w", &["w"], &["w/.git/config", "w/.gitmodules"], script);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(
        scene.outside("w/sub", "git rev-parse --show-toplevel").trim(),
        scene.root.join("w/sub").to_str().unwrap()
    );
}

#[test]
fn new_repositories_are_made_with_ordinary_settings() {
    let Some(scene) = Scene::new() else { return };
    scene.works("mkdir n && cd n && git init -q && git config user.name x && git config user.email x@h.test && git commit -q --allow-empty -m x");
    scene.works("git clone -q ../upstream c && git -C c log --oneline");
    scene.works("mkdir e && cd e && git clone -q ../../upstream . && ls -A");
}

#[test]
fn a_linked_worktree_commits_to_its_repository_and_no_hook() {
    let Some(scene) = Scene::new() else { return };
    scene.outside("w", "git worktree add -q ../linked topic");
    let workspace = scene.root.join("linked");
    let common = linked_repository(&workspace).unwrap();
    assert_eq!(common, scene.root.join("w/.git"));
    let run = |script: &str| scene.confined("linked", &["linked", "w/.git"], script);
    let output = run("echo b > b && git add b && git commit -q -m b && git checkout -q -b n origin/other");
    assert!(output.status.success(), "{}", text(&output));
    scene.has_setting("branch.n.merge", "refs/heads/other");
    let hook = Path::new("w/.git/hooks/pre-commit");
    let output = run("echo x > ../w/.git/hooks/pre-commit; git config core.fsmonitor ./x");
    assert!(!scene.root.join(hook).exists(), "{}", text(&output));
    assert!(!scene.outside("w", "cat .git/config").contains("fsmonitor"));
}

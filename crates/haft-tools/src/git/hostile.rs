//! Repositories that try to run something. Each plant is shown to work with plain git first: otherwise the test would
//! prove nothing. There is no sandbox around git here, because it would hide a program that ran.

use std::fs;

use serde_json::json;

use super::tests::{Desk, shell};

/// How a repository tries it.
struct Plant {
    what: &'static str,
    /// What makes it so. `$EVIL` is a program that leaves a mark; after an `@` is one of the texts below.
    made_by: &'static str,
    /// Where, below the workspace.
    at: &'static str,
    /// The words by which plain git falls for it; empty if today's git never does.
    control: &'static str,
}

const fn plant(what: &'static str, made_by: &'static str, control: &'static str) -> Plant {
    Plant { what, made_by, at: ".", control }
}

const PLANTS: &[Plant] = &[
    plant("a file system monitor", "git config core.fsmonitor $EVIL", "status"),
    plant("an external diff", "git config diff.external $EVIL; echo x >> a.txt", "diff"),
    plant(
        "a diff driver",
        "echo '* diff=d' > .gitattributes; git config diff.d.command $EVIL; echo x >> a.txt",
        "diff",
    ),
    plant("a text conversion", "echo '* diff=d' > .gitattributes; git config diff.d.textconv $EVIL", "show"),
    plant(
        "a text conversion in blame",
        "echo '* diff=d' > .gitattributes; git config diff.d.textconv $EVIL",
        "blame a.txt",
    ),
    plant(
        "attributes in .git",
        "echo '* diff=d' > .git/info/attributes; git config diff.d.textconv $EVIL",
        "log -p",
    ),
    plant(
        "a clean filter",
        "echo '* filter=f' > .gitattributes; git config filter.f.clean $EVIL; echo x >> a.txt",
        "diff",
    ),
    plant(
        "a clean filter of a file with the same size",
        "echo '* filter=f' > .gitattributes; git config filter.f.clean $EVIL; echo eno > a.txt",
        "status",
    ),
    plant(
        "a filter process",
        "echo '* filter=f' > .gitattributes; git config filter.f.process $EVIL; git config filter.f.required true; echo x >> a.txt",
        "diff",
    ),
    plant(
        "a filter with a name of colours",
        r#"printf '* filter=\033[1mf\n' > .gitattributes; git config "filter.$(printf '\033[1mf').clean" $EVIL; echo x >> a.txt"#,
        "diff",
    ),
    plant(
        "a filter of another case",
        "echo '* filter=Ff' > .gitattributes; printf '[FILTER \"Ff\"]\\n CLEAN = %s\\n' $EVIL >> .git/config; echo x >> a.txt",
        "diff",
    ),
    plant(
        "a filter by inclusion",
        "echo '* filter=f' > .gitattributes; printf '[filter \"f\"]\\nclean = %s\\n' $EVIL > c; git config include.path ../c; echo x >> a.txt",
        "diff",
    ),
    plant(
        "a filter for hash-object",
        "echo '* filter=f' > .gitattributes; git config filter.f.clean $EVIL",
        "hash-object a.txt",
    ),
    plant(
        "a monitor by inclusion",
        "printf '[core]\\nfsmonitor = %s\\n' $EVIL > c; git config include.path ../c",
        "status",
    ),
    plant(
        "a monitor by conditional inclusion",
        "printf '[core]\\nfsmonitor = %s\\n' $EVIL > c; git config includeIf.onbranch:main.path ../c",
        "status",
    ),
    plant(
        "worktree settings",
        "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $EVIL",
        "status",
    ),
    plant("a hook", "cp $EVIL .git/hooks/post-index-change; sleep 1; touch a.txt", "status"),
    plant(
        "a directory of hooks",
        "mkdir h; cp $EVIL h/post-index-change; git config core.hooksPath h; sleep 1; touch a.txt",
        "status",
    ),
    plant(
        "signatures in the format",
        "git config gpg.program $EVIL; git config format.pretty %G?; @signed",
        "log",
    ),
    plant(
        "signatures that are shown",
        "git config gpg.program $EVIL; git config log.showSignature true; @signed",
        "log",
    ),
    plant(
        "signatures of another kind",
        "git config gpg.ssh.program $EVIL; git config gpg.ssh.allowedSignersFile /dev/null; git config format.pretty %G?; @signed-by-ssh",
        "log",
    ),
    plant(
        "a remote that has what is missing",
        "git config core.sshCommand $EVIL; git config core.repositoryformatversion 1; git config extensions.partialClone o; git config remote.o.url ssh://h/r; git config remote.o.promisor true; rm -f .git/objects/56/26*",
        "show HEAD:a.txt",
    ),
    plant(
        "a transport that is a program",
        "git config protocol.ext.allow always; git config core.repositoryformatversion 1; git config extensions.partialClone o; git config remote.o.url \"ext::$EVIL x\"; git config remote.o.promisor true; rm -f .git/objects/56/26*",
        "show HEAD:a.txt",
    ),
    plant(
        "references of another repository",
        "git init -q o; git -C o -c user.name=x -c user.email=x commit -q --allow-empty -m x; echo $PWD/o/.git/objects > .git/objects/info/alternates; git config core.alternateRefsCommand $EVIL",
        "log --alternate-refs",
    ),
    plant("a submodule's monitor", "@submodule; git -C m config core.fsmonitor $EVIL", "status"),
    plant(
        "a submodule's filter",
        "@submodule; echo '* filter=f' > .git/modules/m/info/attributes; git -C m config filter.f.clean $EVIL; echo eno > m/a.txt",
        "diff",
    ),
    plant(
        "a pager",
        "git config core.pager $EVIL; git config pager.log $EVIL; git config pager.status $EVIL",
        "",
    ),
    plant(
        "aliases",
        "for a in log status diff show blame whatchanged; do git config alias.$a \"!$EVIL\"; done",
        "",
    ),
    Plant {
        what: "a nested bare repository",
        made_by: "git init -q --bare b; git -C b config core.fsmonitor $EVIL; git -C b config core.bare false; git -C b config core.worktree $PWD",
        at: "b",
        control: "status",
    },
];

const SIGN: &str = "git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\\n \\n x\\n -----END PGP SIGNATURE-----' \
    | git hash-object -t commit -w --stdin | xargs git reset -q --hard";
const SIGN_SSH: &str = "git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN SSH SIGNATURE-----\\n x\\n -----END SSH SIGNATURE-----' \
    | git hash-object -t commit -w --stdin | xargs git reset -q --hard";
const SUBMODULE: &str = "git clone -q . ../$(basename $PWD)-m; git -c protocol.file.allow=always submodule --quiet add $PWD/../$(basename $PWD)-m m; \
    rm -rf ../$(basename $PWD)-m; git commit -qm m";

/// What is tried in each.
const LOOKS: &[&str] = &[
    "status",
    "diff",
    "diff HEAD --stat",
    "log -p",
    "show HEAD:a.txt",
    "blame a.txt",
    "grep one",
    "ls-files -m",
    "diff-files -p",
    "describe --always",
    "hash-object a.txt",
    "range-diff --root HEAD HEAD",
];

/// What is tried in one that has them all.
const MORE_LOOKS: &[&str] = &[
    "status",
    "status --short",
    "diff",
    "diff HEAD",
    "diff --stat",
    "diff --cached",
    "log",
    "log -p",
    "log --all --stat",
    "log --alternate-refs",
    "show",
    "show HEAD:a.txt",
    "blame a.txt",
    "blame -C -C a.txt",
    "annotate a.txt",
    "grep -n one",
    "grep one HEAD",
    "ls-files -m",
    "ls-files --others",
    "ls-files --eol",
    "diff-files -p",
    "diff-index -p HEAD",
    "diff-tree -p --root HEAD",
    "whatchanged -p",
    "reflog -p",
    "stash list",
    "stash show",
    "describe --always",
    "rev-parse HEAD",
    "branch -vv",
    "tag -n",
    "for-each-ref",
    "shortlog HEAD",
    "cat-file -p HEAD:a.txt",
    "hash-object a.txt",
    "check-attr -a a.txt",
    "fsck",
    "submodule status",
    "worktree list",
    "range-diff HEAD HEAD HEAD",
    "range-diff --root HEAD HEAD",
    "config --list",
    "remote -v",
    "var GIT_PAGER",
    "diff --ignore-submodules",
    "status --ignore-submodules=all",
    "ls-files -s --recurse-submodules",
    "log --submodule=log -p",
    "version",
];

#[test]
fn no_repository_makes_git_run_its_programs() {
    for plant in PLANTS {
        let (desk, evil) = (Desk::build("", &[], false), Evil::new());
        let made = evil.plant(&desk, plant);
        let control = (!plant.control.is_empty()).then_some(&plant.control);
        for words in LOOKS.iter().chain(control) {
            let text = look(&desk, words, plant.at);
            assert!(!evil.has_run(), "{}: `git {words}` ran it and said {text}", plant.what);
        }
        if let Some(control) = control {
            let at = desk.workspace.root().join(plant.at);
            let said = shell(&at, &format!("git {control} </dev/null"));
            assert!(evil.has_run(), "{}: plain git does not run it either: {made}{said}", plant.what);
        }
    }
}

#[test]
fn no_subcommand_runs_what_a_repository_has_planted_everywhere() {
    let (desk, evil) = (Desk::build("", &[], false), Evil::new());
    PLANTS
        .iter()
        .filter(|plant| !plant.made_by.contains("remote.o"))
        .for_each(|plant| drop(evil.plant(&desk, plant)));
    for words in MORE_LOOKS {
        let text = look(&desk, words, ".");
        assert!(!evil.has_run(), "`git {words}` ran it and said {text}");
    }
    shell(desk.workspace.root(), "git status; git diff");
    assert!(evil.has_run(), "plain git does not run it either");
}

#[test]
fn a_command_that_nobody_approved_runs_no_program_of_the_repository() {
    for plant in PLANTS {
        let (desk, evil) = (Desk::build("", &[], false), Evil::new());
        evil.plant(&desk, plant);
        let control = (!plant.control.is_empty()).then_some(&plant.control);
        for words in ["status", "diff", "log -p", "diff HEAD --stat"].iter().chain(control) {
            let place = if plant.at == "." { String::new() } else { format!("-C {} ", plant.at) };
            let text = run(&desk, &format!("git {place}{words}"));
            assert!(!evil.has_run(), "{}: `git {words}` ran it and said {text}", plant.what);
        }
    }
}

#[test]
fn no_command_that_nobody_approved_runs_what_is_planted_everywhere() {
    let (desk, evil) = (Desk::build("", &[], false), Evil::new());
    PLANTS
        .iter()
        .filter(|plant| !plant.made_by.contains("remote.o"))
        .for_each(|plant| drop(evil.plant(&desk, plant)));
    for words in MORE_LOOKS {
        let text = run(&desk, &format!("git {words}"));
        assert!(!evil.has_run(), "`git {words}` ran it and said {text}");
    }
    let last = run(&desk, "cat a.txt | grep -c . && git log --oneline | wc -l && env git status --short");
    assert!(last.contains('\n') && !evil.has_run(), "{last}");
}

#[test]
fn a_session_that_went_to_another_repository_is_asked_about_git() {
    let (desk, evil) = (Desk::build("mkdir sub", &[], false), Evil::new());
    evil.plant(&desk, PLANTS.last().unwrap());
    assert!(run(&desk, "cd sub").ends_with("sub]"));
    assert!(run(&desk, "git log --oneline").contains("first"));
    assert!(run(&desk, "cd ../b").ends_with("b]"));
    let text = run(&desk, "git status");
    assert!(text.contains("git in another directory") && !evil.has_run(), "{text}");
}

#[test]
fn a_command_that_was_approved_runs_with_the_settings_of_the_repository() {
    let (desk, evil) = (Desk::allowing(&["Bash"], false), Evil::new());
    evil.plant(&desk, &PLANTS[0]);
    let text = run(&desk, "git status");
    assert!(evil.has_run(), "{text}");
}

fn run(desk: &Desk, command: &str) -> String {
    desk.call("Bash", json!({ "command": command })).text()
}

/// A program that leaves a mark, outside the workspace.
struct Evil(tempfile::TempDir);

impl Evil {
    fn new() -> Evil {
        let evil = Evil(tempfile::tempdir().unwrap());
        let program = format!("#!/bin/sh\necho ran >> {}\nexit 1\n", evil.0.path().join("mark").display());
        fs::write(evil.0.path().join("evil"), program).unwrap();
        evil
    }

    /// Makes the repository so, and forgets what ran meanwhile.
    fn plant(&self, desk: &Desk, plant: &Plant) -> String {
        let made_by = plant.made_by.replace("@signed-by-ssh", SIGN_SSH).replace("@signed", SIGN);
        let made_by = made_by.replace("@submodule", SUBMODULE);
        let program = self.0.path().join("evil");
        let said =
            shell(desk.workspace.root(), &format!("chmod +x {0}; EVIL={0}; {made_by}", program.display()));
        let _ = fs::remove_file(self.0.path().join("mark"));
        said
    }

    fn has_run(&self) -> bool {
        self.0.path().join("mark").exists()
    }
}

fn look(desk: &Desk, words: &str, at: &str) -> String {
    desk.result(json!({ "args": words.split(' ').collect::<Vec<_>>(), "cwd": at })).text()
}

//! What model and person see of a repository, and what rules keep out of it.

use std::{path::Path, process::Command};

use haft_engine::{
    Call, Session,
    policy::{Origin, Rules},
    result::ToolResult,
};
use haft_testkit::{Workspace, engine, session};
use haft_tool::{FaultKind, Refusal, View};
use serde_json::{Value, json};

/// A repository that somebody looks into, with whatever is called `git` here.
pub(super) struct Desk {
    pub(super) workspace: Workspace,
    session: Session,
    runtime: tokio::runtime::Runtime,
}

impl Desk {
    /// A workspace after these commands, with rules that deny this.
    pub(super) fn new(commands: &str, denied: &[&str]) -> Desk {
        Desk::build(commands, denied, true)
    }

    pub(super) fn build(commands: &str, denied: &[&str], confined: bool) -> Desk {
        Desk::with_rules(commands, Rules::denying(denied.iter().copied(), Origin::Session), confined)
    }

    pub(super) fn allowing(allowed: &[&str], confined: bool) -> Desk {
        Desk::with_rules("", Rules::allowing(allowed.iter().copied(), Origin::Session), confined)
    }

    fn with_rules(commands: &str, rules: Rules, confined: bool) -> Desk {
        let workspace = Workspace::new("-- a.txt\none\n");
        shell(workspace.root(), BEGIN);
        shell(workspace.root(), commands);
        let engine = engine(&workspace).tools(crate::builtin()).rules(rules);
        let engine = engine.settings(|settings| settings.sandbox.enabled = confined).build().unwrap();
        let session = session(&engine, &workspace);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Desk { workspace, session, runtime }
    }

    pub(super) fn result(&self, input: Value) -> ToolResult {
        self.call("Git", input)
    }

    pub(super) fn call(&self, tool: &str, input: Value) -> ToolResult {
        self.runtime.block_on(self.session.call(Call::new("1", tool, input)))
    }

    /// What the model reads, with the place of the workspace as `/w`.
    pub(super) fn git(&self, words: &str) -> String {
        self.short(&self.result(json!({ "args": words.split(' ').collect::<Vec<_>>() })).text())
    }

    fn short(&self, text: &str) -> String {
        text.replace(&self.workspace.root().display().to_string(), "/w")
    }

    fn view(&self, words: &str) -> View {
        self.runtime.block_on(async {
            let turn = self.session.live_turn();
            let input = json!({ "args": words.split(' ').collect::<Vec<_>>() });
            turn.push(Call::new("1", "Git", input)).unwrap();
            turn.results().await.remove(0).view.expect("somebody watches").as_ref().clone()
        })
    }
}

/// The same commits everywhere: names, dates and so hashes.
const BEGIN: &str = "git init -q -b main . && git config user.name Ann && git config user.email ann@x && \
    printf '.results\\n' > .git/info/exclude && git add . && git commit -qm first";

/// Runs commands that make a repository, without a developer's own settings.
#[expect(clippy::disallowed_methods, reason = "a repository is made by git itself")]
pub(crate) fn shell(directory: &Path, commands: &str) -> String {
    let mut bash = Command::new("/bin/bash");
    bash.args(["-ec", commands]).current_dir(directory);
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z"),
        ("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z"),
    ] {
        bash.env(name, value);
    }
    let output = bash.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_model_reads_what_git_says() {
    let desk = Desk::new("echo two >> a.txt; echo new > b.txt", &[]);
    let cases = [
        ("status --short", " M a.txt\n?? b.txt"),
        ("log --oneline --no-decorate", "4152009 first"),
        ("diff --stat", " a.txt | 1 +\n 1 file changed, 1 insertion(+)"),
        (
            "diff",
            "diff --git a/a.txt b/a.txt\nindex 5626abf..814f4a4 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+two",
        ),
        ("branch", "* main"),
        ("ls-files", "a.txt"),
        ("show HEAD:a.txt", "one"),
        ("config --get user.name", "Ann"),
        ("stash list", "[no output]"),
        ("rev-parse --abbrev-ref HEAD", "main"),
    ];
    cases.into_iter().for_each(|(words, expected)| assert_eq!(desk.git(words), expected, "{words}"));
}

#[test]
fn what_git_refuses_is_told_with_its_exit_code() {
    let desk = Desk::new("", &[]);
    let result = desk.result(json!({ "args": ["log", "nowhere"] }));
    assert_eq!(result.fault.as_ref().map(|fault| fault.kind), Some(FaultKind::Failed));
    assert!(result.text().starts_with("fatal: ambiguous argument 'nowhere'"), "{}", result.text());
    assert!(result.text().ends_with("[exit code 128]"), "{}", result.text());
    assert_eq!(result.meta.notes["exit_code"], json!(128));
}

#[test]
fn it_looks_from_where_it_is_told() {
    let desk = Desk::new("mkdir sub; echo x > sub/c.txt; git add .; git commit -qm second", &[]);
    let from = |cwd: &str, args: Value| desk.short(&desk.result(json!({ "args": args, "cwd": cwd })).text());
    assert_eq!(from("sub", json!(["ls-files"])), "c.txt");
    assert_eq!(from("gone", json!(["ls-files"])), "`cwd`: /w/gone is no directory; nothing was run");
}

#[test]
fn what_is_more_than_looking_is_not_taken_and_the_word_is_named() {
    let desk = Desk::new("", &[]);
    let check = |words: &str, word: &str| {
        let told = desk.git(words);
        assert!(told.starts_with(&format!("the word `{word}` is not taken: ")), "{words}: {told}");
    };
    check("commit -m x", "commit");
    check("push", "push");
    check("frobnicate", "frobnicate");
    check("branch -D main", "-D");
    check("branch new", "new");
    check("diff --output=x", "--output=x");
    check("diff --ext-diff", "--ext-diff");
    check("log -p --textconv", "--textconv");
    check("log --format=%G?", "--format=%G?");
    check("log --show-signature", "--show-signature");
    check("grep -O x", "-O");
    check("stash pop", "stash");
    check("config user.name Eve", "Eve");
    check("cat-file --filters HEAD:a.txt", "--filters");
    check("-c core.pager=x log", "-c");
    check("-C /tmp log", "-C");
    check("diff --submodule=diff", "--submodule=diff");
    check("describe --dirty", "--dirty");
    check("fetch origin", "fetch");
}

#[test]
fn words_that_are_no_command_are_explained() {
    let desk = Desk::new("", &[]);
    let told = |args: Value| desk.result(json!({ "args": args })).text();
    assert_eq!(told(json!([])), "`args` is empty; give the words after `git`, such as [\"status\"]");
    assert_eq!(told(json!(["git", "log"])), "`args` begins after `git`: leave that word out");
    let one = told(json!(["log --oneline"]));
    assert_eq!(
        one,
        "`args` takes each word by itself: [\"log\", \"--oneline\"] instead of [\"log --oneline\"]"
    );
    assert!(told(json!(["log", "a\0b"])).contains("NUL character"));
    assert!(told(json!(["log", "x".repeat(200_000)])).contains("name fewer paths"));
}

#[test]
fn a_look_is_not_asked_about_and_others_may_look_meanwhile() {
    let desk = Desk::new("", &[]);
    let call = Call::new("1", "Git", json!({ "args": ["show", "HEAD:a.txt"] }));
    let explained = desk.runtime.block_on(desk.session.explain(call)).unwrap();
    assert_eq!(
        desk.short(&explained.effects.to_string()),
        "reads /w, reads /w/a.txt, runs git show HEAD:a.txt"
    );
    assert!(explained.effects.is_read_only() && explained.effects.is_concurrency_safe());
}

#[test]
fn the_person_sees_a_difference_as_one() {
    let desk = Desk::new("echo two >> a.txt", &[]);
    let View::List(parts) = desk.view("diff") else { panic!("a list") };
    assert_eq!(parts[0], View::text("$ git diff"));
    assert!(matches!(&parts[1], View::Diff { unified, .. } if unified.ends_with("+two\n")), "{parts:?}");
    let View::List(parts) = desk.view("log --format=%s") else { panic!("a list") };
    assert_eq!(parts[0], View::text("$ git log --format=%s"));
    assert!(matches!(&parts[1], View::Code { text, .. } if text == "first\n"), "{parts:?}");
}

#[test]
fn a_look_leaves_the_repository_as_it_was_with_and_without_a_sandbox() {
    for confined in [true, false] {
        let desk = Desk::build("sleep 1; touch a.txt", &[], confined);
        let state = "find .git -type f -exec md5sum {} + | sort; find .git | wc -l";
        let before = shell(desk.workspace.root(), state);
        for words in ["diff", "status", "log -p", "describe --always", "show", "blame a.txt", "ls-files -m"] {
            desk.git(words);
        }
        assert_eq!(shell(desk.workspace.root(), state), before, "confined: {confined}");
    }
}

/// A secret in the work tree, in the history, in a stash, and under a name that is gone.
const SECRETS: &str = "mkdir sub keys; echo SECRET-1 > keys/one; echo plain > sub/plain; echo SECRET-2 > sub/token; \
    git add .; git commit -qm second; echo SECRET-3 >> keys/one; echo more >> a.txt; git stash -q; \
    echo SECRET-4 >> keys/one; echo other >> a.txt; git tag blob $(git rev-parse HEAD:keys/one); \
    git tag tree $(git rev-parse HEAD:keys); git config --file keys/config a.b SECRET-5; git add .; git commit -qm third; \
    echo SECRET-6 >> keys/one; echo last >> a.txt";

fn guarded(confined: bool) -> Desk {
    Desk::build(SECRETS, &["Read(keys/**)", "Read(sub/token)"], confined)
}

#[test]
fn what_a_rule_keeps_from_being_read_does_not_come_out_of_the_history() {
    for confined in [true, false] {
        let desk = guarded(confined);
        let hash =
            |name: &str| shell(desk.workspace.root(), &format!("git rev-parse {name}")).trim().to_owned();
        let (blob, tree) = (hash("HEAD:keys/one"), hash("HEAD:keys"));
        let hash_of_blob =
            [format!("show {blob}"), format!("cat-file -p {blob}"), format!("diff {blob} HEAD:a.txt")];
        let hash_of_tree =
            [format!("grep SECRET {tree}"), format!("diff {tree} {tree}~0"), format!("show {}", &blob[..8])];
        let others = [
            "diff",
            "diff HEAD",
            "diff HEAD~1",
            "diff HEAD~2 HEAD",
            "diff HEAD~2..HEAD",
            "log -p",
            "log -p --all",
            "show",
            "show HEAD~1",
            "show HEAD stash",
            "log -p -- keys",
            "log -p keys",
            "log -p -- .",
            "log -p --full-diff -- a.txt",
            "diff HEAD~1 -- keys/one a.txt",
            "diff HEAD~1:keys HEAD:keys",
            "diff HEAD~1:",
            "show HEAD:keys/one",
            "show HEAD:./keys/one",
            "show :keys/one",
            "show :0:keys/one",
            "show HEAD^{/a:b}:keys/one",
            "show blob",
            "show tree",
            "show --tags",
            "show --all",
            "cat-file -p HEAD:keys/one",
            "cat-file blob blob",
            "cat-file blob HEAD:keys/one",
            "cat-file --batch --batch-all-objects",
            "cat-file --batch-all-objects --batch=%(objectname)",
            "grep SECRET",
            "grep SECRET HEAD",
            "grep SECRET -- keys",
            "grep --no-index SECRET",
            "grep SECRET HEAD:keys",
            "grep SECRET tree",
            "blame keys/one",
            "blame HEAD -- keys/one",
            "log -L1,2:keys/one",
            "log -p --follow keys/one",
            "status -v",
            "status -vv",
            "stash show -p",
            "stash list -p",
            "reflog -p",
            "reflog show -p",
            "diff-tree -p HEAD~2 HEAD",
            "diff-index -p HEAD",
            "diff-files -p",
            "diff --no-index a.txt keys/one",
            "range-diff HEAD~2 HEAD~1 HEAD",
            "log -p --invert-grep --grep",
            "log -p --author",
            "whatchanged -p",
            "log -p -m --cc stash",
            "log -p --merges -c --all",
            "config --blob=HEAD:keys/config --list",
            "config --file keys/config --list",
            "for-each-ref --format=%(raw)",
            "tag --list --format=%(raw)",
            "log -p -S SECRET",
            "log -G SECRET -p --pickaxe-all",
            "show HEAD:keys/../keys/one",
            "diff HEAD~1 :(top)keys",
            "log -p --remerge-diff stash",
            "rev-list --objects --all --filter=blob:none",
            "show stash^3",
            "show stash@{0}",
            "log -p -g",
            "log -p --no-walk --tags",
            "diff blob tree",
        ];
        let all = others.into_iter().map(str::to_owned).chain(hash_of_blob).chain(hash_of_tree);
        for words in all {
            let told = desk.git(&words);
            assert!(!told.contains("SECRET-"), "confined: {confined}, {words}: {told}");
        }
    }
}

#[test]
fn what_a_pattern_covers_does_not_come_out_of_the_history_after_it_is_gone() {
    let gone = "mkdir -p x/conf conf; echo SECRET-1 > .env; echo SECRET-2 > x/.env; echo SECRET-3 > conf/a.pem; \
        echo SECRET-4 > conf/b.key; echo plain > x/b.txt; git add -f .; git commit -qm added; git tag old; \
        git rm -q .env x/.env conf/*; git commit -qm removed";
    let desk = Desk::new(gone, &["Read(**/.env)", "Read(conf/*.{pem,key})"]);
    for words in [
        "log -p",
        "show",
        "show old",
        "diff old HEAD",
        "diff old:x HEAD:x",
        "diff old:conf HEAD:x",
        "show old:.env",
        "show old:x/.env",
        "show old:conf/a.pem",
        "grep SECRET old",
        "grep SECRET old:conf",
        "log -p --all -- conf",
        "cat-file -p old:.env",
        "whatchanged -p",
    ] {
        let told = desk.git(words);
        assert!(!told.contains("SECRET-"), "{words}: {told}");
    }
    let from_x = |args: &[&str]| desk.result(json!({ "args": args, "cwd": "x" })).text();
    assert!(!from_x(&["show", "old:conf/a.pem"]).contains("SECRET-"));
    assert_eq!(from_x(&["show", "old:./b.txt"]), "plain");
    assert_eq!(
        desk.git("show --format=%s --name-only old"),
        "added\n\nx/b.txt\n[left out, because a rule keeps it from being read: **/.env, *.{pem,key}]"
    );
}

#[test]
fn the_rest_is_shown_and_what_was_left_out_is_told() {
    let desk = guarded(true);
    assert_eq!(
        desk.git("diff --stat"),
        " a.txt | 1 +\n 1 file changed, 1 insertion(+)\n\
         [left out, because a rule keeps it from being read: keys, sub/token]"
    );
    assert_eq!(desk.git("show HEAD:sub/plain"), "plain");
    assert_eq!(desk.git("ls-tree --name-only HEAD"), "a.txt\nkeys\nsub");
    assert!(desk.git("cat-file -p HEAD").contains("\nthird"));
    assert!(desk.git("log -p -1").contains("+other"));
    assert!(desk.git("diff HEAD~1 HEAD").contains("+other"));
    assert!(desk.git("diff a.txt").contains("+last"));
    let refused = desk.result(json!({ "args": ["show", "HEAD:keys/one"] })).fault.unwrap();
    assert_eq!((refused.kind, refused.refusal), (FaultKind::Denied, Some(Refusal::Rule)));
    let refused = desk.git("stash show -p");
    assert_eq!(
        refused,
        "a rule keeps /w/keys and more from being read, and in this form git could show it\nuse `diff stash@{0}^ stash@{0}`"
    );
}

#[test]
fn a_path_in_the_history_begins_at_the_top_wherever_the_call_stands() {
    let desk = guarded(true);
    let from_sub = |args: &[&str]| desk.result(json!({ "args": args, "cwd": "sub" })).text();
    for args in [["show", "HEAD:keys/one"], ["show", "HEAD:../keys/one"], ["cat-file", "HEAD:./token"]] {
        assert!(!from_sub(&args).contains("SECRET-"), "{args:?}");
    }
    assert_eq!(from_sub(&["show", "HEAD:./plain"]), "plain");
}

/// A repository outside the workspace, with something in it that nobody here was asked about.
fn elsewhere() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    shell(place.path(), BEGIN);
    shell(
        place.path(),
        "echo PRIVATE > p; git add .; git commit -qm private; git config extensions.worktreeConfig true",
    );
    place
}

#[test]
fn a_repository_elsewhere_is_not_reached_by_the_word_of_the_workspace() {
    let detours = [
        "rm -rf .git; echo gitdir: OUT/.git > .git",
        "rm -rf .git; ln -s OUT/.git .git",
        "echo OUT/.git > .git/commondir",
        "echo OUT/.git > .git/commondir; printf '[core]\\nworktree = %s\\n' $PWD > .git/config.worktree",
        "git -C OUT worktree add -q OUT/w; rm -rf .git; echo gitdir: OUT/.git/worktrees/w > .git",
        "git config core.worktree OUT",
        "git config core.worktree /",
    ];
    for detour in detours {
        let places = [elsewhere(), elsewhere()];
        let commands =
            places.each_ref().map(|place| detour.replace("OUT", &place.path().display().to_string()));
        let desk = Desk::new(&commands[0], &[]);
        // Where there is no sandbox, nothing else keeps git from there.
        let open = Desk::build(&commands[1], &[], false);
        for words in ["log -p --all", "show HEAD:p", "grep PRIVATE", "diff HEAD", "ls-files"] {
            let confined = desk.git(words);
            assert!(
                !confined.contains("+PRIVATE") && !confined.starts_with('p'),
                "{detour}, {words}: {confined}"
            );
            let told = open.git(words);
            assert!(
                told.starts_with("nothing was run: here git finds a repository in "),
                "{detour}, {words}: {told}"
            );
        }
    }
}

#[test]
fn a_worktree_that_its_repository_knows_is_a_repository() {
    let place = elsewhere();
    let commands = format!("rm -rf .git a.txt; git -C {} worktree add -q $PWD -b w", place.path().display());
    assert_eq!(Desk::new(&commands, &[]).git("ls-files"), "p");
}

#[test]
fn where_there_is_no_repository_git_says_so() {
    let told = Desk::new("rm -rf .git", &[]).git("status");
    assert!(told.starts_with("fatal: not a git repository"), "{told}");
    let inside =
        Desk::new("", &["Read(keys)"]).result(json!({ "args": ["log", "--format=%s"], "cwd": ".git" }));
    assert!(inside.text().contains("set `cwd` to where the repository's files are"), "{}", inside.text());
}

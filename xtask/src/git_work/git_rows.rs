//! What people do with git all day.

use super::sequence::{Sequence, run};

pub(super) const ROWS: &[Sequence] = &[
    Sequence::new("commit", "project", &[run("echo new > n.txt && git add n.txt && git commit -m 'Add n'")]),
    Sequence::new(
        "checkout a remote branch",
        "topic; git -C w push -q origin topic; git -C w checkout -q master; git -C w branch -q -D topic",
        &[run("git checkout -b t9 origin/topic")],
    ),
    Sequence::new("switch by guess", "topic; git -C w push -q origin topic; git -C w checkout -q master; git -C w branch -q -D topic", &[
        run("git switch topic"),
    ]),
    Sequence::new("branch --track", "project", &[run("git branch --track t2 origin/master")]),
    Sequence::new("branch -m", "topic; git -C w branch -q -u origin/master", &[run("git branch -m topic topic2")]),
    Sequence::new("branch -D", "project; git -C w branch -q --track t2 origin/master", &[run("git branch -D t2")]),
    Sequence::new("branch --set-upstream-to", "topic", &[
        run("git branch --set-upstream-to=origin/master"),
        run("git branch --unset-upstream"),
    ]),
    Sequence::new("remote add, rename, set-url, remove", "project", &[
        run("git remote add upstream https://example.org/up.git"),
        run("git remote rename upstream up"),
        run("git remote set-url up ssh://git@example.org/up.git"),
        run("git remote add gone https://example.org/gone.git && git remote remove gone"),
    ]),
    Sequence::new("config of harmless keys", "project", &[
        run("git config pull.rebase true"),
        run("git config user.email ada@work.example"),
        run("git config --add remote.origin.fetch '+refs/pull/*:refs/remotes/origin/pr/*'"),
        run("git config --unset user.email"),
    ]),
    Sequence::new("config of keys that run something", "project", &[
        run("git config alias.st 'status --short'"),
        run("git config core.editor vi"),
    ]),
    Sequence::new("push -u", "topic", &[run("git push -u origin topic").write(&["../origin.git"])]),
    Sequence::new("push --tags", "project; git -C w tag v1", &[
        run("git tag -a v2 -m 'Second' && git push --tags origin").write(&["../origin.git"]),
    ]),
    Sequence::new("pull --rebase", "topic; colleague; echo more >> colleague/a.txt; commit colleague theirs; git -C colleague push -q", &[
        run("git pull --rebase origin master"),
    ]),
    Sequence::new("fetch --prune", "topic; git -C w push -q origin topic; git -C origin.git branch -q -D topic", &[run("git fetch --prune --all")]),
    Sequence::new("merge --no-ff", "topic; git -C w checkout -q master", &[run("git merge --no-ff -m 'Merge topic' topic")]),
    Sequence::new(
        "merge with a conflict",
        "topic; echo mine > w/a.txt; commit w mine; git -C w checkout -q master; echo theirs > w/a.txt; commit w theirs",
        &[
            run("git merge topic"),
            run("echo both > a.txt && git add a.txt && git commit --no-edit"),
        ],
    ),
    Sequence::new("rebase", "topic; git -C w checkout -q master; echo 4 > w/d.txt; commit w fourth; git -C w checkout -q topic", &[run("git rebase master")]),
    Sequence::new("rebase -x", "topic", &[run("git rebase -x 'test -f c.txt' HEAD~1")]),
    Sequence::new("rebase -i by a script", "topic", &[
        run("GIT_SEQUENCE_EDITOR=\"sed -i '2s/pick/fixup/'\" git rebase -i --root"),
    ]),
    Sequence::new(
        "rebase with a conflict, then --continue",
        "topic; echo mine > w/a.txt; commit w mine; git -C w checkout -q master; echo theirs > w/a.txt; commit w theirs; git -C w checkout -q topic",
        &[run("git rebase master"), run("echo both > a.txt && git add a.txt && GIT_EDITOR=true git rebase --continue")],
    ),
    Sequence::new("cherry-pick and revert", "topic; git -C w checkout -q master", &[
        run("git cherry-pick topic"),
        run("git revert --no-edit HEAD~1"),
    ]),
    Sequence::new("commit --amend and reset", "topic", &[
        run("git commit --amend -m 'Better words'"),
        run("git reset --hard HEAD~1"),
    ]),
    Sequence::new("stash", "topic; echo changed > w/a.txt; echo new > w/untracked.txt", &[
        run("git stash push --include-untracked -m parked"),
        run("git stash pop"),
    ]),
    Sequence::new("format-patch and am", "topic", &[
        run("git format-patch -1 -o patches && git reset --hard HEAD~1 && git am patches/*.patch"),
    ])
    .ignoring(&[".patch"]),
    Sequence::new("diff and apply", "project; echo changed > w/a.txt", &[
        run("git diff > change.patch && git checkout a.txt && git apply --index change.patch"),
    ]),
    Sequence::new("bisect run", "topic; echo 4 > w/d.txt; commit w fourth", &[
        run("git bisect start HEAD HEAD~3 && git bisect run test ! -f c.txt; git bisect reset"),
    ]),
    Sequence::new("gc", "topic; git -C w tag v1", &[run("git gc")]),
    Sequence::new("maintenance and repack", "topic", &[run("git repack -ad && git pack-refs --all && git prune")]),
    Sequence::new("notes, replace and reflog", "topic", &[
        run("git notes add -m 'Seen' HEAD && git update-ref refs/heads/copy HEAD && git reflog expire --expire=now --all"),
    ]),
    Sequence::new("sparse-checkout", "project; mkdir w/x w/y; touch w/x/1 w/y/1; commit w places", &[
        run("git sparse-checkout set x"),
        run("git sparse-checkout disable"),
    ]),
    Sequence::new("worktree add outside", "project", &[
        run("git worktree add ../x -b side"),
        run("cd ../x && echo side > s.txt && git add s.txt && git commit -m Side").write(&["../x"]),
    ]),
    Sequence::new("worktree add inside, and remove", "project", &[
        run("git worktree add wt -b side && echo 1 > wt/s.txt && git -C wt add s.txt && git -C wt commit -m Side"),
        run("git worktree remove wt"),
    ]),
    Sequence::new("commit in a linked worktree", "project; git -C w worktree add -q ../linked -b side", &[
        run("echo side > s.txt && git add s.txt && git commit -m Side").inside("linked"),
    ]),
    Sequence::new("submodule add", "project; library", &[run("git submodule add ../lib lib && git commit -m 'Add lib'")]),
    Sequence::new("submodule update", "project; library; git -C w submodule --quiet add ../lib lib; commit w 'Add lib'; git -C w push -q; rm -rf w; git clone -q origin.git w", &[
        run("git submodule update --init --recursive"),
    ]),
    Sequence::new("clone into the empty workspace", "project; rm -rf w; mkdir w", &[run("git clone ../origin.git .")]),
    Sequence::new("clone into a subdirectory", "project", &[run("git clone ../origin.git sub && git -C sub checkout -b mine")]),
    Sequence::new("init and first commit", "mkdir w; echo 1 > w/a.txt", &[run("git init -b main && git add -A && git commit -m First")]),
    Sequence::new("init in a subdirectory", "project", &[run("git init sub/deep && cd sub/deep && echo 1 > a && git add a && git commit -m First")]),
    Sequence::new("archive, bundle and unbundle", "topic", &[
        run("git archive -o out.tar HEAD && git bundle create all.bundle --all && git clone -q all.bundle again && rm out.tar all.bundle"),
    ]),
    Sequence::new(
        "checkout of a branch with other tracked settings",
        "project; mkdir w/.vscode; echo '{}' > w/.vscode/settings.json; echo a=1 > w/.npmrc; commit w settings;
         git -C w checkout -q -b other; echo '{\"a\":1}' > w/.vscode/settings.json; echo a=2 > w/.npmrc; echo x > w/.vscode/tasks.json; commit w other; git -C w checkout -q master",
        &[run("git checkout other")],
    ),
    Sequence::new(
        "pull of new protected files",
        "project; colleague; mkdir -p colleague/.vscode colleague/pkg; echo '{}' > colleague/.vscode/tasks.json; echo use > colleague/pkg/.envrc;
         commit colleague settings; git -C colleague push -q",
        &[run("git pull origin master")],
    ),
    Sequence::new("stash of a changed .npmrc", "project; echo a=1 > w/.npmrc; commit w npmrc; echo a=2 > w/.npmrc", &[
        run("git stash"),
        run("git stash pop"),
    ]),
    Sequence::new(
        "commit with a hook",
        "project; printf '#!/bin/sh\\necho ran > hook-ran.txt\\n' > w/.git/hooks/pre-commit; chmod +x w/.git/hooks/pre-commit",
        &[run("echo new > n.txt && git add n.txt && git commit -m 'Add n'")],
    ),
    Sequence::new(
        "commit with core.hooksPath",
        "project; mkdir w/.githooks; printf '#!/bin/sh\\necho ran > hook-ran.txt\\n' > w/.githooks/pre-commit; chmod +x w/.githooks/pre-commit; git -C w config core.hooksPath .githooks",
        &[run("echo new > n.txt && git add n.txt && git commit -m 'Add n'")],
    ),
    Sequence::new("mv, rm, clean and restore", "topic", &[
        run("git mv a.txt moved.txt && git rm -q b.txt && echo junk > junk && git clean -fdq && git restore --staged --worktree b.txt"),
    ]),
    Sequence::new("commit signed with gpg", "project; git -C w config commit.gpgsign true", &[
        run("echo new > n.txt && git add n.txt && git commit -m Signed"),
    ])
    .settings(GPG),
    Sequence::new("tag signed with gpg", "project", &[run("git tag -s v1 -m 'Signed tag'")]).settings(GPG),
    Sequence::new(
        "commit signed with an ssh key",
        "project; git -C w config gpg.format ssh; git -C w config user.signingKey ~/.ssh/id_ed25519.pub; git -C w config gpg.ssh.allowedSignersFile ~/.ssh/allowed_signers",
        &[run("echo new > n.txt && git add n.txt && git commit -S -m Signed")],
    ),
    ROW_OF_SSH_AGENT,
    Sequence::new("clone and push over ssh", "project; mv w old; mkdir w", &[
        run("git clone ssh://127.0.0.1:{SSH}$HOME/field/origin.git .").hosts(&["127.0.0.1:{SSH}"]),
        run("echo new > n.txt && git add n.txt && git commit -m 'Add n'"),
        run("git push origin HEAD:refs/heads/new").hosts(&["127.0.0.1:{SSH}"]),
    ]),
    Sequence::new("pull over ssh with a short name", "project; git -C w remote set-url origin work:field/origin.git; git clone -q origin.git colleague; echo more >> colleague/a.txt; commit colleague theirs; git -C colleague push -q", &[
        run("git pull").hosts(&["127.0.0.1:{SSH}"]),
    ]),
];

const GPG: &str = "[sandbox]\nsockets = [\"{GPG}\"]\n";

/// The agent alone has the key.
const ROW_OF_SSH_AGENT: Sequence = Sequence::new(
    "commit signed by the ssh agent",
    "project; git -C w config gpg.format ssh; git -C w config user.signingKey \"key::$(cut -d' ' -f1,2 ~/services/agent_key.pub)\"",
    &[run("echo new > n.txt && git add n.txt && git commit -S -m Signed")],
)
.settings("[sandbox]\nsockets = [\"$SSH_AUTH_SOCK\"]\n");

//! Protected names in the real sandbox: what is stopped, asked and permitted.
#![expect(clippy::disallowed_methods, reason = "a sandbox is tried with processes")]

use std::{
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use super::{
    super::{Confinement, Support},
    *,
};

/// Answers every question alike, and notes it.
#[derive(Debug, Default)]
struct Asker {
    permits: bool,
    questions: Mutex<Vec<String>>,
    from: PathBuf,
}

impl Gatekeeper for Asker {
    fn decide(&self, attempt: Attempt, decision: Decision) {
        let question = attempt.describe(&self.from);
        // Without the program, whose words differ.
        let question = question.split_once(" wants to ").map_or(&*question, |(_, what)| what);
        self.questions.lock().unwrap().push(question.to_owned());
        // A person takes a while.
        let is_permitted = self.permits;
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            if is_permitted { decision.permit() } else { decision.refuse() }
        });
    }
}

struct Scene {
    place: PathBuf,
    permitted: Vec<PathBuf>,
    _directory: tempfile::TempDir,
}

/// A command that ran: its output, the questions, the facts.
struct Ran {
    output: Output,
    questions: Vec<String>,
    facts: Vec<String>,
}

impl Ran {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
            + &String::from_utf8_lossy(&self.output.stderr)
    }
}

impl Scene {
    fn new() -> Option<Scene> {
        let support = Support::here();
        if support.namespaces.is_err() || !support.notifications {
            println!("skipped: {support}");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        Some(Scene { place, permitted: Vec::new(), _directory: directory })
    }

    /// A repository with a commit that has these files.
    fn repository(files: &[&str]) -> Option<Scene> {
        let scene = Scene::new()?;
        for file in files {
            let path = scene.place.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "old\n").unwrap();
        }
        scene.outside("git init -qb main . && git config user.name n && git config user.email e");
        scene.outside("git add -A && git commit -qm first --allow-empty");
        Some(scene)
    }

    fn outside(&self, script: &str) {
        let status = Command::new("bash").args(["-ec", script]).current_dir(&self.place).status().unwrap();
        assert!(status.success(), "{script}");
    }

    fn run(&self, permits: Option<bool>, script: &str) -> Ran {
        let asker = permits.map(|permits| {
            Arc::new(Asker { permits, questions: Mutex::default(), from: self.place.clone() })
        });
        let confinement = Confinement {
            write: vec![self.place.clone()],
            permitted: self.permitted.clone(),
            gatekeeper: asker.clone().map(|asker| asker as Arc<dyn Gatekeeper>),
            ..Confinement::at(&self.place)
        };
        let mut command = Command::new("bash");
        command.args(["-c", script]);
        let mut guard = confinement.prepare().unwrap().apply(&mut command).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|err| guard.explain(err)).unwrap();
        guard.started().unwrap();
        let output = child.wait_with_output().unwrap();
        let facts = guard.blocked(&output.stderr).iter().map(ToString::to_string).collect();
        let questions = asker.map(|asker| asker.questions.lock().unwrap().clone()).unwrap_or_default();
        Ran { output, questions, facts }
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.place.join(path)).ok()
    }
}

#[test]
fn every_way_to_make_a_protected_name_is_refused() {
    let Some(scene) = Scene::repository(&["a.txt", "d/settings.json"]) else { return };
    let before = listing(&scene.place);
    for attempt in [
        "mkdir .vscode",
        "mkdir -p deep/er/.vscode; test -e deep/er/.vscode; s=$?; rm -r deep; exit $s",
        "echo x > .npmrc",
        "echo x >> .npmrc",
        "cp a.txt .envrc",
        "ln a.txt .mcp.json",
        "ln -s a.txt .mcp.json",
        "cp a.txt b; mv b .mcp.json; s=$?; rm -f b; exit $s",
        "cp -r d e; mv e .vscode; s=$?; rm -rf e; exit $s",
        "mkfifo .npmrc",
        "ln -s .npmrc l; echo x > l; s=$?; rm l; exit $s",
        "cd d; echo x > ../.NPMRC",
        "echo x > /proc/self/cwd/.npmrc",
        "exec 7<.; echo x > /dev/fd/7/.npmrc",
        "mkdir w; mkdir w/cargo; echo > w/cargo/config.toml; mv w/cargo w/.cargo; s=$?; rm -rf w; exit $s",
        "echo x > .git/hooks/pre-commit",
        "echo 'x filter=y' > .git/info/attributes",
        "echo .. > .git/commondir",
        "echo x >> .git/config",
        "ln .git/config c && echo x >> c",
        "cp .git/config c; echo '[core]fsmonitor=x' >> c; mv c .git/config; s=$?; rm c; exit $s",
        "git config core.fsmonitor ./x",
        "git config alias.x '!sh'",
        "python3 -c 'import os; os.open(\".npmrc\", os.O_CREAT|os.O_WRONLY)'",
    ] {
        let ran = scene.run(None, attempt);
        assert!(!ran.output.status.success(), "{attempt}: {}", ran.text());
        assert!(ran.facts.iter().any(|fact| fact.contains("; to allow it, ")), "{attempt}: {:?}", ran.facts);
        assert_eq!(listing(&scene.place), before, "{attempt}");
    }
    let told = scene.run(None, "mkdir .vscode").facts.concat();
    assert!(told.contains(".vscode, which editors"), "{told}");
}

/// All files with their contents.
fn listing(place: &Path) -> String {
    let script =
        "find . -path ./.git/objects -prune -o -type f -print0 | sort -z | xargs -0 sha1sum; find . | sort";
    let listed = Command::new("bash").args(["-c", script]).current_dir(place).output().unwrap();
    String::from_utf8(listed.stdout).unwrap()
}

#[test]
fn a_permitted_name_is_asked_once_and_then_made() {
    let Some(scene) = Scene::new() else { return };
    let script = "mkdir -p .vscode && echo 1 > .vscode/tasks.json && cp .vscode/tasks.json .vscode/x & \
                  mkdir -p .vscode; wait; echo 2 > .npmrc; echo 3 >> .npmrc; ls -A";
    let ran = scene.run(Some(true), script);
    assert_eq!(ran.text(), ".npmrc\n.vscode\n", "{:?}", ran.questions);
    let questions: Vec<&str> =
        ran.questions.iter().filter_map(|question| question.split(',').next()).collect();
    assert_eq!(questions, ["create .vscode", "create .npmrc"]);
    assert!(ran.facts.is_empty(), "{:?}", ran.facts);
}

#[test]
fn an_answer_of_no_is_refused_with_a_sentence() {
    let Some(scene) = Scene::new() else { return };
    let ran = scene.run(Some(false), "echo 1 > .envrc; echo 2 > .envrc; mkdir .idea; ls -A");
    assert_eq!(ran.questions.len(), 2, "{:?}", ran.questions);
    assert_eq!(ran.facts.len(), 2, "{:?}", ran.facts);
    assert!(ran.text().contains("Permission denied") && scene.read(".envrc").is_none(), "{}", ran.text());
}

#[test]
fn a_declared_place_is_not_asked_about() {
    let Some(mut scene) = Scene::repository(&[".vscode/tasks.json", ".npmrc"]) else { return };
    scene.permitted = vec![scene.place.join(".vscode/tasks.json"), scene.place.join(".envrc")];
    let ran = scene.run(Some(false), "sed -i s/old/newer/ .vscode/tasks.json && cat .vscode/tasks.json");
    assert_eq!(ran.text(), "newer\n", "{:?}", ran.questions);
    let ran =
        scene.run(Some(false), "echo new > .vscode/tasks.json; echo 1 > .envrc; echo 2 > .vscode/other");
    assert_eq!(scene.read(".vscode/tasks.json").unwrap(), "new\n", "{}", ran.text());
    assert_eq!(scene.read(".envrc").unwrap(), "1\n");
    assert_eq!(ran.questions, ["create .vscode/other, which editors run"].map(str::to_owned));
    assert!(scene.read(".vscode/other").is_none());
}

#[test]
fn version_control_replaces_frozen_files_after_a_yes() {
    let Some(scene) = Scene::repository(&[".vscode/settings.json", ".npmrc", "a.txt"]) else { return };
    scene.outside(
        "git checkout -qb other; echo new > .npmrc; echo new > .vscode/settings.json; git commit -qam second; \
         git checkout -q main",
    );
    let no = scene.run(Some(false), "git checkout -q other");
    assert!(!no.questions.is_empty() && !no.facts.is_empty());
    scene.outside("git checkout -qf main");
    let yes = scene.run(Some(true), "git checkout -q other && git status --short && git checkout -q main");
    assert!(yes.output.status.success() && yes.text().is_empty(), "{} {:?}", yes.text(), yes.questions);
    assert_eq!(yes.questions.len(), 2, "{:?}", yes.questions);
    assert_eq!(scene.read(".npmrc").unwrap(), "old\n");
}

#[test]
fn directories_with_frozen_files_are_moved_and_removed() {
    let Some(scene) = Scene::repository(&["packages/a/.npmrc", "packages/a/src/x", "packages/b/y"]) else {
        return;
    };
    scene.outside("git init -q r && git -C r config user.name n");
    let ran = scene.run(Some(true), "git mv packages/a/src packages/b/src && git mv packages/b packages/c");
    assert!(ran.output.status.success() && ran.questions.is_empty(), "{} {:?}", ran.text(), ran.questions);
    let ran = scene.run(None, "mv packages p && ! echo new >> p/a/.npmrc 2>/dev/null; mv p packages");
    assert_eq!(scene.read("packages/a/.npmrc").unwrap(), "old\n", "{}", ran.text());
    let ran = scene.run(Some(true), "rm -rf packages/a r && ls -A");
    assert_eq!(ran.text(), ".git\npackages\n", "{:?}", ran.questions);
}

#[test]
fn a_denied_file_stays_hidden_after_a_yes_for_what_is_around_it() {
    let Some(scene) = Scene::repository(&[".vscode/settings.json", ".vscode/secret"]) else { return };
    let confinement = Confinement {
        write: vec![scene.place.clone()],
        deny_read: vec![scene.place.join(".vscode/secret")],
        permitted: vec![scene.place.join(".vscode")],
        ..Confinement::at(&scene.place)
    };
    let script = "echo new > .vscode/settings.json; cat .vscode/secret; mv .vscode v; cat v/secret; cp a.txt x; \
                  mv x .vscode/y; cat .vscode/secret; rm -rf .vscode; cat .vscode/settings.json";
    let mut command = Command::new("bash");
    let mut guard = confinement.prepare().unwrap().apply(command.args(["-c", script])).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().map_err(|err| guard.explain(err)).unwrap();
    guard.started().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("old"), "{output:?}");
    assert_eq!(scene.read(".vscode/secret").unwrap(), "old\n");
}

#[test]
fn settings_of_a_repository_are_guarded_by_key() {
    let Some(scene) = Scene::repository(&["a.txt"]) else { return };
    scene.outside(
        "git init -q --bare up.git && git push -q ./up.git main && echo up.git >> .git/info/exclude",
    );
    let script = "set -e; git remote add o ./up.git; git fetch -q o; git checkout -qb t o/main; git branch -qm t t2; \
                  git config pull.rebase true; git config user.name x; git branch -qD main; git gc -q; \
                  git remote rename o p; git push -q -u p t2";
    let ran = scene.run(Some(false), script);
    assert!(ran.output.status.success(), "{} {:?}", ran.text(), ran.questions);
    assert!(ran.questions.is_empty() && ran.facts.is_empty(), "{:?} {:?}", ran.questions, ran.facts);
    let ran = scene.run(Some(true), "git config core.pager less && git config core.pager");
    assert_eq!(ran.text(), "less\n");
    assert_eq!(
        ran.questions,
        ["change .git/config, setting core.pager, which names a program that git runs"].map(str::to_owned)
    );
}

#[test]
fn repositories_are_made_and_cloned_into_an_empty_directory() {
    let Some(source) = Scene::repository(&["a.txt", "s/b.txt"]) else { return };
    let Some(scene) = Scene::new() else { return };
    let script = format!(
        "ls -A; tar c . | tar t; git clone -q {} . && ls -A; git status --short",
        source.place.display()
    );
    let ran = scene.run(None, &script);
    assert_eq!(ran.text(), "./\n.git\na.txt\ns\n", "{:?}", ran.facts);
    let Some(scene) = Scene::new() else { return };
    let script = "git init -q . && git config user.name n && git config user.email e && echo x > f && git add f && \
                  git commit -qm m && git log --format=%s";
    assert_eq!(scene.run(None, script).text(), "m\n");
}

#[test]
fn a_hook_in_a_new_repository_is_refused() {
    let Some(scene) = Scene::new() else { return };
    let script = "mkdir -p t/hooks && echo x > t/hooks/post-checkout && git init -q --template=t r";
    let ran = scene.run(None, script);
    assert!(scene.read("r/.git/hooks/post-checkout").is_none(), "{}", ran.text());
    assert!(!ran.facts.is_empty());
}

/// Events in a directory since the last look.
struct Watch(std::os::fd::OwnedFd);

impl Watch {
    fn on(place: &Path) -> Watch {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let watch = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        let changes = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::MODIFY;
        add_watch(&watch, place, changes | WatchFlags::ATTRIB).unwrap();
        Watch(watch)
    }

    fn has_events(&self) -> bool {
        rustix::io::read(&self.0, &mut [0; 4096]).is_ok()
    }
}

#[test]
fn nothing_of_the_sandbox_is_in_the_tree_while_commands_run() {
    let Some(scene) = Scene::repository(&["a.txt", ".vscode/x"]) else { return };
    let watches = [".", ".git", ".vscode"].map(|name| Watch::on(&scene.place.join(name)));
    let before = listing(&scene.place);
    thread::scope(|threads| {
        let running: Vec<_> = (0..4)
            .map(|_| {
                threads.spawn(|| scene.run(None, "ls -A; sleep .3; mkdir .idea 2>/dev/null; ls -A").text())
            })
            .collect();
        thread::sleep(Duration::from_millis(100));
        assert_eq!(listing(&scene.place), before);
        for seen in running {
            assert_eq!(seen.join().unwrap(), ".git\n.vscode\na.txt\n".repeat(2));
        }
    });
    // A process that is killed with everything around it leaves nothing, because there was nothing.
    let confinement = Confinement { write: vec![scene.place.clone()], ..Confinement::at(&scene.place) };
    let mut command = Command::new("sleep");
    let mut guard = confinement.prepare().unwrap().apply(command.arg("60")).unwrap();
    let mut child = command.spawn().map_err(|err| guard.explain(err)).unwrap();
    guard.started().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(listing(&scene.place), before);
    assert!(watches.iter().all(|watch| !watch.has_events()), "somebody changed the tree");
}

/// Changes the path of a system call in a second thread, between the look of the supervisor and that of the kernel.
const RACE: &str = r#"
import ctypes, os, threading, time
libc = ctypes.CDLL(None, use_errno=True)
path = ctypes.create_string_buffer(b"./harmless")
names = [b"./harmless", b"./.npmrc\0x"]
over = time.time() + 1.5
won = 0
def flip():
    while time.time() < over:
        for name in names:
            ctypes.memmove(path, name, 10)
threading.Thread(target=flip).start()
while time.time() < over:
    fd = libc.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
    if fd >= 0: os.close(fd)
    try: os.unlink("harmless")
    except OSError: pass
    if os.path.exists(".npmrc"):
        won += 1
        try: os.unlink(".npmrc")
        except OSError: pass
print(won)
"#;

/// What a hostile program can do: the guard alone cannot keep it from that, and the look at what is there afterwards has to.
#[test]
fn a_program_that_races_with_the_guard_neither_hangs_nor_breaks_it() {
    let Some(scene) = Scene::new() else { return };
    fs::write(scene.place.join("race.py"), RACE).unwrap();
    let ran = scene.run(None, "python3 race.py; mkdir .vscode");
    println!("the race was won {} times in 1.5 seconds", ran.text().lines().next().unwrap_or_default());
    // The guard still stands.
    assert!(ran.facts.iter().any(|fact| fact.contains(".vscode")), "{:?} {}", ran.facts, ran.text());
    assert!(!scene.place.join(".vscode").exists());
}

#[test]
fn sequences_of_git_end_as_outside_after_a_yes() {
    let Some(source) = Scene::repository(&["a.txt"]) else { return };
    let source = source.place.display();
    for (script, most) in [
        ("git worktree add -q wt && git -C wt status --short && git worktree remove wt", 2),
        (
            "git -c protocol.file.allow=always submodule --quiet add $S sub && git commit -qm s && git submodule update -q",
            2,
        ),
        ("echo x >> a.txt && git stash -q && git stash pop -q && git stash -q && git stash drop -q", 0),
        ("git clone -q $S c && rm -rf c", 0),
        (
            "(cat .git/config; printf '[core]\neditor = x\n') > t && python3 -c \"import os; os.rename('t', '.git/config')\" && \
             git config core.editor > /dev/null",
            1,
        ),
        (
            "cp -r .git staged && git config -f staged/config core.editor x && mv .git old && mv staged .git && \
             git config core.editor > /dev/null",
            1,
        ),
        ("git init -q --bare b.git && git push -q b.git main", 0),
        ("git config --global x.y z; mkdir -p .git/info && echo z >> .git/info/exclude", 0),
        ("git sparse-checkout set a && git sparse-checkout disable", 0),
        ("echo '* text' > .gitattributes && git add -A && git commit -qm g", 1),
        ("mv a.txt .npmrc && mkdir .vscode && ln -s ../x .vscode/y && rm -r .vscode", 2),
        (
            "git checkout -qb u && echo y > a.txt && git commit -qam y && git checkout -q main && git rebase -q u",
            0,
        ),
        ("git notes add -m n && git tag t && git pack-refs --all && git reflog expire --all && git prune", 0),
        ("git maintenance run --quiet; git repack -qad && git fsck --no-progress", 0),
    ] {
        let scene = Scene::repository(&["a.txt"]).unwrap();
        let ran = scene.run(Some(true), &format!("set -e; export HOME=/tmp S={source}; {script}"));
        assert!(ran.output.status.success(), "{script}: {} {:?}", ran.text(), ran.questions);
        assert!(ran.questions.len() <= most, "{script}: {:?}", ran.questions);
        assert!(ran.facts.is_empty(), "{script}: {:?}", ran.facts);
    }
}

//! The sandbox from inside: what a command tries, and what it gets.
#![expect(clippy::disallowed_methods, reason = "a sandbox is tried with processes")]

use std::{
    fs,
    io::Write,
    net::TcpListener,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    path::{Path, PathBuf},
    process::{Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::*;

/// A workspace with a repository, something secret, and a place outside.
struct Scene {
    root: PathBuf,
    _directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let scene = Scene { root, _directory: directory };
        for (path, text) in [
            ("ws/a.txt", "inside"),
            ("ws/secrets/key", "SECRET"),
            ("ws/.git/config", "[core]"),
            ("ws/.git/HEAD", "ref: refs/heads/main"),
            ("ws/sub/r/.git/config", "[core]"),
            ("out/b.txt", "outside"),
        ] {
            fs::create_dir_all(scene.path(path).parent().unwrap()).unwrap();
            fs::write(scene.path(path), text).unwrap();
        }
        scene
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            write: vec![self.path("ws")],
            deny_read: vec![self.path("ws/secrets")],
            ..Confinement::at(self.path("ws"))
        }
    }

    /// Runs a script with `$OUT` outside.
    fn run(&self, script: &str) -> Output {
        run(&self.confinement(), &Support::here(), script, &self.path("out"))
    }

    #[track_caller]
    fn check(&self, script: &str, expected: &str) {
        let output = self.run(script);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{script}: {said}");
    }

    /// All names in a directory.
    fn names(&self, path: &str) -> Vec<String> {
        let names = fs::read_dir(self.path(path))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

fn run(confinement: &Confinement, support: &Support, script: &str, out: &Path) -> Output {
    let (mut command, mut guard) = ready(confinement, support, script);
    command.env("OUT", out).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|err| guard.explain(err)).unwrap();
    guard.started().unwrap();
    child.wait_with_output().unwrap()
}

fn ready(confinement: &Confinement, support: &Support, script: &str) -> (Command, Guard) {
    let mut command = Command::new("bash");
    command.args(["-c", script]);
    let guard = confinement.prepare_with(support).unwrap().apply(&mut command).unwrap();
    (command, guard)
}

/// Reports that a test did nothing because a program is missing. Fails where programs must be there (`HAFT_TEST_NEEDS=servers`, as in CI).
fn skip_without(program: &str) {
    let needs = std::env::var("HAFT_TEST_NEEDS").unwrap_or_default();
    assert!(
        !needs.split(',').any(|need| need == "servers"),
        "HAFT_TEST_NEEDS=servers, and there is no {program} here"
    );
    println!("skipped: there is no {program}");
}

/// Returns true if a program can be started by its name.
fn is_installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let is_installed = found.is_ok_and(|output| output.status.success());
    if !is_installed {
        skip_without(program);
    }
    is_installed
}

/// Why the machine cannot show what namespaces do; then there is nothing to test.
fn lacks_namespaces() -> bool {
    let lacking = Support::here().namespaces;
    if let Err(why) = &lacking {
        println!("skipped: {why}");
    }
    lacking.is_err()
}

macro_rules! needs_namespaces {
    () => {
        if lacks_namespaces() {
            return;
        }
    };
}

mod network; // granted hosts
mod sockets; // granted Unix sockets

#[test]
fn what_may_be_changed_can_be_and_the_rest_cannot() {
    needs_namespaces!();
    let scene = Scene::new();
    scene.check("echo x > new && cat new && rm new", "x");
    scene.check("mkdir d && mv a.txt d/ && cat d/a.txt && mv d/a.txt .", "inside");
    for attempt in [
        "echo x > $OUT/b.txt",
        "rm -f $OUT/b.txt",
        "ln -s $OUT/b.txt l && echo x > l",
        "ln $OUT/b.txt h",
        "chmod 600 $OUT/b.txt",
        "touch -d 2001-01-01 $OUT/b.txt",
        "echo x > /proc/self/root$OUT/b.txt",
        "mv $OUT $OUT.moved",
    ] {
        scene.check(&format!("({attempt}) 2>/dev/null && echo done"), "");
    }
    assert_eq!(fs::read_to_string(scene.path("out/b.txt")).unwrap(), "outside");
}

#[test]
fn a_file_that_is_not_there_can_be_made_and_nothing_beside_it() {
    let without = Support { namespaces: Err("none for this test".into()), ..Support::here() };
    for support in [Support::here(), without] {
        if support.landlock.is_none() && support.namespaces.is_err() {
            continue;
        }
        let scene = Scene::new();
        let confinement =
            Confinement { deny_read: Vec::new(), make: vec![scene.path("out/new")], ..scene.confinement() };
        let run = |script: &str| run(&confinement, &support, script, &scene.path("out"));
        assert!(run("cat $OUT/b.txt").status.success());
        assert_eq!(scene.names("out"), ["b.txt"], "nobody wrote it");
        for attempt in [
            "echo x > $OUT/third",
            "echo x > $OUT/b.txt",
            "rm -f $OUT/b.txt",
            "mkdir $OUT/d",
            "ln a.txt $OUT/l",
            "mv -f $OUT/b.txt $OUT/new",
            "mv -f $OUT/new $OUT/third",
        ] {
            assert!(!run(attempt).status.success(), "{attempt}");
            assert_eq!(scene.names("out"), ["b.txt"], "{attempt}");
        }
        assert_eq!(fs::read_to_string(scene.path("out/b.txt")).unwrap(), "outside");
        let ran = run("echo x > $OUT/new && chmod 640 $OUT/new && flock $OUT/new cat $OUT/new");
        assert_eq!(String::from_utf8_lossy(&ran.stdout), "x\n", "{ran:?}");
        assert_eq!(fs::read_to_string(scene.path("out/new")).unwrap(), "x\n");
        assert_eq!(fs::metadata(scene.path("out/new")).unwrap().permissions().mode() & 0o777, 0o640);
        // It is there by now, and written like any other.
        assert!(run("echo y > $OUT/new").status.success());
        assert_eq!(fs::read_to_string(scene.path("out/new")).unwrap(), "y\n");
    }
}

#[test]
fn a_single_file_is_made_by_the_command_alone() {
    needs_namespaces!();
    if !Support::here().notifications {
        println!("skipped: system calls are not reported here");
        return;
    }
    let scene = Scene::new();
    let confinement = Confinement { make: vec![scene.path("out/new")], ..scene.confinement() };
    let (mut command, guard) = ready(&confinement, &Support::here(), "sleep 60");
    assert_eq!(scene.names("out"), ["b.txt"], "nothing stands in its place");
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    drop((command, guard));
    child.wait().unwrap();
    let run = |script: &str| run(&confinement, &Support::here(), script, &scene.path("out"));
    for attempt in ["ln -s /etc/passwd $OUT/new", "mkdir $OUT/new", "mkfifo $OUT/new", "mv a.txt $OUT/new"] {
        assert!(!run(attempt).status.success(), "{attempt}");
        assert_eq!(scene.names("out"), ["b.txt"], "{attempt}");
    }
    let script = "umask 027; set -C; echo one > $OUT/new && ! (echo two > $OUT/new) 2>/dev/null && echo three >> $OUT/new \
                  && ln -s $OUT/new link && echo four >> link && stat -c %a $OUT/new && cat $OUT/new";
    let ran = run(script);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "640\none\nthree\nfour\n", "{ran:?}");
    assert!(
        run("python3 -c 'import os; os.chmod(os.environ[\"OUT\"] + \"/new\", 0o4755)'; true")
            .status
            .success()
    );
    let refused = Confinement { deny_read: vec![scene.path("out")], ..confinement.clone() };
    assert!(refused.prepare().unwrap_err().to_string().contains("which may not be read"));
    let old = Support { notifications: false, ..Support::here() };
    fs::remove_file(scene.path("out/new")).unwrap();
    let err = confinement.prepare_with(&old).unwrap_err().to_string();
    assert!(err.contains("ask for permission to write its directory"), "{err}");
}

#[test]
fn a_single_file_in_a_private_directory_is_copied_out_at_the_end() {
    needs_namespaces!();
    if !Support::here().notifications {
        return;
    }
    let scene = Scene::new();
    let name = format!("/tmp/haft-single-{}", std::process::id());
    let confinement = Confinement { make: vec![name.clone().into()], ..scene.confinement() };
    let script =
        format!("echo one > {name} && sed -i s/one/two/ {name} && cat {name} && echo x > {name}-other");
    let ran = run(&confinement, &Support::here(), &script, &scene.path("out"));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "two\n", "{ran:?}");
    assert_eq!(fs::read_to_string(&name).unwrap(), "two\n");
    assert!(!Path::new(&format!("{name}-other")).exists());
    fs::remove_file(&name).unwrap();
}

#[test]
fn a_denied_file_cannot_be_read_through_a_link_or_after_a_move() {
    needs_namespaces!();
    let scene = Scene::new();
    for attempt in [
        "cat secrets/key",
        "ln -s secrets s && cat s/key",
        "cat /proc/self/root$PWD/secrets/key",
        "cat sub/../secrets/key",
        "mv secrets s2; cat s2/key",
        "cp -r secrets s3; cat s3/key",
        "chmod 700 secrets; cat secrets/key",
        "ls secrets",
    ] {
        scene.check(&format!("({attempt}) 2>/dev/null"), "");
    }
}

#[test]
fn names_that_are_code_are_not_changed_made_or_moved_away() {
    needs_namespaces!();
    let scene = Scene::new();
    for attempt in [
        "echo x >> .git/config",
        "echo x > .git/hooks/pre-commit",
        "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
        "mv .git g2",
        "echo x >> sub/r/.git/config",
        "rm -rf sub/r/.git; test ! -e sub/r/.git",
        "echo x > haft.toml",
        "ln a.txt .mcp.json",
        "ln -s a.txt .mcp.json",
        "mv a.txt .mcp.json",
        "cp a.txt .envrc",
        "mkdir .claude",
        "rm -f .vscode && mkdir .vscode",
        "echo ../evil > .git/commondir; false",
    ] {
        scene.check(&format!("({attempt}) >/dev/null 2>&1 && echo done"), "");
    }
    assert_eq!(scene.names("ws"), [".git", "a.txt", "secrets", "sub"]);
    // A directory for hooks runs nothing as long as it is empty.
    assert_eq!(scene.names("ws/.git"), ["HEAD", "config", "hooks"]);
    assert!(scene.names("ws/.git/hooks").is_empty());
}

#[test]
fn version_control_works_and_sees_nothing_of_the_sandbox() {
    needs_namespaces!();
    let scene = Scene::new();
    fs::remove_dir_all(scene.path("ws/.git")).unwrap();
    fs::remove_dir_all(scene.path("ws/sub")).unwrap();
    scene.check("git init -q . && git config user.name a && git config user.email b", "");
    fs::remove_dir_all(scene.path("ws/.git/hooks")).unwrap();
    scene
        .check("git add a.txt && git commit -qm first && git status --short && git log --format=%s", "first");
}

#[test]
fn a_protected_name_that_is_a_link_stays_that_link() {
    needs_namespaces!();
    let scene = Scene::new();
    fs::create_dir(scene.path("ws/shared")).unwrap();
    symlink("shared", scene.path("ws/.vscode")).unwrap();
    scene.check("(rm .vscode; mkdir .vscode; echo x > .vscode/tasks.json) 2>/dev/null; echo ran", "ran");
    assert_eq!(fs::read_link(scene.path("ws/.vscode")).unwrap(), Path::new("shared"));
    assert!(scene.names("ws/shared").is_empty());
}

#[test]
fn temporary_files_are_private_and_what_was_there_is_as_it_was() {
    needs_namespaces!();
    let scene = Scene::new();
    scene.check("f=$(mktemp) && echo x > $f && cat $f", "x");
    scene.check(
        "echo x > /tmp/haft-test-private && cat /tmp/haft-test-private && cat $OUT/b.txt",
        "x\noutside",
    );
    assert!(!Path::new("/tmp/haft-test-private").exists());
}

#[test]
fn who_only_looks_has_no_sockets_and_changes_nothing_anywhere() {
    needs_namespaces!();
    let scene = Scene::new();
    let only_looks = |script: &str| {
        let confinement = Confinement { only_looks: true, write: Vec::new(), ..scene.confinement() };
        let output = run(&confinement, &Support::here(), script, &scene.path("out"));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    for (script, expected) in [
        ("cat a.txt $OUT/b.txt", "insideoutside"),
        ("cat secrets/key 2>/dev/null", ""),
        ("(echo x > a.txt || echo x > $OUT/new || echo x > /tmp/new) 2>/dev/null && echo done", ""),
        (&*format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached"), ""),
        ("(exec 3<>/dev/udp/127.0.0.1/9) 2>/dev/null && echo made", ""),
        ("kill -0 $PPID 2>/dev/null; all=$(ls /proc); grep -c '^[0-9]' <<< \"$all\"", "3"),
        // What has to be put somewhere for a moment has a place.
        ("f=$(mktemp) && cat > $f <<< kept && cat $f && dirname $f", "kept\n/dev/shm"),
        ("ls -A /dev/shm", ""),
    ] {
        assert_eq!(only_looks(script), expected, "{script}");
    }
}

/// What may be read is the workspace.
fn reads_the_workspace(scene: &Scene) -> Confinement {
    Confinement {
        only_looks: true,
        write: Vec::new(),
        read: Some(vec![scene.path("ws")]),
        ..scene.confinement()
    }
}

/// Why the kernel here cannot confine reading; then there is nothing to test.
fn lacks_landlock() -> bool {
    let lacks = Support::here().landlock.is_none();
    if lacks {
        println!("skipped: there is no Landlock");
    }
    lacks
}

#[test]
fn a_process_that_is_confined_for_reading_reads_what_it_was_given_and_the_systems_places() {
    needs_namespaces!();
    if lacks_landlock() {
        return;
    }
    let scene = Scene::new();
    symlink(scene.path("out/b.txt"), scene.path("ws/notes.md")).unwrap();
    symlink(scene.path("out"), scene.path("ws/dir")).unwrap();
    fs::create_dir(scene.path("given")).unwrap();
    fs::write(scene.path("given/c.txt"), "given").unwrap();
    let looks = reads_the_workspace(&scene);
    let read = vec![scene.path("ws"), scene.path("given")];
    let writes =
        Confinement { only_looks: false, write: vec![scene.path("ws")], read: Some(read), ..looks.clone() };
    for confinement in [looks, writes] {
        let check = |script: &str, expected: &str| {
            let output = run(&confinement, &Support::here(), script, &scene.path("out"));
            assert_eq!(
                String::from_utf8_lossy(&output.stdout).trim(),
                expected,
                "{script} of {confinement:?}"
            );
        };
        check("cat a.txt", "inside");
        for script in [
            "cat *.md",
            "cat dir/b.txt",
            "ls dir/",
            "ls $OUT",
            "find -L . -name b.txt",
            "grep -R outside .",
            "printf '%s\\0' $OUT/b.txt | sort --files0-from=-",
            "cd $OUT && cat b.txt",
            "cat /proc/self/root$OUT/b.txt",
            "cat secrets/key",
        ] {
            check(&format!("({script}) 2>/dev/null"), "");
        }
        check("head -c4 /etc/passwd >/dev/null && ls /usr/bin >/dev/null && echo done", "done");
        check("sort a.txt <<< x && cat <<< here && cat <(echo there)", "inside\nhere\nthere");
        check("echo out > /dev/stdout; cat a.txt > /dev/fd/1", "out\ninside");
    }
    let given = Confinement { read: Some(vec![scene.path("given")]), ..reads_the_workspace(&scene) };
    let output = run(&given, &Support::here(), "cat $OUT/../given/c.txt a.txt", &scene.path("out"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "given");
}

#[test]
fn a_link_that_changes_while_it_is_read_never_shows_what_is_outside() {
    needs_namespaces!();
    if lacks_landlock() {
        return;
    }
    let scene = Scene::new();
    let link = scene.path("ws/l.txt");
    let targets = [scene.path("ws/a.txt"), scene.path("out/b.txt")];
    let script = "for i in $(seq 300); do cat l.txt 2>/dev/null; done";
    let (mut command, _guard) = ready(&reads_the_workspace(&scene), &Support::here(), script);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let printed = thread::spawn(move || child.wait_with_output().unwrap());
    while !printed.is_finished() {
        for target in &targets {
            let new = scene.path("ws/l.new");
            symlink(target, &new).unwrap();
            fs::rename(&new, &link).unwrap();
        }
    }
    let printed = String::from_utf8(printed.join().unwrap().stdout).unwrap();
    assert!(printed.contains("inside") && !printed.contains("outside"), "{printed}");
}

#[test]
fn what_a_process_was_refused_to_read_is_told_as_the_place_that_it_is() {
    needs_namespaces!();
    if lacks_landlock() {
        return;
    }
    let scene = Scene::new();
    symlink(scene.path("out/b.txt"), scene.path("ws/notes.md")).unwrap();
    let (mut command, guard) = ready(&reads_the_workspace(&scene), &Support::here(), "cat notes.md a.txt");
    let output = command.stderr(Stdio::piped()).stdout(Stdio::piped()).output().unwrap();
    assert_eq!(guard.blocked(&output.stderr), [Blocked::ReadOutside(scene.path("out/b.txt"))]);
}

#[test]
fn in_a_worktree_git_reads_the_repository_outside_and_not_what_a_file_claims_to_be_one() {
    needs_namespaces!();
    if lacks_landlock() {
        return;
    }
    let scene = Scene::new();
    let git = |directory: &str, args: &[&str]| {
        let identity = ["-c", "user.name=n", "-c", "user.email=e@x"];
        let mut command = Command::new("git");
        let output = command.current_dir(scene.path(directory)).args(identity).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    fs::create_dir(scene.path("main")).unwrap();
    git("main", &["init", "-q"]);
    git("main", &["commit", "-q", "--allow-empty", "-m", "first"]);
    git("main", &["worktree", "add", "-q", "../tree"]);
    let in_directory = |directory: &str, script: &str| {
        let at = scene.path(directory);
        let confinement =
            Confinement { only_looks: true, read: Some(vec![at.clone()]), ..Confinement::at(at) };
        let output = run(&confinement, &Support::here(), script, &scene.path("out"));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(in_directory("tree", "git log --format=%s; git status --short"), "first");
    fs::create_dir(scene.path("main/sub")).unwrap();
    assert_eq!(in_directory("main/sub", "git log --format=%s"), "first");
    // The repository does not name this place.
    fs::create_dir(scene.path("claims")).unwrap();
    fs::write(scene.path("claims/.git"), format!("gitdir: {}", scene.path("main/.git").display())).unwrap();
    assert_eq!(
        in_directory("claims", "git log --format=%s 2>/dev/null; cat $OUT/../main/.git/HEAD 2>/dev/null"),
        ""
    );
}

#[test]
fn without_namespaces_landlock_alone_confines_reading() {
    if lacks_landlock() {
        return;
    }
    let scene = Scene::new();
    let support = Support { namespaces: Err("none for this test".to_owned()), ..Support::here() };
    let output =
        run(&reads_the_workspace(&scene), &support, "cat a.txt $OUT/b.txt secrets/key", &scene.path("out"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "inside");
}

#[test]
fn without_landlock_the_level_says_that_reading_is_not_confined() {
    let scene = Scene::new();
    let support = Support { landlock: None, ..Support::here() };
    let level = reads_the_workspace(&scene).prepare_with(&support).unwrap().level;
    assert!(level.missing.iter().any(|what| what == "what may be read is not confined"), "{level}");
    let required = Confinement { required: true, ..reads_the_workspace(&scene) };
    assert!(required.prepare_with(&support).is_err());
}

#[test]
fn where_memory_runs_out_a_command_goes_first() {
    needs_namespaces!();
    let own = fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    Scene::new().check("cat /proc/self/oom_score_adj", "500");
    assert_eq!(fs::read_to_string("/proc/self/oom_score_adj").unwrap(), own);
}

#[test]
fn the_keys_of_the_machine_are_told_to_nobody() {
    needs_namespaces!();
    let scene = Scene::new();
    scene.check("cat /proc/keys /proc/key-users /proc/timer_list 2>/dev/null; echo done", "done");
    scene.check("(echo x > /proc/keys) 2>/dev/null; cat /proc/self/comm", "cat");
}

#[test]
fn who_is_put_beside_another_shares_its_network_and_nothing_else() {
    needs_namespaces!();
    let scene = Scene::new();
    let (mut command, mut guard) = ready(&scene.confinement(), &Support::here(), "read; exit 7");
    let mut first = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    guard.started().unwrap();
    let beside = guard.loopback();
    assert!(beside.is_some());
    let script = "readlink /proc/self/ns/net; readlink /proc/self/ns/user; all=$(ls /proc); grep -c '^[0-9]' <<< \"$all\";
        (exec 3<>/dev/udp/127.0.0.1/9) && echo made; unshare -rn true 2>/dev/null || echo refused";
    let run = |confinement: Confinement| {
        let (mut command, mut guard) = ready(&confinement, &Support::here(), script);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        guard.started().unwrap();
        let output = child.wait_with_output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), guard.loopback())
    };
    let [(one, shared), (two, _)] =
        [0, 1].map(|_| run(Confinement { beside: beside.clone(), ..scene.confinement() }));
    let (alone, _) = run(scene.confinement());
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (one, two, alone) = (lines(&one), lines(&two), lines(&alone));
    assert!(shared.is_some(), "it can be joined by way of each that is in it");
    assert_eq!(one[0], two[0], "one network");
    assert_ne!(one[0], alone[0]);
    let first_users = fs::read_link(format!("/proc/{}/ns/user", first.id())).unwrap();
    for users in [&one[1], &two[1]] {
        assert_ne!(users.as_str(), first_users.to_string_lossy(), "each has a user namespace of its own");
    }
    assert_eq!(one[2..], alone[2..]);
    assert_eq!(&one[3..], ["made", "refused"]);
    // It is there as long as somebody is in it, and ends with the last.
    drop(first.stdin.take());
    assert_eq!(first.wait().unwrap().code(), Some(7));
}

#[test]
fn who_may_reach_hosts_is_put_beside_nobody() {
    needs_namespaces!();
    let scene = Scene::new();
    let (mut command, mut guard) = ready(&scene.confinement(), &Support::here(), "read");
    let mut first = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    guard.started().unwrap();
    let hosts = Network::Hosts(vec!["docs.rs".into()]);
    let confinement = Confinement { beside: guard.loopback(), network: hosts, ..scene.confinement() };
    let (mut command, mut other) = ready(&confinement, &Support::here(), "readlink /proc/self/ns/net");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    other.started().unwrap();
    assert!(other.loopback().is_none(), "nobody gets out through it");
    let network = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let beside = Confinement { beside: guard.loopback(), ..scene.confinement() };
    let shared = run(&beside, &Support::here(), "readlink /proc/self/ns/net", &scene.path("out"));
    assert_ne!(network, String::from_utf8(shared.stdout).unwrap());
    drop(first.stdin.take());
    first.wait().unwrap();
}

#[test]
fn other_processes_and_our_variables_are_not_there() {
    needs_namespaces!();
    let scene = Scene::new();
    let own = std::process::id();
    scene.check(&format!("kill -0 {own} 2>/dev/null && test -e /proc/{own} && echo seen"), "");
    // The test's own variables are what process 1 was started with.
    scene.check("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c ^CARGO_MANIFEST_DIR=", "0");
    scene.check("tr -d '\\0' < /proc/1/cmdline", "");
    scene.check("grep -c . /proc/1/environ /proc/1/maps 2>/dev/null; ls /proc/1/fd 2>/dev/null", "");
}

#[test]
fn descriptors_of_ours_are_not_inherited() {
    needs_namespaces!();
    let scene = Scene::new();
    // The last one is the directory that `ls` reads.
    scene.check("exec ls /proc/self/fd", "0\n1\n2\n3");
}

#[test]
fn no_privilege_is_left() {
    needs_namespaces!();
    let scene = Scene::new();
    let script =
        "grep -E '^(CapEff|CapPrm|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -d ' \\t\\n'";
    let none = "0000000000000000";
    let expected = format!("CapPrm:{none}CapEff:{none}CapBnd:{none}CapAmb:{none}NoNewPrivs:1Seccomp:2");
    scene.check(script, &expected);
    scene.check("unshare -Ur true 2>/dev/null && echo done", "");
}

#[test]
fn nobody_is_reached_but_oneself() {
    needs_namespaces!();
    let scene = Scene::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    scene.check(&format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached"), "");
    scene.check("grep -c lo: /proc/net/dev; tail -n +3 /proc/net/dev | wc -l", "1\n1");
}

#[test]
fn allowed_hosts_are_reached_through_the_proxy_and_others_are_told() {
    needs_namespaces!();
    let scene = Scene::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    thread::spawn(move || server.accept().map(|(mut stream, _)| stream.write_all(b"hello")));
    let confinement =
        Confinement { network: Network::Hosts(vec!["127.0.0.1".to_owned()]), ..scene.confinement() };
    let ask = |host: &str| {
        format!(
            "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3; exec 3<&-"
        )
    };
    let script = format!("echo $https_proxy; {}; {}", ask("127.0.0.1"), ask("example.com"));
    let (mut command, mut guard) = ready(&confinement, &Support::here(), &script);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    guard.started().unwrap();
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(
        output.starts_with("http://127.0.0.1:3128\nHTTP/1.1 200") && output.contains("hello"),
        "{output}"
    );
    assert!(output.contains("403 Forbidden"), "{output}");
    assert_eq!(guard.blocked(&[]), [Blocked::Host(format!("example.com:{port}"))]);
}

#[test]
fn the_end_of_the_command_is_passed_out_as_it_was() {
    needs_namespaces!();
    let scene = Scene::new();
    assert_eq!(scene.run("exit 7").status.code(), Some(7));
    assert_eq!(scene.run("kill -TERM $$").status.signal(), Some(libc::SIGTERM));
    assert_eq!(scene.run("(sleep 100 &) ; exit 0").status.code(), Some(0));
}

#[test]
fn a_program_that_is_not_there_is_an_error_of_the_start() {
    let scene = Scene::new();
    let mut command = Command::new("/no/such/program");
    let guard = scene.confinement().prepare().unwrap().apply(&mut command).unwrap();
    let err = guard.explain(command.spawn().unwrap_err());
    assert_eq!(err.to_string(), "the program could not be started: No such file or directory (os error 2)");
    drop((guard, command));
    assert_eq!(scene.names("ws"), [".git", "a.txt", "secrets", "sub"]);
}

#[test]
fn what_fails_while_it_is_built_is_told_by_its_step_and_nothing_stays() {
    needs_namespaces!();
    let scene = Scene::new();
    let write = vec![scene.path("ws"), scene.path("gone")];
    let unwritable = Confinement { write, ..scene.confinement() };
    let nowhere = Confinement { cwd: scene.path("gone"), ..scene.confinement() };
    for (confinement, step) in [(unwritable, "open for writing"), (nowhere, "enter the directory")] {
        fs::create_dir(scene.path("gone")).unwrap();
        let (mut command, guard) = ready(&confinement, &Support::here(), "true");
        fs::remove_dir_all(scene.path("gone")).unwrap();
        let err = command.current_dir(&scene.root).spawn().map_err(|err| guard.explain(err)).unwrap_err();
        assert!(err.to_string().contains(step), "{err}");
        drop((command, guard));
        assert_eq!(scene.names("ws"), [".git", "a.txt", "secrets", "sub"]);
    }
}

#[test]
fn shared_memory_is_empty_and_the_workshop_is_not_to_be_found() {
    needs_namespaces!();
    let scene = Scene::new();
    scene.check(
        "ls -A /dev/shm; echo x > /dev/shm/x && cat /dev/shm/x && ls -A /dev/shm/..",
        EXPECTED_DEVICES,
    );
    scene.check("ls -A /dev/shm", "");
}

/// What is in `/dev`, after a word from shared memory.
const EXPECTED_DEVICES: &str =
    "x\nfd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero";

#[test]
fn a_signal_to_the_process_reaches_the_command() {
    needs_namespaces!();
    let scene = Scene::new();
    let (mut command, mut guard) = ready(
        &scene.confinement(),
        &Support::here(),
        "trap 'echo got; exit 3' TERM; echo ready; sleep 100 & wait",
    );
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    guard.started().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut heard = [0; 6];
    io::Read::read_exact(&mut output, &mut heard).unwrap();
    sys::kill(child.id() as i32, libc::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn without_its_guard_a_command_ends_and_nothing_stays() {
    needs_namespaces!();
    let scene = Scene::new();
    let (mut command, guard) =
        ready(&scene.confinement(), &Support::here(), "(trap '' TERM HUP; sleep 100 & sleep 100)");
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    drop(guard);
    let start = Instant::now();
    let status = child.wait().unwrap();
    assert!(start.elapsed() < Duration::from_secs(30) && status.signal() == Some(libc::SIGKILL), "{status}");
    drop(command);
    assert_eq!(scene.names("ws"), [".git", "a.txt", "secrets", "sub"]);
}

/// How many processes have this word on their command line.
fn processes_with(word: &str) -> usize {
    let lines = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes())).count()
}

#[test]
fn a_process_that_is_killed_takes_everything_with_it() {
    needs_namespaces!();
    let scene = Scene::new();
    // A number that nobody else sleeps for.
    let seconds = format!("8{}", std::process::id());
    let script = format!("(setsid sh -c 'sleep {seconds}; :' &); sleep {seconds}; :");
    let (mut command, mut guard) = ready(&scene.confinement(), &Support::here(), &script);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    guard.started().unwrap();
    let start = Instant::now();
    let until = |count: usize| {
        while processes_with(&seconds) != count {
            assert!(start.elapsed() < Duration::from_secs(20), "not {count}");
            thread::sleep(Duration::from_millis(2));
        }
    };
    until(2);
    child.kill().unwrap();
    child.wait().unwrap();
    until(0);
    drop((guard, command));
    assert_eq!(scene.names("ws"), [".git", "a.txt", "secrets", "sub"]);
}

#[test]
fn several_commands_share_a_workspace() {
    needs_namespaces!();
    let scene = Scene::new();
    let script = "for i in 1 2 3 4 5; do (echo x > haft.toml) 2>/dev/null && echo made; done; true";
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5).for_each(|_| scene.check(script, "")));
        }
    });
    assert_eq!(scene.names("ws"), [".git", "a.txt", "secrets", "sub"]);
}

#[test]
fn limits_hold() {
    needs_namespaces!();
    let scene = Scene::new();
    let limits =
        ResourceLimits { file_size: Some(1 << 20), open_files: Some(64), ..ResourceLimits::default() };
    let confinement = Confinement { limits, ..scene.confinement() };
    let script = "ulimit -n; ulimit -c; head -c 2000000 /dev/zero > big 2>/dev/null; wc -c < big";
    let output = run(&confinement, &Support::here(), script, &scene.path("out"));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "64\n0\n1048576\n");
}

#[test]
fn without_namespaces_landlock_and_the_filter_hold_what_they_can_and_the_level_says_the_rest() {
    let scene = Scene::new();
    let support = Support { namespaces: Err("none for this test".to_owned()), ..Support::here() };
    if support.landlock.is_none() {
        println!("skipped: there is no Landlock");
        return;
    }
    let confinement = Confinement { deny_read: vec![scene.path("out")], ..scene.confinement() };
    let script =
        "echo x > new; cat new; cat $OUT/b.txt; (exec 3<>/dev/udp/127.0.0.1/9) && echo reached; true";
    let output = run(&confinement, &support, script, &scene.path("out"));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "x\n");
    let level = Level::of(&support, &Network::Off, false);
    assert!(level.to_string().starts_with("reduced: no namespaces, Landlock"), "{level}");
    let required = Confinement { required: true, ..confinement }.prepare_with(&support).unwrap_err();
    assert!(required.to_string().contains("none for this test"), "{required}");
}

#[test]
fn a_policy_that_cannot_be_kept_is_refused() {
    let scene = Scene::new();
    let base = scene.confinement();
    for (confinement, expected) in [
        (Confinement { write: vec!["/".into()], ..base.clone() }, "whole file system"),
        (Confinement { write: vec!["/proc/self".into()], ..base.clone() }, "the kernel's"),
        (Confinement { write: vec![scene.path("none")], ..base.clone() }, "No such file"),
        (Confinement { make: vec![scene.path("none/new")], ..base.clone() }, "its directory is not there"),
        (Confinement { make: vec![scene.path("out/b.txt/new")], ..base.clone() }, "Not a directory"),
        (Confinement { make: vec!["/proc/new".into()], ..base.clone() }, "the kernel's"),
        (Confinement { deny_read: vec!["/".into()], ..base.clone() }, "nothing could run"),
        (Confinement { deny_read: vec![scene.path("ws")], ..base.clone() }, "which may not be read"),
        (Confinement { cwd: scene.path("none"), ..base.clone() }, "cannot enter"),
        (Confinement { network: Network::Hosts(vec!["http://a.com".into()]), ..base.clone() }, "is no host"),
    ] {
        let err = confinement.prepare().unwrap_err().to_string();
        assert!(err.contains(expected), "{err}");
    }
}

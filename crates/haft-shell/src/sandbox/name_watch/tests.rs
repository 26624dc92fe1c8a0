//! The watch on real files, with the test in the part of the command, of the person, or of both.

use std::{
    fs,
    os::unix::fs::symlink,
    time::{Duration, Instant},
};

use super::*;

struct World {
    _directories: [tempfile::TempDir; 2],
    root: PathBuf,
    shelf: PathBuf,
    activity: Arc<Activity>,
}

/// A directory with these files, which are older than the command.
fn world(files: &[(&str, &str)]) -> World {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let root = directories[0].path().canonicalize().unwrap();
    for (file, text) in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    std::thread::sleep(Duration::from_millis(60));
    let shelf = directories[1].path().join("set-aside");
    World { _directories: directories, root, shelf, activity: Arc::default() }
}

impl World {
    fn watch(&self) -> NameWatch {
        self.watch_with(|_| {})
    }

    fn watch_with(&self, change: impl FnOnce(&mut WatchScope)) -> NameWatch {
        let mut watched = WatchScope {
            roots: vec![self.root.clone()],
            home: None,
            frozen: BTreeSet::new(),
            permitted: Vec::new(),
            code: Vec::new(),
            words: Vec::new(),
            shelf: Some(self.shelf.clone()),
        };
        change(&mut watched);
        let baseline = Baseline::read([self.root.join(".git")].into_iter());
        let activity = Some(Arc::clone(&self.activity));
        let mut watch = NameWatch::prepare(watched, baseline, activity, Arc::default()).unwrap();
        watch.start().unwrap();
        watch
    }

    /// Writes a file as the command does.
    fn write(&self, file: &str, text: &str) {
        self.activity.record();
        self.write_as_person(file, text);
    }

    fn write_as_person(&self, file: &str, text: &str) {
        let path = self.root.join(file);
        let _ = fs::create_dir_all(path.parent().unwrap());
        let _ = fs::write(path, text);
    }

    fn is_there(&self, file: &str) -> bool {
        fs::symlink_metadata(self.root.join(file)).is_ok()
    }

    /// Waits until a file is gone. Returns the time.
    fn wait_for_removal(&self, file: &str) -> Duration {
        let start = Instant::now();
        while self.is_there(file) {
            assert!(start.elapsed() < Duration::from_secs(10), "{file} is still there");
            std::thread::yield_now();
        }
        start.elapsed()
    }
}

const REPOSITORY: &[(&str, &str)] =
    &[(".git/HEAD", "ref: refs/heads/main\n"), (".git/config", "[core]\n\tbare = false\n"), ("a/b", "")];

#[test]
fn a_protected_name_is_set_aside_while_the_command_runs() {
    let world = world(&[("a/b/c/d/e/f", ""), (".vscode/settings.json", "{}")]);
    let mut watch = world.watch_with(|watched| watched.frozen.extend([watched.roots[0].join(".vscode")]));
    std::thread::sleep(Duration::from_millis(100));
    for file in [".envrc", "a/b/c/d/e/.npmrc", "new/deep/er/.claude/settings.json"] {
        world.write(file, "evil");
        world.wait_for_removal(file);
    }
    symlink("/etc", world.root.join(".idea")).unwrap();
    world.wait_for_removal(".idea");
    let changes = watch.finish();
    let mut names: Vec<_> =
        changes.iter().map(|change| change.path.strip_prefix(&world.root).unwrap().to_owned()).collect();
    names.sort();
    // Of a directory all is moved, or what was put into it after it was seen.
    let expected = [".envrc", ".idea", "a/b/c/d/e/.npmrc", "new/deep/er/.claude"];
    assert!(names.iter().zip(expected).all(|(name, expected)| name.starts_with(expected)), "{names:?}");
    assert_eq!(names.len(), expected.len());
    assert!(world.is_there(".vscode/settings.json"));
    let envrc = changes.iter().find(|change| change.path.ends_with(".envrc")).unwrap();
    envrc.restore().unwrap();
    assert_eq!(fs::read_to_string(world.root.join(".envrc")).unwrap(), "evil");
    assert!(envrc.to_string().contains("which tools run or obey; it was moved to "), "{envrc}");
}

#[test]
fn a_directory_that_is_renamed_to_a_protected_name_is_set_aside() {
    let world = world(&[("plain/tasks.json", "{}"), ("x/other", "")]);
    let mut watch = world.watch();
    std::thread::sleep(Duration::from_millis(100));
    world.activity.record();
    fs::rename(world.root.join("plain"), world.root.join("x/.vscode")).unwrap();
    world.wait_for_removal("x/.vscode");
    let changes = watch.finish();
    changes[0].restore().unwrap();
    assert!(world.is_there("x/.vscode/tasks.json") && changes.len() == 1);
    assert!(changes[0].restore().is_err(), "it is there already");
}

#[test]
fn what_the_person_makes_meanwhile_stays() {
    let world = world(&[("a", "")]);
    let mut watch = world.watch();
    std::thread::sleep(Duration::from_millis(100));
    world.write_as_person(".vscode/settings.json", "{}");
    world.write_as_person("AGENTS.md", "x");
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(watch.finish(), []);
    assert!(world.is_there(".vscode/settings.json"));
}

#[test]
fn what_was_permitted_and_what_packages_bring_stays() {
    let world = world(&[("a", "")]);
    let mut watch = world.watch_with(|watched| watched.permitted.push(watched.roots[0].join(".vscode")));
    world.write(".vscode/settings.json", "{}");
    world.write("node_modules/x/.vscode/settings.json", "{}");
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(watch.finish(), []);
    assert!(world.is_there(".vscode/settings.json") && world.is_there("node_modules/x/.vscode"));
}

#[test]
fn names_that_appear_before_the_watch_sees_them_are_found_at_the_end() {
    let world = world(&[("a", "")]);
    let mut watch = world.watch();
    world.write("b/c/.envrc", "x");
    let changes = watch.finish();
    assert!(!world.is_there("b/c/.envrc"), "{changes:?}");
}

#[test]
fn powerful_settings_of_git_are_taken_back_and_harmless_ones_stay() {
    let world = world(REPOSITORY);
    let mut watch = world.watch();
    std::thread::sleep(Duration::from_millis(100));
    let settings = "[core]\n\tbare = false\n\tfsmonitor = ./evil\n[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n";
    world.write(".git/config.lock", settings);
    fs::rename(world.root.join(".git/config.lock"), world.root.join(".git/config")).unwrap();
    world.write(".git/hooks/pre-commit", "#!/bin/sh\n");
    world.write(".git/hooks/pre-push.sample", "#!/bin/sh\n");
    world.write(".git/info/exclude", "x\n");
    let changes = watch.finish();
    let now = fs::read_to_string(world.root.join(".git/config")).unwrap();
    assert!(!now.contains("fsmonitor") && now.contains("refs/heads/x"), "{now}");
    assert!(!world.is_there(".git/hooks/pre-commit") && world.is_there(".git/hooks/pre-push.sample"));
    assert!(world.is_there(".git/info/exclude"));
    let reverted = changes.iter().find(|change| change.path.ends_with(".git/config")).unwrap();
    assert_eq!(reverted.outcome, ChangeOutcome::Reverted(vec!["core.fsmonitor".to_owned()]));
    assert_eq!(changes.len(), 2, "{changes:?}");
}

#[test]
fn a_new_repository_works_without_its_powerful_settings() {
    let world = world(&[("a", "")]);
    let mut watch = world.watch();
    world.write("sub/.git/HEAD", "ref: refs/heads/main\n");
    world.write(
        "sub/.git/config",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tpager = evil\n[remote \"origin\"]\n\turl = https://x/y\n",
    );
    let changes = watch.finish();
    let now = fs::read_to_string(world.root.join("sub/.git/config")).unwrap();
    assert!(!now.contains("evil") && now.contains("https://x/y"), "{now} {changes:?}");
}

#[test]
fn a_file_that_leads_git_elsewhere_is_set_aside_unless_what_it_leads_to_is_guarded() {
    let world = world(REPOSITORY);
    let mut watch = world.watch();
    world.write(".git/worktrees/w/HEAD", "x");
    world.write("w/.git", &format!("gitdir: {}/.git/worktrees/w\n", world.root.display()));
    world.write("evil/HEAD", "x");
    world.write("v/.git", "gitdir: ../evil\n");
    world.write(".git/worktrees/w/commondir", "../..\n");
    world.write(".git/worktrees/x/commondir", "/tmp/evil\n");
    world.wait_for_removal(".git/worktrees/x/commondir");
    assert!(world.is_there(".git/worktrees/w/commondir"));
    // Empty at first, as git makes it, and turned elsewhere later.
    world.write("u/.git", "");
    std::thread::sleep(Duration::from_millis(100));
    assert!(world.is_there("u/.git"));
    world.write("u/.git", "gitdir: ../evil\n");
    world.wait_for_removal("u/.git");
    let changes = watch.finish();
    assert!(world.is_there("w/.git") && !world.is_there("v/.git"), "{changes:?}");
}

#[test]
fn guidance_that_was_changed_is_told_and_stays() {
    let world = world(&[("AGENTS.md", "a"), ("CLAUDE.md", "a")]);
    let mut watch = world.watch();
    std::thread::sleep(Duration::from_millis(100));
    world.write("AGENTS.md", "b");
    world.write("sub/rust-toolchain.toml", "x");
    let changes = watch.finish();
    assert!(world.is_there("AGENTS.md") && world.is_there("sub/rust-toolchain.toml"));
    assert!(changes.iter().all(|change| change.outcome == ChangeOutcome::Kept), "{changes:?}");
    assert_eq!(changes.len(), 2, "{changes:?}");
}

#[test]
fn a_link_in_the_way_does_not_lead_the_move_elsewhere() {
    let world = world(&[("a/b", "")]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join(".envrc"), "the person's").unwrap();
    symlink(outside.path(), world.root.join("link")).unwrap();
    let shelf = quarantine::QuarantineDirectory::at(Some(world.shelf.clone()), None);
    assert!(shelf.take(&world.root, Path::new("link/.envrc")).is_err());
    assert!(outside.path().join(".envrc").exists());
}

#[test]
fn a_racing_name_lives_for_milliseconds() {
    let world = world(&[("a", "")]);
    let mut watch = world.watch();
    std::thread::sleep(Duration::from_millis(100));
    let mut times: Vec<Duration> = (0..100)
        .map(|_| {
            let start = Instant::now();
            world.write(".envrc", "x");
            world.wait_for_removal(".envrc");
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("a name is set aside after {:?} (median), {:?} (longest of 100)", times[50], times[99]);
    assert!(times[50] < Duration::from_millis(50), "{times:?}");
    assert_eq!(watch.finish().len(), 1);
}

/// Flips a path between a plain and a protected name while another thread opens it.
const RACE: &str = r#"
import ctypes, threading, time
libc = ctypes.CDLL(None)
path = ctypes.create_string_buffer(b"xenvrc")
end = time.time() + 2
def flip():
    while time.time() < end:
        ctypes.memset(path, ord("."), 1); ctypes.memset(path, ord("x"), 1)
threading.Thread(target=flip).start()
while time.time() < end:
    ctypes.memset(path, ord("x"), 1)
    fd = libc.open(path, 0o101, 0o644)
    if fd >= 0: libc.close(fd)
"#;

#[test]
fn a_program_that_changes_a_path_while_it_is_read_leaves_no_protected_name() {
    let support = crate::sandbox::Support::here();
    if support.namespaces.is_err() || !Path::new("/usr/bin/python3").exists() {
        println!("skipped: {support}");
        return;
    }
    let world = world(&[("a", "")]);
    let confinement = crate::sandbox::Confinement {
        write: vec![world.root.clone()],
        shelf: Some(world.shelf.clone()),
        ..crate::sandbox::Confinement::at(&world.root)
    };
    let ended = confinement.foreground(&"/usr/bin/python3".into(), &["-c".into(), RACE.into()]).unwrap();
    println!("set aside: {:?}, refused: {:?}", ended.protected_changes, ended.blocked);
    assert!(world.is_there("xenvrc") && !world.is_there(".envrc"));
    let names = fs::read_dir(&world.root).unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(names.count(), 2, "nothing of haft's stands there");
}

const REBASE: &str = ".git/rebase-merge/git-rebase-todo";

#[test]
fn a_command_that_a_program_adds_to_a_stopped_rebase_is_taken_out() {
    let world = world(&[REPOSITORY, &[(REBASE, "pick 1 one\nexec ./known\n")]].concat());
    let mut watch = world.watch();
    world.write(REBASE, "pick 1 one\nexec ./known\nx ./evil\n");
    let found = watch.finish();
    let lines = ChangeOutcome::Reverted(vec!["x ./evil".to_owned()]);
    assert!(found.iter().any(|change| change.outcome == lines), "{found:?}");
    assert_eq!(fs::read_to_string(world.root.join(REBASE)).unwrap(), "pick 1 one\nexec ./known\n");
}

#[test]
fn a_rebase_keeps_the_commands_that_its_own_words_bring() {
    let world = world(REPOSITORY);
    let mut watch =
        world.watch_with(|watched| watched.words = b"-c git rebase -x 'cargo test' main".to_vec());
    world.write(REBASE, "pick 1 one\nexec cargo test\n");
    assert_eq!(watch.finish(), []);
}

#[test]
fn a_place_that_settings_name_is_set_aside() {
    let world = world(REPOSITORY);
    let mut watch = world.watch_with(|watched| watched.code = vec![watched.roots[0].join("scripts/hooks")]);
    world.write("scripts/hooks/pre-commit", "#!/bin/sh");
    let found = watch.finish();
    assert!(!world.is_there("scripts/hooks/pre-commit"), "{found:?}");
}

#[test]
fn an_empty_directory_stays_and_what_is_put_into_it_goes() {
    let world = world(&[]);
    let mut watch = world.watch();
    world.activity.record();
    fs::create_dir(world.root.join(".idea")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(world.is_there(".idea"));
    world.write(".idea/workspace.xml", "x");
    watch.finish();
    assert!(!world.is_there(".idea/workspace.xml"));
}

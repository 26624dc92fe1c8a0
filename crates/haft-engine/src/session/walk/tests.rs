//! What a walk finds, and what it never does.

use std::{fs, io::Read as _, os::unix::fs::symlink, path::PathBuf, sync::atomic::AtomicBool};

use haft_tool::Found;

use super::*;
use crate::policy::{Bases, Origin, Policy, Rules};

/// Notes what it is shown.
#[derive(Default)]
struct Notes(Vec<String>);

impl Visitor for Notes {
    fn visit(&mut self, found: &dyn Found) -> Flow {
        let mark = match found.kind() {
            Kind::Directory => "/",
            Kind::File => "",
            Kind::Link => "@",
            Kind::Special => "|",
        };
        self.0.push(format!("{}{mark}", found.path().display()));
        Flow::On
    }
}

struct Tree {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Tree {
    /// Files from `path` or `path=content`.
    fn new(files: &[&str]) -> Tree {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree { root: dir.path().canonicalize().unwrap(), _dir: dir };
        for file in files {
            let (path, content) = file.split_once('=').unwrap_or((file, ""));
            let path = tree.root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        tree
    }

    fn grounds<'a>(&'a self, walk: &'a Walk, token: &'a CancellationToken) -> Grounds<'a> {
        Grounds { root: &self.root, walk, withheld: None, token, at_home: false }
    }

    fn walk(&self, walk: Walk) -> String {
        self.walk_below("", walk)
    }

    fn walk_below(&self, path: &str, walk: Walk) -> String {
        let token = CancellationToken::new();
        let root = if path.is_empty() { self.root.clone() } else { self.root.join(path) };
        found(&Grounds { root: &root, ..self.grounds(&walk, &token) })
    }
}

fn found(grounds: &Grounds<'_>) -> String {
    let mut crew: Vec<Notes> = (0..3).map(|_| Notes::default()).collect();
    let mut visitors: Vec<&mut dyn Visitor> =
        crew.iter_mut().map(|notes| notes as &mut dyn Visitor).collect();
    walk(grounds, &mut visitors).unwrap();
    let mut names: Vec<String> = crew.into_iter().flat_map(|notes| notes.0).collect();
    names.sort_unstable();
    names.join(" ")
}

const ALL: Walk = Walk { hidden: true, ignored: true, depth: None, in_order: false };

#[test]
fn everything_below_is_found_once() {
    let tree = Tree::new(&["a", "b/c", "b/d/e"]);
    assert_eq!(tree.walk(Walk::default()), "a b/ b/c b/d/ b/d/e");
    assert_eq!(tree.walk_below("b", Walk::default()), "c d/ d/e");
    assert_eq!(tree.walk(Walk { depth: Some(1), ..ALL }), "a b/");
    assert_eq!(tree.walk(Walk { depth: Some(2), ..ALL }), "a b/ b/c b/d/");
}

#[test]
fn in_order_all_that_lies_below_a_directory_comes_right_after_it() {
    let tree = Tree::new(&["b/z", "a.b", "a/c/d", "a/c.d", "a/b", "c", "a/c/a"]);
    let (walk, token) = (Walk { in_order: true, ..Walk::default() }, CancellationToken::new());
    let mut crew = [Notes::default(), Notes::default()];
    let mut visitors: Vec<&mut dyn Visitor> =
        crew.iter_mut().map(|notes| notes as &mut dyn Visitor).collect();
    super::walk(&tree.grounds(&walk, &token), &mut visitors).unwrap();
    assert_eq!(crew[0].0.join(" "), "a/ a/b a/c/ a/c/a a/c/d a/c.d a.b b/ b/z c");
    assert!(crew[1].0.is_empty());
}

#[test]
fn in_order_everything_is_found_that_is_found_without() {
    let mut names: Vec<String> = (0..700).map(|number| format!("wide/{number:04}")).collect();
    names.extend((0..300).map(|number| format!("wide/{number:04}-deep/{}/file", number % 7)));
    let tree = Tree::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(tree.walk(Walk { in_order: true, ..ALL }), tree.walk(ALL));
}

#[test]
fn a_file_is_found_alone() {
    let tree = Tree::new(&["a=hello"]);
    assert_eq!(tree.walk_below("a", Walk::default()), "");
    let (walk, token) = (Walk::default(), CancellationToken::new());
    let root = tree.root.join("nothing");
    let err = super::walk(&Grounds { root: &root, ..tree.grounds(&walk, &token) }, &mut []).unwrap_err();
    assert_eq!(err.kind(), io::ErrorKind::NotFound);
}

#[test]
fn large_directories_are_shared_out_and_nothing_is_lost() {
    let names: Vec<String> = (0..3_000).map(|number| format!("wide/{number:04}")).collect();
    let tree = Tree::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(tree.walk(ALL), format!("wide/ {}", names.join(" ")));
}

#[test]
fn hidden_names_are_passed_over_and_git_always_is() {
    let tree = Tree::new(&["a", ".b", ".c/d", ".git/HEAD", ".haft-staged-0123"]);
    assert_eq!(tree.walk(Walk::default()), "a");
    assert_eq!(tree.walk(ALL), ".b .c/ .c/d a");
    assert_eq!(tree.walk_below(".git", Walk::default()), "HEAD");
}

#[test]
fn links_are_shown_and_never_followed() {
    let tree = Tree::new(&["in/a", "out/secret"]);
    symlink(tree.root.join("out"), tree.root.join("in/link")).unwrap();
    symlink("..", tree.root.join("in/up")).unwrap();
    assert_eq!(tree.walk_below("in", ALL), "a link@ up@");
}

#[track_caller]
fn shown(files: &[&str], expected: &str) {
    assert_eq!(Tree::new(files).walk(Walk::default()), expected);
}

#[test]
fn gitignore_counts_inside_a_repository_only() {
    shown(&[".gitignore=a", "a", "b"], "a b");
    shown(&[".git/HEAD", ".gitignore=a", "a", "b"], "b");
    shown(&[".ignore=a", "a", "b"], "b");
    shown(&[".git/info/exclude=a", "a", "b"], "b");
}

#[test]
fn deeper_files_and_later_lines_win() {
    shown(
        &[".git/HEAD", ".gitignore=*.log", "d/.gitignore=!keep.log", "d/a.log", "d/keep.log"],
        "d/ d/keep.log",
    );
    shown(&[".git/HEAD", ".gitignore=*.log\n!keep.log", "a.log", "keep.log"], "keep.log");
    shown(&[".git/HEAD", ".gitignore=a", ".ignore=!a", "a", "b"], "a b");
    shown(&[".git/HEAD", ".gitignore=/a\nd/b", "a", "d/a", "d/b"], "d/ d/a");
    shown(&[".git/HEAD", ".gitignore=target/", "target/x", "d/target"], "d/ d/target");
}

#[test]
fn a_repository_inside_another_begins_anew() {
    shown(&[".git/HEAD", ".gitignore=a", "sub/.git/HEAD", "sub/a", "a"], "sub/ sub/a");
}

#[test]
fn an_exception_shows_what_is_hidden() {
    shown(&[".git/HEAD", ".gitignore=!.github", ".github/x", ".other"], ".github/ .github/x");
}

#[test]
fn directories_above_the_root_have_their_say() {
    let tree = Tree::new(&[".git/HEAD", ".gitignore=/d/a\n*.log", "d/a", "d/b", "d/c.log"]);
    assert_eq!(tree.walk_below("d", Walk::default()), "b");
    assert_eq!(tree.walk_below("d", ALL), "a b c.log");
}

#[test]
fn what_the_rules_withhold_is_not_shown() {
    let tree = Tree::new(&["a", "secrets/key", "d/x.pem", "d/y"]);
    let rules = Rules::denying(["Read(secrets/**)", "Read(**/*.pem)"], Origin::Session);
    let bases = Bases { workspace: tree.root.clone(), home: None };
    let policy = Policy::compile(rules, &bases).unwrap();
    let (walk, token) = (ALL, CancellationToken::new());
    let withheld = policy.withheld(["Grep"].into_iter(), &tree.root);
    assert_eq!(found(&Grounds { withheld, ..tree.grounds(&walk, &token) }), "a d/ d/y");
}

/// Swaps what it is shown for a link to something outside, and tries to open it.
struct Swapper(PathBuf, Vec<String>);

impl Visitor for Swapper {
    fn visit(&mut self, found: &dyn Found) -> Flow {
        let path = self.0.join("in").join(found.path());
        match found.kind() {
            Kind::Directory => fs::rename(&path, self.0.join("moved")).unwrap(),
            _ => fs::remove_file(&path).unwrap(),
        }
        symlink(self.0.join("out"), &path).unwrap();
        if let Ok((mut file, _)) = found.open() {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            self.1.push(text);
        }
        self.1.push(found.path().display().to_string());
        Flow::On
    }
}

#[test]
fn what_is_swapped_for_a_link_meanwhile_leads_nowhere() {
    let tree = Tree::new(&["in/file=mine", "in/dir/inner", "out/secret=secret"]);
    let (walk, token) = (ALL, CancellationToken::new());
    let root = tree.root.join("in");
    let mut swapper = Swapper(tree.root.clone(), Vec::new());
    let grounds = Grounds { root: &root, ..tree.grounds(&walk, &token) };
    let walked = super::walk(&grounds, &mut [&mut swapper]).unwrap();
    swapper.1.sort_unstable();
    assert_eq!(swapper.1, ["dir", "file"]);
    assert_eq!(walked.unreadable, 1, "the directory that became a link");
}

/// Opens everything.
#[derive(Default)]
struct Opener(Vec<String>);

impl Visitor for Opener {
    fn visit(&mut self, found: &dyn Found) -> Flow {
        self.0.push(match found.open() {
            Ok((_, len)) => len.to_string(),
            Err(err) => err.to_string(),
        });
        Flow::On
    }
}

#[test]
fn pipes_are_not_opened_and_nobody_waits_for_them() {
    let tree = Tree::new(&[]);
    let fifo = tree.root.join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    assert_eq!(tree.walk(ALL), "fifo|");
    let (walk, token, mut opener) = (ALL, CancellationToken::new(), Opener::default());
    super::walk(&tree.grounds(&walk, &token), &mut [&mut opener]).unwrap();
    assert_eq!(opener.0, ["it is not a regular file"]);
}

#[test]
fn a_very_deep_tree_ends_and_is_told() {
    let tree = Tree::new(&[]);
    let mut here = fs::File::open(&tree.root).unwrap();
    for _ in 0..MOST_LEVELS + 10 {
        rustix::fs::mkdirat(&here, "directory", rustix::fs::Mode::RWXU).unwrap();
        here = beneath::enter(&here, Path::new("directory")).unwrap();
    }
    let (walk, token, mut notes) = (ALL, CancellationToken::new(), Notes::default());
    let walked = super::walk(&tree.grounds(&walk, &token), &mut [&mut notes]).unwrap();
    assert_eq!((notes.0.len(), walked.unreadable), (MOST_LEVELS, 1));
}

/// Stops, or panics, at the first look.
struct Once(Flow, AtomicBool);

impl Visitor for Once {
    fn visit(&mut self, _: &dyn Found) -> Flow {
        assert!(self.0 != Flow::Past, "broken on purpose");
        assert!(!self.1.swap(true, Ordering::Relaxed), "looked again");
        self.0
    }
}

#[test]
fn a_visitor_can_end_the_walk() {
    let tree = Tree::new(&["a", "b", "c"]);
    let (walk, token, mut once) = (ALL, CancellationToken::new(), Once(Flow::Stop, AtomicBool::default()));
    super::walk(&tree.grounds(&walk, &token), &mut [&mut once]).unwrap();
}

#[test]
fn a_visitor_that_breaks_keeps_nobody_waiting() {
    let tree = Tree::new(&["a/b"]);
    let (walk, token) = (ALL, CancellationToken::new());
    let mut crew = [(); 3].map(|()| Once(Flow::Past, AtomicBool::default()));
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut visitors: Vec<&mut dyn Visitor> =
            crew.iter_mut().map(|once| once as &mut dyn Visitor).collect();
        super::walk(&tree.grounds(&walk, &token), &mut visitors)
    }));
    assert!(ended.is_err());
}

#[test]
fn a_cancelled_walk_ends() {
    let tree = Tree::new(&["a", "b/c"]);
    let (walk, token) = (ALL, CancellationToken::new());
    token.cancel();
    assert_eq!(found(&tree.grounds(&walk, &token)), "");
}

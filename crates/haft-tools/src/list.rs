//! `List`: what is in a directory.

use std::{fmt::Write, os::unix::ffi::OsStrExt, path::Path};

use haft_tool::{
    AbsolutePath, Cx, Effects, Fault, Flow, Found, Kind, Reply, Spec, Tool, Visitor, Walk, Walked,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    shelf::{Shelf, Thing, in_order},
    shown::{self, count},
};

/// Lists what is in a directory: names, kinds and sizes, directories first.
///
/// Use it to find your way in a directory that you do not know; with `depth` it shows a tree. To look at one path, use
/// Stat; to see what is in a file, use Read; to find files by their names, use Glob.
/// What .gitignore leaves out is only counted, unless `ignored` is set, and so is what comes after the first 1,000
/// entries. It fails if the path is not a directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListInput {
    /// The directory; the current one if it is left out.
    #[serde(default = "AbsolutePath::here")]
    path: AbsolutePath,
    /// How many levels to show; 1 if it is left out.
    #[schemars(range(min = 1, max = 10))]
    depth: Option<usize>,
    /// Also what .gitignore and the like leave out.
    #[serde(default)]
    ignored: bool,
}

const MOST_ENTRIES: u64 = 1_000;

pub(crate) struct List;

impl Tool for List {
    type Input = ListInput;
    const SPEC: Spec = Spec::new("List")
        .toolset("readonly")
        .aliases(&["LS", "ls", "fs_list", "list_directory", "list_dir", "tree", "directory_tree"])
        .search_hint("directory folder contents files names tree");

    fn effects(&self, input: &ListInput) -> Effects {
        Effects::reads(&input.path)
    }

    fn describe(&self, input: &ListInput) -> String {
        format!("List {}", shown::path(&input.path))
    }

    async fn call(&self, input: ListInput, cx: &Cx) -> Result<Reply, Fault> {
        let files = cx.files();
        cx.blocking(move || {
            let depth = Some(input.depth.unwrap_or(1));
            let walk = Walk { hidden: true, ignored: input.ignored, depth, in_order: false };
            let one = || Lister { shelf: Shelf::new(MOST_ENTRIES), total: 0, is_file: false };
            let mut crew: Vec<Lister> = (0..Walk::crew()).map(|_| one()).collect();
            let mut visitors: Vec<&mut dyn Visitor> =
                crew.iter_mut().map(|lister| lister as &mut dyn Visitor).collect();
            let walked = files.walk(&input.path, &walk, &mut visitors)?;
            if crew.iter().any(|lister| lister.is_file) {
                return Err(Fault::failed(format!(
                    "{} is not a directory: use Read or Stat",
                    shown::path(&input.path)
                )));
            }
            Ok(reply(crew, walked))
        })
        .await
    }
}

/// A thread that notes what is there.
struct Lister {
    shelf: Shelf<Entry>,
    total: u64,
    is_file: bool,
}

impl Visitor for Lister {
    fn visit(&mut self, found: &dyn Found) -> Flow {
        if found.path().as_os_str().is_empty() {
            self.is_file = true;
            return Flow::Stop;
        }
        self.total += 1;
        let place = place(found.path(), found.kind());
        if self.shelf.takes(|last| place < last.place) {
            self.shelf.put(Entry { place, about: about(found) });
        }
        Flow::On
    }
}

/// Something in the tree.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    place: Box<[u8]>,
    about: String,
}

impl Thing for Entry {}

/// Before each name whether it is a directory, so that directories come first, each before what is in it.
const DIRECTORY: u8 = 1;
const OTHER: u8 = 2;

fn place(path: &Path, kind: Kind) -> Box<[u8]> {
    let mut place = Vec::with_capacity(path.as_os_str().len() + 8);
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        let is_directory = names.peek().is_some() || kind == Kind::Directory;
        place.push(if is_directory { DIRECTORY } else { OTHER });
        place.extend_from_slice(name.as_bytes());
        // No name holds a zero byte, so it ends one.
        if names.peek().is_some() {
            place.push(0);
        }
    }
    place.into()
}

impl Entry {
    fn level(&self) -> usize {
        self.place.iter().filter(|byte| **byte == 0).count()
    }

    fn name(&self) -> &[u8] {
        let last = self.place.rsplit(|byte| *byte == 0).next().unwrap_or_default();
        last.get(1..).unwrap_or_default()
    }
}

/// What stands behind the name.
fn about(found: &dyn Found) -> String {
    match found.kind() {
        Kind::Directory => "/".to_owned(),
        Kind::Link => match found.target() {
            Ok(target) => format!(" -> {}", shown::path(&target)),
            Err(_) => " (link)".to_owned(),
        },
        Kind::File => match found.stamp() {
            Ok(stamp) => format!(" ({})", count(stamp.len, "byte")),
            Err(_) => " (unreadable)".to_owned(),
        },
        Kind::Special => " (special)".to_owned(),
    }
}

fn reply(crew: Vec<Lister>, walked: Walked) -> Reply {
    let total: u64 = crew.iter().map(|lister| lister.total).sum();
    let mut entries = in_order(crew.into_iter().map(|lister| lister.shelf));
    entries.truncate(usize::try_from(MOST_ENTRIES).unwrap_or(usize::MAX));
    let mut text = tree(&entries);
    let hidden = total.saturating_sub(entries.len() as u64);
    let rest = [
        (hidden > 0)
            .then(|| format!("[… {} not shown: list a subdirectory, or use Glob …]", count(hidden, "entry"))),
        (walked.left_out > 0).then(|| format!("({} ignored)", count(walked.left_out, "entry"))),
        (walked.unreadable > 0)
            .then(|| format!("({} could not be read)", count(walked.unreadable, "directory"))),
    ];
    for line in rest.into_iter().flatten() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    }
    let observation = match total {
        0 if walked.left_out > 0 => "Nothing but ignored entries.".to_owned(),
        0 => "The directory is empty.".to_owned(),
        total => format!("{}:", count(total, "entry")),
    };
    Reply::text(text).observed(observation).note("entries", total)
}

fn tree(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let indent = entry.level() * 2;
        let _ = writeln!(text, "{:indent$}{}{}", "", shown::bytes(entry.name()), entry.about);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsStr,
        fs,
        os::unix::{ffi::OsStrExt, fs::symlink},
    };

    use haft_testkit::{Workspace, run};
    use serde_json::{Value, json};

    use super::List;

    fn workspace() -> Workspace {
        Workspace::new(
            "-- b.txt
             hello
             -- a/inner.txt
             x
             -- a/deep/er/file
             x
             -- c.txt
             ",
        )
    }

    fn list(workspace: &Workspace, input: Value) -> String {
        run(List, workspace, input).map_or_else(|fault| fault.text, |reply| reply.text)
    }

    #[test]
    fn directories_come_first_and_the_rest_by_name() {
        insta::assert_snapshot!(list(&workspace(), json!({})), @"
        3 entries:

        a/
        b.txt (6 bytes)
        c.txt (0 bytes)
        ");
    }

    #[test]
    fn a_tree_is_as_deep_as_it_was_asked_for() {
        insta::assert_snapshot!(list(&workspace(), json!({ "depth": 2 })), @"
        5 entries:

        a/
          deep/
          inner.txt (2 bytes)
        b.txt (6 bytes)
        c.txt (0 bytes)
        ");
        insta::assert_snapshot!(list(&workspace(), json!({ "depth": 10, "path": "a" })), @"
        4 entries:

        deep/
          er/
            file (2 bytes)
        inner.txt (2 bytes)
        ");
    }

    #[test]
    fn what_is_ignored_is_counted_and_shown_on_request() {
        let workspace = workspace();
        workspace.write(".ignore", b"a\n*.txt\n");
        insta::assert_snapshot!(list(&workspace, json!({})), @"
        1 entry:

        .ignore (8 bytes)
        (3 entries ignored)
        ");
        insta::assert_snapshot!(list(&workspace, json!({ "ignored": true })), @"
        4 entries:

        a/
        .ignore (8 bytes)
        b.txt (6 bytes)
        c.txt (0 bytes)
        ");
    }

    #[test]
    fn odd_names_and_links_are_shown_as_what_they_are() {
        let workspace = workspace();
        symlink("../out\nside", workspace.root().join("link")).unwrap();
        fs::write(workspace.root().join(OsStr::from_bytes(b"\xff\x1b[2J")), "").unwrap();
        insta::assert_snapshot!(list(&workspace, json!({})), @r#"
        5 entries:

        a/
        b.txt (6 bytes)
        c.txt (0 bytes)
        link -> ../$'out\nside'
        $'\xff\u001b[2J' (0 bytes)
        "#);
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let workspace = Workspace::new("");
        (0..1_234).for_each(|number| workspace.write(&format!("{number:04}"), b""));
        let text = list(&workspace, json!({}));
        assert!(text.starts_with("1,234 entries:\n\n0000 (0 bytes)\n"), "{text}");
        assert!(
            text.ends_with("0999 (0 bytes)\n[… 234 entries not shown: list a subdirectory, or use Glob …]\n"),
            "{text}"
        );
    }

    #[test]
    fn a_file_cannot_be_listed() {
        let fault = list(&workspace(), json!({ "path": "b.txt" }));
        assert!(fault.ends_with("b.txt is not a directory: use Read or Stat"), "{fault}");
        let fault = list(&workspace(), json!({ "path": "nowhere" }));
        assert!(fault.ends_with("nowhere: it does not exist"), "{fault}");
    }

    #[test]
    fn an_empty_directory_is_an_answer() {
        assert_eq!(list(&Workspace::new(""), json!({})).trim_end(), "The directory is empty.");
    }
}

//! `cargo xtask corpora --gtfobins DIR`: what haft says to the snippets of GTFOBins, a collection of lines with which
//! common programs run other programs, and read and write files.
//!
//! DIR is a checkout of the collection or a bare repository; nothing of it is kept here. Without rules no snippet may be
//! allowed, nor may what is left of it when its example paths are in the workspace. With a rule for its program
//! those may be that such a rule is about, for reasons that stand in a table.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::session::Session;
use crate::repository::root;

/// Where the files are, one for each program.
const FOLDER: &str = "_gtfobins";

/// The directory of the example paths in the snippets.
const EXAMPLES: &str = "/path/to/";

/// A pager runs what a person types, and its programs start none without a terminal.
const PAGERS: &str =
    "apt-get aptitude aws cargo dpkg gcloud git journalctl loginctl man rustc systemctl timedatectl";

/// Programs of the table whose rule means what their snippets do, by the reason.
const MEANT: &[(&str, &str)] = &[
    (
        "interprets code",
        "ansible-playbook cabal cpan dc dotnet ghc gnuplot guile java julia lua m4 node perl php python ruby tclsh",
    ),
    (
        "runs another program",
        "bundle busybox capsh chroot expect gdb perf pipx poetry rlwrap screen script sg systemd-run tmux uv valgrind",
    ),
    ("is an editor or a pager, which can run commands", "code ed emacs ex less more nano pg vi vim vipw"),
    ("runs the commands of a project", "cmake composer docker git go kubectl npm vagrant yarn"),
    ("installs packages, which run their scripts", "dpkg gem pip rpm yum zypper"),
    (
        "sends and fetches, by what a person types or what it is told",
        "curl ftp scp sftp telnet tftp wget whois",
    ),
    (
        "writes the files, or changes the modes, that it is told",
        "chattr chmod cp csplit dd install ln mv shred split tee",
    ),
    ("administers the system", "getent loginctl mount passwd top"),
];

pub(super) fn run(directory: &Path) -> Result<ExitCode> {
    let files = Files::at(directory)?;
    let known = programs_of_the_table()?;
    let mut counts = Counts::default();
    for name in files.names()? {
        for snippet in snippets(&files.text(&name)?) {
            counts.add(&name, &snippet, &known)?;
        }
    }
    ensure!(counts.snippets > 0, "there are no snippets in {}", directory.display());
    println!("{}", counts.text());
    let failed = !counts.unasked.is_empty() || !counts.wrong.is_empty();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The files of the collection.
enum Files {
    Checkout(PathBuf),
    Bare(PathBuf),
}

impl Files {
    fn at(directory: &Path) -> Result<Files> {
        let place = directory.display();
        if directory.join(FOLDER).is_dir() {
            return Ok(Files::Checkout(directory.join(FOLDER)));
        }
        ensure!(
            directory.join("HEAD").is_file(),
            "{place} is no checkout and no bare repository of the collection"
        );
        Ok(Files::Bare(directory.to_owned()))
    }

    fn names(&self) -> Result<BTreeSet<String>> {
        match self {
            Files::Checkout(folder) => {
                let names =
                    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
                names.collect()
            }
            Files::Bare(repository) => {
                let listed = git(repository, &["ls-tree", "--name-only", &format!("HEAD:{FOLDER}")])?;
                Ok(listed.lines().map(str::to_owned).collect())
            }
        }
    }

    fn text(&self, name: &str) -> Result<String> {
        match self {
            Files::Checkout(folder) => fs::read_to_string(folder.join(name)).with_context(|| name.to_owned()),
            Files::Bare(repository) => git(repository, &["show", &format!("HEAD:{FOLDER}/{name}")]),
        }
    }
}

fn git(repository: &Path, words: &[&str]) -> Result<String> {
    let output = Command::new("git").arg("--git-dir").arg(repository).args(words).output().context("git")?;
    ensure!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A way to misuse a program.
#[derive(Debug, PartialEq, Eq)]
struct Snippet {
    function: String,
    code: String,
}

/// The snippets of a file, those of its contexts included. Its front matter is YAML of one shape: functions at two
/// blanks, and below them `code`, on its line or as a block.
fn snippets(text: &str) -> Vec<Snippet> {
    let mut found = Vec::new();
    let mut function = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let key = line.trim_start_matches([' ', '-']);
        let depth = line.len() - key.len();
        if depth == 2 && !line.contains('-') | key.ends_with(':') {
            function = key.trim_end_matches(':').to_owned();
        }
        let Some(value) = key.strip_prefix("code:") else { continue };
        let mut code = value.trim().trim_matches(['\'', '"']).to_owned();
        if code.starts_with('|') {
            let mut block = Vec::new();
            let deeper = |line: &str| line.trim().is_empty() || line.len() - line.trim_start().len() > depth;
            while let Some(line) = lines.next_if(|line| deeper(line)) {
                block.push(line);
            }
            code = unindented(&block);
        }
        if !code.is_empty() {
            found.push(Snippet { function: function.clone(), code });
        }
    }
    found
}

fn unindented(block: &[&str]) -> String {
    let full = block.iter().filter(|line| !line.trim().is_empty());
    let least = full.map(|line| line.len() - line.trim_start().len()).min().unwrap_or_default();
    let lines: Vec<&str> = block.iter().map(|line| line.get(least..).unwrap_or_default()).collect();
    lines.join("\n").trim().to_owned()
}

/// The first words of the entries of `table.txt`.
fn programs_of_the_table() -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(root().join("crates/haft-shell/src/programs/table.txt"))?;
    let entries =
        text.lines().filter(|line| !line.starts_with([' ', '#'])).filter_map(|line| line.split_once(" = "));
    let names = entries.flat_map(|(names, _)| names.split(", "));
    Ok(names.filter_map(|name| name.split(' ').next()).map(str::to_owned).collect())
}

fn is_allowed(code: &str, rules: &Value) -> Result<bool> {
    let session = Session::elsewhere(PathBuf::from("/w/app"), PathBuf::from("/home/u"), rules)?;
    let explained = session.explain("Bash", json!({ "command": code }));
    Ok(explained.is_ok_and(|explained| explained.decision.verdict.to_string() == "allow"))
}

/// What became of the snippets.
#[derive(Default)]
struct Counts {
    snippets: usize,
    /// Allowed without a rule.
    unasked: Vec<String>,
    with_rule: usize,
    /// Allowed with a rule for the program, by why such a rule is meant so.
    meant: BTreeMap<&'static str, BTreeMap<String, usize>>,
    wrong: Vec<String>,
}

impl Counts {
    fn add(&mut self, name: &str, snippet: &Snippet, known: &BTreeSet<String>) -> Result<()> {
        let Snippet { function, code } = snippet;
        self.snippets += 1;
        let line = || format!("  {name} {function}: {code:?}");
        let reads = function == "file-read";
        // A read in the workspace is free.
        let here = code.replace(EXAMPLES, "./");
        let paged = function == "inherit" && PAGERS.split(' ').any(|pager| pager == name);
        if !paged && (is_allowed(code, &Value::Null)? || (!reads && is_allowed(&here, &Value::Null)?)) {
            self.unasked.push(line());
        }
        if reads || paged {
            return Ok(());
        }
        self.with_rule += 1;
        let rules = json!({ "allow": [format!("Bash({name}:*)")] });
        // What else the snippet runs is asked about, and would hide that this is not.
        let own: Vec<&str> = code.lines().filter(|line| line.split(' ').next() == Some(name)).collect();
        if is_allowed(code, &rules)? || (!own.is_empty() && is_allowed(&own.join("\n"), &rules)?) {
            match reason(name, known) {
                Some(reason) => {
                    *self.meant.entry(reason).or_default().entry(name.to_owned()).or_default() += 1
                }
                None => self.wrong.push(line()),
            }
        }
        Ok(())
    }

    fn text(&self) -> String {
        let mut lines = vec![
            format!("gtfobins snippets={} allowed_without_rules={}", self.snippets, self.unasked.len()),
            format!(
                "gtfobins with a rule for the program: snippets={} wrong={}",
                self.with_rule,
                self.wrong.len()
            ),
        ];
        for (reason, programs) in &self.meant {
            let names: Vec<&str> = programs.keys().map(String::as_str).collect();
            let count: usize = programs.values().sum();
            lines.push(format!("  {count} allowed: the program {reason}: {}", names.join(" ")));
        }
        lines.extend(self.unasked.iter().map(|line| format!("{line} UNSAFE without rules")));
        lines.extend(self.wrong.iter().map(|line| format!("{line} UNSAFE with a rule for the program")));
        lines.join("\n")
    }
}

/// Why a rule for this program means what its snippets do.
fn reason(name: &str, known: &BTreeSet<String>) -> Option<&'static str> {
    if !known.contains(name) {
        return Some("is not in the table, so that a rule for it covers all that it does");
    }
    let meant = MEANT.iter().find(|(_, names)| names.split_whitespace().any(|one| one == name));
    meant.map(|(reason, _)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippets_of_functions_and_contexts_are_read() {
        let text = "---\nfunctions:\n  shell:\n  - code: |-\n      one\n        two\n\n      three\n    comment: |-\n      code: no\n    contexts:\n      suid:\n        code: |-\n          four -p\n        shell: false\n  file-read:\n  - code: five x\n...\n";
        let found: Vec<(String, String)> =
            snippets(text).into_iter().map(|found| (found.function, found.code)).collect();
        let expected = [("shell", "one\n  two\n\nthree"), ("shell", "four -p"), ("file-read", "five x")];
        assert_eq!(found[0], (expected[0].0.to_owned(), expected[0].1.to_owned()));
        assert!(
            expected
                .iter()
                .all(|(function, code)| found.contains(&((*function).to_owned(), (*code).to_owned()))),
            "{found:?}"
        );
    }

    #[test]
    fn an_allowed_snippet_is_wrong_unless_the_rule_means_it() {
        let known = ["rg", "python"].map(str::to_owned).into();
        let mut counts = Counts::default();
        let shell = |code: &str| Snippet { function: "shell".to_owned(), code: code.to_owned() };
        counts.add("rg", &shell("rg --pre x y"), &known).unwrap();
        counts.add("python", &shell("python -c 'x'"), &known).unwrap();
        counts.add("unheard-of", &shell("unheard-of x"), &known).unwrap();
        counts.add("cut", &shell("cut -f1 a"), &["cut".to_owned()].into()).unwrap();
        assert_eq!((counts.snippets, counts.with_rule, counts.meant.len()), (4, 4, 2), "{}", counts.text());
        assert_eq!((counts.unasked.len(), counts.wrong.len()), (1, 1), "{}", counts.text());
    }
}

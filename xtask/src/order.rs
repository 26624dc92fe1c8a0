//! `cargo xtask order`: which functions do runs of haft use?
//!
//! valgrind watches the release binary while a scripted model has it do a little of everything, and a client asks `haft mcp` for its
//! tools. The names go to `crates/haft-cli/order.txt`, by which the linker puts these functions side by side (`build.rs` there).
//! To be run again when much has changed; what is old does no harm.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};
use haft_model::scripted::Turn;
use serde_json::json;

use crate::{
    haft::{Haft, Profile},
    repository::root,
    scripted::ScriptedModel,
};

const HEAD: &str = "\
# The functions that runs of haft use, made by `cargo xtask order`. A name that ends in 17h is good for all with that beginning:
# what follows it there is a hash, another one for each compiler and version of a crate.
";

/// Of a name that several functions share, all are taken if those that were used are at least this share of their bytes.
const SHARE: f64 = 0.3;

pub(crate) fn run() -> Result<ExitCode> {
    let place = tempfile::tempdir()?;
    let haft = Haft::build(Profile::Release, place.path().join("home"))?;
    let project = project(place.path())?;
    let mut used = BTreeSet::new();
    used.extend(watched(haft_run(&haft, &project)?, &place.path().join("run"))?);
    used.extend(watched(haft_mcp(&haft, &project)?, &place.path().join("mcp"))?);
    let there = functions(haft.command(&project, &[]).get_program().as_ref())?;
    let names = names(&used, &there);
    let list = root().join("crates/haft-cli/order.txt");
    fs::write(&list, format!("{HEAD}{}\n", names.join("\n")))?;
    println!("{} names in {}", names.len(), list.display());
    Ok(ExitCode::SUCCESS)
}

fn project(place: &Path) -> Result<PathBuf> {
    let project = place.join("project");
    fs::create_dir_all(project.join(".git"))?;
    for file in ["a.txt", "b.txt"] {
        fs::write(project.join(file), format!("a line of {file}\n").repeat(20))?;
    }
    Ok(project)
}

/// A command, what it reads, and what has to live as long as it runs.
struct Watch {
    command: Command,
    stdin: Stdio,
    _model: Option<ScriptedModel>,
}

fn haft_run(haft: &Haft, project: &Path) -> Result<Watch> {
    let call = |name: &str, input| Turn::new().text("So.").call(name, input);
    let turns = [
        call("Read", json!({ "file_path": "a.txt" })).call("Read", json!({ "file_path": "b.txt" })),
        call("Bash", json!({ "command": "echo done" })),
        call("Grep", json!({ "pattern": "line", "output_mode": "content" })),
        call("Glob", json!({ "pattern": "*.txt" })),
        call(
            "Edit",
            json!({ "file_path": "a.txt", "old_string": "a line", "new_string": "b", "replace_all": true }),
        ),
        call("Write", json!({ "file_path": "c.txt", "content": "new\n" })),
        call("TodoWrite", json!({ "todos": [{ "content": "more", "status": "pending" }] })),
        call("Read", json!({ "file_path": "/etc/shadow" })),
        call("Raed", json!({})),
    ];
    let mut turns = turns.into_iter();
    let model = ScriptedModel::start(move |_, _| turns.next().unwrap_or_else(|| Turn::new().text("Done.")))?;
    let options = model.options();
    let mut words = vec!["run", "-q", "--allow", "Bash", "--allow", "Edit(**)", "Work"];
    words.extend(options.iter().map(String::as_str));
    Ok(Watch { command: haft.command(project, &words), stdin: Stdio::null(), _model: Some(model) })
}

fn haft_mcp(haft: &Haft, project: &Path) -> Result<Watch> {
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "order", "version": "1" } });
    let requests = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call",
                "params": { "name": "Read", "arguments": { "file_path": "b.txt" } } }),
    ];
    let lines: Vec<String> = requests.iter().map(ToString::to_string).collect();
    let asked = project.join("requests");
    fs::write(&asked, lines.join("\n") + "\n")?;
    let stdin = fs::File::open(asked)?.into();
    Ok(Watch { command: haft.command(project, &["mcp"]), stdin, _model: None })
}

/// The functions that a command uses, by the names that they have in the binary.
fn watched(watch: Watch, notes: &Path) -> Result<Vec<String>> {
    let Watch { command, stdin, _model } = watch;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind", "--demangle=no"]);
    valgrind.arg(format!("--callgrind-out-file={}", notes.display()));
    valgrind.arg(command.get_program()).args(command.get_args()).env_clear();
    valgrind.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    valgrind.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
    valgrind.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
    let status = valgrind.status().context("valgrind, which has to be installed")?;
    ensure!(status.success(), "haft ended with {status} below valgrind");
    let text = fs::read(notes)?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(function).map(str::to_owned).collect())
}

/// The name in a line like `fn=(12) name'2`: a name is written where it first occurs, with a number if it called itself.
fn function(line: &str) -> Option<&str> {
    let (_, name) = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn="))?.split_once(") ")?;
    Some(name.split('\'').next().unwrap_or(name))
}

/// All functions of a program, and how many bytes each has.
fn functions(program: &Path) -> Result<BTreeMap<String, u64>> {
    let output = Command::new("nm").arg("--print-size").arg(program).output().context("nm")?;
    ensure!(output.status.success(), "nm does not read {}", program.display());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let function = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, size, kind, name] = words[..] else { return None };
        let is_code = matches!(kind, "t" | "T" | "w" | "W");
        Some((name.to_owned(), u64::from_str_radix(size, 16).ok().filter(|_| is_code)?))
    };
    Ok(text.lines().filter_map(function).collect())
}

/// What is written: names without their hashes, where that means few others; then what was used of the rest, and the rest of it,
/// for binaries in which the hashes are not these.
fn names(used: &BTreeSet<String>, there: &BTreeMap<String, u64>) -> Vec<String> {
    let mut alike: BTreeMap<&str, (u64, u64, Vec<&str>)> = BTreeMap::new();
    for (name, size) in there {
        let (all, of_it, names) = alike.entry(stem(name)).or_default();
        *all += size;
        if used.contains(name) {
            *of_it += size;
            names.push(name);
        }
    }
    alike.retain(|_, (.., names)| !names.is_empty());
    let is_whole = |(all, of_it, _): &(u64, u64, Vec<&str>)| *of_it as f64 >= SHARE * *all as f64;
    let whole = alike.iter().filter(|(_, found)| is_whole(found)).map(|(stem, _)| *stem);
    let parts = || alike.iter().filter(|(_, found)| !is_whole(found));
    let exactly = parts().flat_map(|(_, (.., names))| names.iter().copied());
    whole.chain(exactly).chain(parts().map(|(stem, _)| *stem)).map(str::to_owned).collect()
}

/// A name without the hash at its end.
fn stem(name: &str) -> &str {
    const HASH: usize = "0123456789abcdefE".len();
    let is_hash =
        |hash: &str| hash.ends_with('E') && hash[..HASH - 1].bytes().all(|byte| byte.is_ascii_hexdigit());
    match name.len().checked_sub(HASH).and_then(|at| name.split_at_checked(at)) {
        Some((stem, hash)) if stem.starts_with("_ZN") && stem.ends_with("17h") && is_hash(hash) => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_from_its_first_line_and_loses_its_hash() {
        assert_eq!(
            function("fn=(7) _ZN4haft4main17h0123456789abcdefE'2"),
            Some("_ZN4haft4main17h0123456789abcdefE")
        );
        assert_eq!(function("fn=(7)"), None);
        assert_eq!(function("calls=1 2"), None);
        assert_eq!(stem("_ZN4haft4main17h0123456789abcdefE"), "_ZN4haft4main17h");
        assert_eq!(stem("sqlite3VdbeExec"), "sqlite3VdbeExec");
        assert_eq!(stem("_ZN4haft4main17h0123456789abcdeXE"), "_ZN4haft4main17h0123456789abcdeXE");
    }

    #[test]
    fn a_name_that_many_share_is_taken_exactly_and_then_for_all() {
        let one = |name: &str, hash: u8| format!("_ZN{name}17h{:016x}E", hash);
        let there: BTreeMap<String, u64> =
            [(one("a", 1), 10), (one("b", 1), 10), (one("b", 2), 90), (one("c", 1), 10), ("d".to_owned(), 5)]
                .into();
        let used = [one("a", 1), one("b", 1), "d".to_owned()].into();
        assert_eq!(names(&used, &there), ["_ZNa17h", "d", &one("b", 1), "_ZNb17h"]);
    }
}

//! `cargo xtask new-tool NAME`: the file of a new tool, and its two lines in `lib.rs`.
//!
//! Text in, text out; only `run` touches files. What is written compiles and passes its test, so that the work begins
//! at a green state.

use std::{fs, process::ExitCode};

use anyhow::{Context, Result, bail};

use crate::repository::{cargo, root, succeeds};

/// Words that are no names of modules.
const KEYWORDS: [&str; 24] = [
    "as", "async", "await", "box", "break", "const", "crate", "do", "dyn", "else", "enum", "extern", "for",
    "if", "in", "let", "loop", "match", "mod", "move", "self", "try", "type", "use",
];

pub(crate) fn run(name: &str) -> Result<ExitCode> {
    let folder = root().join("crates/haft-tools/src");
    let (file, lib) = (folder.join(format!("{name}.rs")), folder.join("lib.rs"));
    let registered = registered(&fs::read_to_string(&lib)?, name)?;
    if file.exists() || folder.join(name).exists() {
        bail!("crates/haft-tools/src/{name}.rs is there already");
    }
    fs::write(&file, scaffold(name))?;
    fs::write(&lib, registered)?;
    succeeds(&mut cargo(&["fmt", "--package", "haft-tools"]))?;
    println!("crates/haft-tools/src/{name}.rs is the tool {}, and lib.rs lists it", type_name(name));
    println!("write what it tells the model, then: cargo test -p haft-tools {name}");
    Ok(ExitCode::SUCCESS)
}

/// `lib.rs` with the module and the line in `builtin()`.
fn registered(lib: &str, name: &str) -> Result<String> {
    check(name)?;
    if lib.lines().any(|line| module_of(line).is_some_and(|(module, _)| module == name)) {
        bail!("there is a tool `{name}` already");
    }
    with_entry(&with_module(lib, name)?, name)
}

fn check(name: &str) -> Result<()> {
    let is_plain = |ch: char| ch.is_ascii_lowercase() || ch.is_ascii_digit() || ch == '_';
    let is_good = name.starts_with(|ch: char| ch.is_ascii_lowercase()) && name.chars().all(is_plain);
    if !is_good || name.contains("__") || name.ends_with('_') {
        bail!("`{name}` is no name for a file of a tool; write it like word_count");
    }
    if KEYWORDS.contains(&name) {
        bail!("`{name}` is a word of Rust; add another one");
    }
    Ok(())
}

/// `word_count` is the file of `WordCount`.
fn type_name(name: &str) -> String {
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    name.split('_').map(capital).collect()
}

/// The name and the comment of a line that declares a module.
fn module_of(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix("mod ")?.split_once(';')?;
    Some((name, rest.trim().trim_start_matches("//").trim()))
}

/// The list of modules with one more, in the order of the alphabet where it has that, and its comments in one column.
fn with_module(lib: &str, name: &str) -> Result<String> {
    let lines: Vec<&str> = lib.lines().collect();
    let from = lines.iter().position(|line| module_of(line).is_some()).context("lib.rs has no modules")?;
    let mut modules: Vec<(&str, &str)> = lines[from..].iter().map_while(|line| module_of(line)).collect();
    let to = from + modules.len();
    let comment = format!("{}: what it does, in a few words", type_name(name));
    let place = modules.iter().position(|(module, _)| *module > name).unwrap_or(modules.len());
    modules.insert(place, (name, &comment));

    let widest = modules.iter().map(|(module, _)| module.len()).max().unwrap_or_default();
    let declared = modules.iter().map(|(module, comment)| {
        let gap = " ".repeat(widest - module.len() + 2);
        format!("mod {module}; //{gap}{comment}")
    });
    let kept = |part: &[&str]| part.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let all: Vec<String> =
        kept(&lines[..from]).into_iter().chain(declared).chain(kept(&lines[to..])).collect();
    Ok(all.join("\n") + "\n")
}

/// The list in `builtin()` with one more.
fn with_entry(lib: &str, name: &str) -> Result<String> {
    let function = lib.find("fn builtin()").context("lib.rs has no function builtin()")?;
    let list = function + lib[function..].find("vec![").context("builtin() has no vec![…]")?;
    let end = list + lib[list..].find(']').context("the list of builtin() has no end")?;
    let before = lib[..end].trim_end();
    let comma = if before.ends_with([',', '[']) { "" } else { "," };
    let space = if lib[list..end].contains('\n') { "\n        " } else { " " };
    let last = if space == " " { "" } else { ",\n    " };
    Ok(format!("{before}{comma}{space}{name}::{}.into_tool(){last}{}", type_name(name), &lib[end..]))
}

/// The file: typed input, spec, effects, description, call, test.
fn scaffold(name: &str) -> String {
    TEMPLATE.replace("TOOL", &type_name(name))
}

const TEMPLATE: &str = r#"//! `TOOL`: what it does, in a few words.

use haft_tool::{AbsolutePath, Cx, Effects, Fault, Reply, Spec, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Tells whether something is at a path.
///
/// Use it when … . A missing path is an answer, not an error. It fails only where … .
/// To …, use … instead.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TOOLInput {
    /// The path to look at.
    path: AbsolutePath,
}

pub(crate) struct TOOL;

impl Tool for TOOL {
    type Input = TOOLInput;
    const SPEC: Spec = Spec::new("TOOL").toolset("readonly");

    fn effects(&self, input: &TOOLInput) -> Effects {
        Effects::reads(&input.path)
    }

    fn describe(&self, input: &TOOLInput) -> String {
        format!("Look at {}", input.path.display())
    }

    async fn call(&self, input: TOOLInput, cx: &Cx) -> Result<Reply, Fault> {
        let files = cx.files();
        let found = cx.blocking(move || files.metadata(&input.path)).await?;
        Ok(Reply::text(if found.is_some() { "something is there" } else { "nothing is there" }))
    }
}

#[cfg(test)]
mod tests {
    use haft_testkit::{Workspace, run};
    use serde_json::json;

    use super::TOOL;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let workspace = Workspace::new(
            "-- src/main.rs
             fn main() {}",
        );
        assert_eq!(run(TOOL, &workspace, json!({ "path": path })).expect("a reply").text, expected);
    }

    #[test]
    fn a_missing_path_is_an_answer() {
        check("src/main.rs", "something is there");
        check("src/mian.rs", "nothing is there");
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "\
//! The tools.

mod list; //         List: what is in a directory
mod tool_search; //  ToolSearch: finds tools

use haft_tool::{IntoTool, SharedTool};

pub fn builtin() -> Vec<SharedTool> {
    vec![list::List.into_tool()]
}
";

    #[test]
    fn a_tool_gets_its_two_lines() {
        let expected = "\
//! The tools.

mod list; //                List: what is in a directory
mod the_longest_of_all; //  TheLongestOfAll: what it does, in a few words
mod tool_search; //         ToolSearch: finds tools

use haft_tool::{IntoTool, SharedTool};

pub fn builtin() -> Vec<SharedTool> {
    vec![list::List.into_tool(), the_longest_of_all::TheLongestOfAll.into_tool()]
}
";
        assert_eq!(registered(LIB, "the_longest_of_all").unwrap(), expected);
    }

    #[test]
    fn a_list_of_several_lines_stays_one() {
        let lib =
            LIB.replace("vec![list::List.into_tool()]", "vec![\n        list::List.into_tool(),\n    ]");
        let found = registered(&lib, "stat").unwrap();
        let list = "vec![\n        list::List.into_tool(),\n        stat::Stat.into_tool(),\n    ]";
        assert!(found.contains(list), "{found}");
    }

    #[track_caller]
    fn refuses(name: &str, expected: &str) {
        assert_eq!(registered(LIB, name).unwrap_err().to_string(), expected);
    }

    #[test]
    fn names_that_are_taken_or_no_names_are_refused() {
        refuses("list", "there is a tool `list` already");
        refuses("WordCount", "`WordCount` is no name for a file of a tool; write it like word_count");
        refuses("../x", "`../x` is no name for a file of a tool; write it like word_count");
        refuses("move", "`move` is a word of Rust; add another one");
    }

    #[test]
    fn the_real_list_takes_a_new_tool() {
        let lib = fs::read_to_string(root().join("crates/haft-tools/src/lib.rs")).unwrap();
        let found = registered(&lib, "a_new_one").unwrap();
        assert!(found.contains("\nmod a_new_one; //"), "{found}");
        assert!(found.contains("a_new_one::ANewOne.into_tool()"), "{found}");
        assert_eq!(
            found.lines().filter(|line| line.starts_with("mod ")).count(),
            1 + lib.matches("\nmod ").count()
        );
    }

    #[test]
    fn the_file_is_named_after_the_tool() {
        let file = scaffold("word_count");
        assert!(file.starts_with("//! `WordCount`: "));
        assert!(file.contains("impl Tool for WordCount {") && !file.contains("TOOL"));
    }
}

//! `Skill`: instructions for a kind of work, loaded when they are wanted.
//!
//! A skill is a folder with a file `SKILL.md`: a few lines of front matter, which say what it is for, and the instructions.
//! The model sees what each is for, and gets the rest when it asks. Nothing of a skill is ever run by loading it: what the
//! instructions say to do is done by calls, and each of those is judged. Where skills come from, and whether they are
//! trusted, is decided by whoever makes the [`Sheet`]s.

use std::{fmt::Write as _, path::PathBuf, sync::Arc};

use haft_tool::{
    Effects, Fault, Reply, SharedTool, Spec, ToolBuilder,
    front_matter::{divided, is_name, mended, one_line},
    shown,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// So much of the instructions is given to the model.
const MOST_SHOWN: usize = 64 * 1024;
/// So much of the front matter is read.
const MOST_FRONT: usize = 16 * 1024;
/// So many characters of a description are listed.
const MOST_DESCRIBED: usize = 240;
/// So many bytes the list may have before only names are listed.
const MOST_LISTED: usize = 4 * 1024;
/// So many files beside a skill are named.
const MOST_FILES: usize = 50;

/// A skill, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// What the model calls it.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// The instructions.
    pub body: String,
    /// Where it is.
    pub directory: PathBuf,
    /// The other files in it, as they are named from there.
    pub files: Vec<String>,
}

/// What the front matter says. Other keys are for others.
#[derive(Deserialize)]
struct Front {
    name: Option<String>,
    description: Option<String>,
}

impl Sheet {
    /// Reads a `SKILL.md`; `directory` is where it is. The name is the folder's where the file gives none. What is wrong
    /// with it is said in words that end "SKILL.md: …".
    pub fn read(text: &str, directory: PathBuf) -> Result<Sheet, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (front, body) = divided(text)?;
        if front.len() > MOST_FRONT {
            return Err(format!("its front matter has more than {MOST_FRONT} bytes"));
        }
        let front: Front = serde_saphyr::from_str(front)
            .or_else(|err| serde_saphyr::from_str(&mended(front)).map_err(|_| unread(&err)))?;
        let folder = || directory.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = front.name.or_else(folder).unwrap_or_default();
        if !is_name(&name) {
            return Err(format!(
                "`{}` is no name: letters, digits, `-`, `_`, `.` and `:`, at most 64",
                name.escape_debug()
            ));
        }
        let description = one_line(&front.description.unwrap_or_default(), MOST_DESCRIBED);
        if description.is_empty() {
            return Err("it has no `description`, by which a model would know when to use it".to_owned());
        }
        Ok(Sheet { name, description, body: body.trim().to_owned(), directory, files: Vec::new() })
    }
}

fn unread(err: &serde_saphyr::Error) -> String {
    let what = err.to_string();
    format!("its front matter is no YAML of names and values: {}", what.lines().next().unwrap_or_default())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SkillInput {
    /// The skill's name.
    skill: String,
    /// What it is to be used on, for your own notes.
    #[serde(default)]
    args: Option<String>,
}

/// The tool for these skills; of two with one name the first counts. `None` where there are none: then there is no tool.
pub fn skill(sheets: impl IntoIterator<Item = Sheet>) -> Option<SharedTool> {
    let mut skills: Vec<Sheet> = Vec::new();
    for sheet in sheets {
        if !skills.iter().any(|known| known.name == sheet.name) {
            skills.push(sheet);
        }
    }
    if skills.is_empty() {
        return None;
    }
    skills.sort_by(|one, other| one.name.cmp(&other.name));
    let spec = Spec::new("Skill")
        .toolset("readonly")
        .aliases(&["skill", "use_skill", "activate_skill"])
        .search_hint("skill instructions guide how to workflow");
    let (prompt, skills) = (prompt(&skills), Arc::new(skills));
    Some(
        ToolBuilder::<SkillInput>::of(spec)
            .prompt(prompt)
            // They are read already.
            .effects(|_| Effects::none())
            .describe(|input| format!("Use the skill {}", input.skill))
            .call(move |input, _| std::future::ready(load(&skills, &input))),
    )
}

fn prompt(skills: &[Sheet]) -> String {
    let mut prompt = String::from(
        "Loads a skill: instructions for a kind of work, written by the user or for this project.\n\n\
         Use it as soon as one of these fits what is asked, before you begin. Follow what it says as far as it serves the \
         request. It fails if there is no such skill. Skills:",
    );
    let described: usize = skills.iter().map(|sheet| sheet.name.len() + sheet.description.len() + 5).sum();
    for sheet in skills {
        // Writing to a String cannot fail.
        let _ = match described > MOST_LISTED {
            true => write!(prompt, " {}", sheet.name),
            false => write!(prompt, "\n- {}: {}", sheet.name, sheet.description),
        };
    }
    prompt
}

fn load(skills: &[Sheet], input: &SkillInput) -> Result<Reply, Fault> {
    let found = skills.iter().find(|sheet| sheet.name == input.skill);
    let sheet = found.ok_or_else(|| unknown(skills, &input.skill))?;
    let mut text = format!("Skill {} (in {}):\n\n", sheet.name, shown(&sheet.directory));
    let cut = sheet.body.floor_char_boundary(MOST_SHOWN);
    text.push_str(&sheet.body[..cut]);
    if cut < sheet.body.len() {
        let _ = write!(text, "\n\n[{} more bytes in SKILL.md there]", sheet.body.len() - cut);
    }
    if !sheet.files.is_empty() {
        let named: Vec<&str> = sheet.files.iter().take(MOST_FILES).map(String::as_str).collect();
        let more = sheet.files.len().saturating_sub(MOST_FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ =
            write!(text, "\n\n[Files of this skill, relative to that directory: {}{more}]", named.join(", "));
    }
    let about = input.args.as_deref().filter(|args| !args.is_empty());
    Ok(Reply::text(text).observed(about.map_or_else(
        || format!("Loaded {}", sheet.name),
        |args| format!("Loaded {} for: {args}", sheet.name),
    )))
}

fn unknown(skills: &[Sheet], name: &str) -> Fault {
    let names: Vec<&str> = skills.iter().map(|sheet| sheet.name.as_str()).collect();
    let name: String = name.chars().take(80).collect();
    Fault::rejected(format!(
        "there is no skill `{}`; the skills are: {}",
        name.escape_debug(),
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use haft_testkit::{Workspace, run};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(&str, &str, &str), &str>) {
        let read = Sheet::read(text, "/s/pdf".into());
        match (read, expected) {
            (Ok(sheet), Ok(expected)) => {
                assert_eq!((sheet.name.as_str(), sheet.description.as_str(), sheet.body.as_str()), expected);
            }
            (Err(what), Err(expected)) => assert!(what.contains(expected), "{what}"),
            (read, _) => panic!("{read:?}"),
        }
    }

    #[test]
    fn front_matter_says_what_it_is_for() {
        check("---\nname: a-b\ndescription: Does x\n---\nDo x.\n", Ok(("a-b", "Does x", "Do x.")));
        check(
            "---\r\ndescription: >\r\n  two\r\n  lines\r\nlicense: MIT\r\n---\r\nx",
            Ok(("pdf", "two lines", "x")),
        );
        check("\u{feff}---\ndescription: \"--- x\"\n---\n---\n", Ok(("pdf", "--- x", "---")));
        check("no front matter", Err("does not begin with"));
        check("---\ndescription: x\n", Err("has no end"));
        check("---\ndescription: Use it so: now\n---\nx", Ok(("pdf", "Use it so: now", "x")));
        check("---\nname: x\n---\n", Err("no `description`"));
        check("---\nname: ../x\ndescription: x\n---\n", Err("is no name"));
        check("---\nname: [a\n---\n", Err("no YAML"));
        check("---\n- a\n---\n", Err("no YAML"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "(---\n)?[a-z&*!:\\[\\]{}>|'\"# \n-]{0,80}(\n---\n)?[a-z]{0,4}") {
            let _ = Sheet::read(&text, "/s/x".into());
        }
    }

    fn sheet(name: &str, body: &str) -> Sheet {
        let text = format!("---\nname: {name}\ndescription: For {name}.\n---\n{body}");
        Sheet { files: vec!["fill.py".to_owned()], ..Sheet::read(&text, "/s/pdf".into()).unwrap() }
    }

    #[test]
    fn what_each_is_for_stands_in_the_prompt_and_the_rest_comes_when_asked_for() {
        let tool = skill([sheet("pdf", "Fill forms."), sheet("a", "A."), sheet("pdf", "Another.")]).unwrap();
        assert!(tool.prompt().ends_with("Skills:\n- a: For a.\n- pdf: For pdf."), "{}", tool.prompt());
        let workspace = Workspace::new("");
        let loaded = run(tool.clone(), &workspace, json!({ "skill": "pdf" })).unwrap();
        insta::assert_snapshot!(loaded.text, @"
        Loaded pdf

        Skill pdf (in /s/pdf):

        Fill forms.

        [Files of this skill, relative to that directory: fill.py]
        ");
        let unknown = run(tool, &workspace, json!({ "skill": "word" })).unwrap_err();
        assert_eq!(unknown.text, "there is no skill `word`; the skills are: a, pdf");
    }

    #[test]
    fn where_there_are_none_there_is_no_tool_and_many_do_not_fill_the_prompt() {
        assert!(skill([]).is_none());
        let many = (0..200).map(|at| sheet(&format!("skill-{at}"), "x"));
        let prompt = skill(many).unwrap().prompt().len();
        assert!(prompt < 5_000, "{prompt}");
    }

    #[test]
    fn long_instructions_are_cut_and_that_is_said() {
        let tool = skill([sheet("long", &"é".repeat(40_000))]).unwrap();
        let loaded = run(tool, &Workspace::new(""), json!({ "skill": "long" })).unwrap();
        assert!(loaded.text.contains("[14464 more bytes in SKILL.md there]"), "{}", &loaded.text[65_000..]);
    }
}

//! The skills that there are: the user's own, and those of a workspace that is trusted.
//!
//! Of a workspace nothing is read here: it was read once, when it was compared with what was trusted, and that is what
//! counts. One that cannot be used is left out, and that is said.

use std::{
    fs,
    path::{Path, PathBuf},
};

use haft_engine::policy::{Origin, Written, path_rule};
use haft_tools::Sheet;

use crate::{
    out::Talk,
    place,
    trust::{Brought, revealed_line},
};

/// Where a workspace keeps skills, in the order in which they count.
const IN_WORKSPACE: [&str; 2] = [".haft/skills", ".claude/skills"];
const SHEET: &str = "SKILL.md";

const MOST: usize = 200;
const MOST_BYTES: u64 = 256 * 1024;
const MOST_FILES: usize = 200;

/// What was found, for an engine and its sessions.
#[derive(Debug, Default)]
pub(crate) struct Skills {
    pub(crate) sheets: Vec<Sheet>,
    /// Reading on in a skill of the user's needs no question.
    pub(crate) rules: Vec<Written>,
}

impl Skills {
    /// The user's come first: no workspace takes their names.
    pub(crate) fn find(trusted: Option<&Brought>, talk: Talk) -> Skills {
        let mut skills = Skills::default();
        if let Some(directory) = place::user_skills() {
            skills.users(&directory, talk);
        }
        if let Some(brought) = trusted {
            IN_WORKSPACE.iter().for_each(|place| skills.brought(brought, place, talk));
        }
        skills
    }

    fn users(&mut self, directory: &Path, talk: Talk) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        folders.truncate(MOST);
        for folder in folders {
            let file = folder.join(SHEET);
            let Ok(about) = fs::metadata(&file) else { continue };
            let read = match about.len() <= MOST_BYTES {
                true => fs::read_to_string(&file).map_err(|err| err.to_string()),
                false => Err(format!("it has more than {MOST_BYTES} bytes")),
            };
            let sheet = read.and_then(|text| Sheet::read(&text, folder.clone()));
            self.take(sheet.map(|sheet| Sheet { files: files(&folder), ..sheet }), &file, talk);
        }
        if !self.sheets.is_empty() {
            self.rules.push(Written::new(path_rule("Read", directory), Origin::Haft));
        }
    }

    fn brought(&mut self, brought: &Brought, place: &str, talk: Talk) {
        let below =
            |path: &str| path.strip_prefix(place).and_then(|rest| rest.strip_prefix('/')).map(str::to_owned);
        for content in &brought.bundle.files {
            let Some(folder) = below(&content.path)
                .and_then(|rest| Some(rest.strip_suffix(SHEET)?.strip_suffix('/')?.to_owned()))
            else {
                continue;
            };
            if folder.contains('/') {
                continue; // A skill is a folder of the list, not of another skill.
            }
            let directory = brought.workspace.join(place).join(&folder);
            let text = str::from_utf8(&content.bytes).map_err(|_| "it is not UTF-8".to_owned());
            let root = format!("{place}/{folder}/");
            let others = brought.bundle.files.iter().filter_map(|file| file.path.strip_prefix(&root));
            let files = others.filter(|name| *name != SHEET).take(MOST_FILES).map(str::to_owned).collect();
            let sheet = text.and_then(|text| Sheet::read(text, directory.clone()));
            self.take(sheet.map(|sheet| Sheet { files, ..sheet }), &directory.join(SHEET), talk);
        }
    }

    fn take(&mut self, sheet: Result<Sheet, String>, file: &Path, talk: Talk) {
        match sheet {
            Ok(sheet) => self.sheets.push(sheet),
            Err(what) => {
                talk.say(|| revealed_line(&format!("{}: {what}; the skill is left out", file.display())))
            }
        }
    }
}

/// The files beside a skill, one level of folders deep.
fn files(folder: &Path) -> Vec<String> {
    let names = |directory: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).take(MOST_FILES).collect()
    };
    let below = |path: PathBuf| if path.is_dir() { names(&path) } else { vec![path] };
    let mut files: Vec<String> = names(folder)
        .into_iter()
        .flat_map(below)
        .filter_map(|path| Some(path.strip_prefix(folder).ok()?.to_str()?.to_owned()))
        .filter(|name| name != SHEET)
        .take(MOST_FILES)
        .collect();
    files.sort();
    files
}

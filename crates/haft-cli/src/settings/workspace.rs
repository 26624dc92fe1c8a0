//! What a workspace's own file may not say: found key by key, left out, and noted.

use haft_engine::policy::Mode;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    Note, Settings,
    file::File,
    keys::{FromWorkspace, Key, Step, step, strictness},
};

impl<'a> File<'a> {
    /// The tree without what would loosen these settings, and what that was.
    pub(super) fn tightening(
        self,
        mut table: Spanned<DeTable<'a>>,
        below: &Settings,
    ) -> (Spanned<DeTable<'a>>, Vec<Note>) {
        let mut notes = Vec::new();
        self.tighten(&mut Vec::new(), table.get_mut(), below, &mut notes);
        notes.sort_by_key(|note| note.line);
        (table, notes)
    }

    fn tighten(
        self,
        path: &mut Vec<String>,
        table: &mut DeTable<'a>,
        below: &Settings,
        notes: &mut Vec<Note>,
    ) {
        for (key, mut value) in std::mem::take(table) {
            path.push(key.get_ref().to_string());
            let objection = match (step(path), value.get_mut()) {
                (Step::Setting(known), value) => objection(known, path, value, below),
                (_, DeValue::Table(inner)) => {
                    self.tighten(path, inner, below, notes);
                    None
                }
                _ => None,
            };
            let name = path.join(".");
            path.pop();
            match objection {
                None => drop(table.insert(key, value)),
                Some(why) => {
                    notes.push(self.note(key.span(), format!("`{name}` does not count here: {why}")))
                }
            }
        }
    }
}

/// Why a value does not count, if it does not.
fn objection(key: &Key, path: &[String], value: &DeValue<'_>, below: &Settings) -> Option<String> {
    match key.from_workspace {
        FromWorkspace::Counts => None,
        FromWorkspace::Never(why) => Some(why.to_owned()),
        FromWorkspace::Only(wanted) => {
            (value.as_bool() != Some(wanted)).then(|| format!("a workspace may only set it to {wanted}"))
        }
        FromWorkspace::Word(wanted) => {
            (value.as_str() != Some(wanted)).then(|| format!("a workspace may only set it to \"{wanted}\""))
        }
        FromWorkspace::Lower(holds) => {
            let holds = holds(below);
            // Without it nothing would hold; whatever is written is lower then.
            let is_lower = figure(value).is_some_and(|figure| figure <= holds);
            (!is_lower).then(|| format!("a workspace may only lower it, and {holds} holds without it"))
        }
        FromWorkspace::StricterMode => looser(value, below),
        FromWorkspace::NewName => {
            let name = path.last().map(String::as_str).unwrap_or_default();
            let taken = below.toolsets.contains_key(name);
            taken.then(|| "the name has a meaning already, which a workspace does not change".to_owned())
        }
        FromWorkspace::NewServer => {
            let taken = path.get(2).is_some_and(|name| below.mcp.reaches(name));
            taken.then(|| {
                "the server is somebody else's already, which a workspace does not change".to_owned()
            })
        }
    }
}

fn figure(value: &DeValue<'_>) -> Option<usize> {
    let integer = value.as_integer()?;
    usize::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn looser(value: &DeValue<'_>, below: &Settings) -> Option<String> {
    let wanted: Mode = value.as_str()?.parse().ok()?;
    let holds = below.mode.unwrap_or_default();
    let needed = strictness(holds).max(strictness(Mode::Default));
    if strictness(wanted) >= needed {
        return None;
    }
    let words = if strictness(holds) > strictness(wanted) && holds != Mode::Default {
        format!("a workspace may only make it stricter, and {holds} holds without it")
    } else {
        "of a workspace only default, dont-ask and plan count".to_owned()
    };
    Some(words)
}

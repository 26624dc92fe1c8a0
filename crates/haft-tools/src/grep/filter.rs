//! In which files to search: names and types.

use std::path::Path;

use haft_tool::Fault;
use ignore::{
    Match,
    overrides::{Override, OverrideBuilder},
    types::{FileTypeDef, Types, TypesBuilder},
};

use super::GrepInput;

/// Which files and directories are looked at.
pub(super) struct Filter {
    globs: Override,
    types: Types,
    names_hidden: bool,
}

impl Filter {
    pub(super) fn new(input: &GrepInput, root: &Path) -> Result<Filter, Fault> {
        let globs = input.glob.as_deref().unwrap_or_default();
        Ok(Filter {
            // Patterns are matched against paths below the root, so that it has no name here.
            globs: compile(globs, root)?,
            types: input.file_type.as_deref().map_or(Ok(Types::empty()), only)?,
            names_hidden: split(globs).any(|glob| !glob.starts_with('!') && names_hidden(glob)),
        })
    }

    /// Whether a pattern speaks of names with a dot in front: then they are meant to be found.
    pub(super) fn names_hidden(&self) -> bool {
        self.names_hidden
    }

    /// Whether to search a file, or to go into a directory.
    pub(super) fn admits(&self, path: &Path, is_directory: bool) -> bool {
        let left_out = |found: Match<()>| matches!(found, Match::Ignore(()));
        (self.globs.is_empty() || !left_out(self.globs.matched(path, is_directory).map(drop)))
            && (is_directory || self.types.is_empty() || !left_out(self.types.matched(path, false).map(drop)))
    }
}

/// Whether a part of a pattern's path begins with a dot.
pub(crate) fn names_hidden(glob: &str) -> bool {
    glob.split('/').any(|part| part.starts_with('.') && part != "." && part != "..")
}

fn compile(globs: &str, root: &Path) -> Result<Override, Fault> {
    // Relative to nothing: what is matched begins at the root of the walk.
    let mut builder = OverrideBuilder::new("");
    for glob in split(globs) {
        let (not, pattern) = glob.strip_prefix('!').map_or(("", glob), |pattern| ("!", pattern));
        // A model that was shown absolute paths may well write one.
        let below = Path::new(pattern).strip_prefix(root).ok().and_then(Path::to_str);
        let pattern = below.map_or(pattern.trim_start_matches("./").to_owned(), |below| format!("/{below}"));
        builder.add(&format!("{not}{pattern}")).map_err(|err| wrong(glob, &err))?;
    }
    builder.build().map_err(|err| wrong(globs, &err))
}

/// Blanks and commas stand between patterns, except inside braces.
fn split(globs: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    globs
        .split(move |c: char| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && (c == ',' || c.is_whitespace())
        })
        .filter(|glob| !glob.is_empty())
}

fn wrong(glob: &str, err: &ignore::Error) -> Fault {
    Fault::rejected(format!(
        "the glob `{glob}` is not valid: {err}; write it as in `*.rs` or `src/**/*.{{ts,tsx}}`"
    ))
}

fn only(wanted: &str) -> Result<Types, Fault> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let known = builder.definitions();
    // Extensions are not always names of types: `rs` is rust.
    let name = type_named(&known, wanted).ok_or_else(|| unknown(wanted, &known))?;
    builder.select(name).build().map_err(|err| Fault::rejected(format!("the type `{wanted}`: {err}")))
}

fn type_named<'a>(known: &'a [FileTypeDef], wanted: &str) -> Option<&'a str> {
    let wanted = wanted.trim_start_matches('.').to_lowercase();
    let by_name = known.iter().find(|one| one.name() == wanted);
    let suffix = format!("*.{wanted}");
    let by_suffix = || known.iter().find(|one| one.globs().contains(&suffix));
    by_name.or_else(by_suffix).map(FileTypeDef::name)
}

fn unknown(wanted: &str, known: &[FileTypeDef]) -> Fault {
    let near = haft_schema::nearest(wanted, known.iter().map(FileTypeDef::name));
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    Fault::rejected(format!(
        "there is no file type `{wanted}`{near} Common ones are rust, py, js, ts, go, java, c, cpp, md, json, yaml; \
         for others use `glob`, as in `*.{wanted}`"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn filter(mut input: Value) -> Result<Filter, String> {
        input["pattern"] = "x".into();
        let input: GrepInput = serde_json::from_value(input).unwrap();
        Filter::new(&input, Path::new("/w")).map_err(|fault| fault.message().to_owned())
    }

    #[track_caller]
    fn check(glob: &str, path: &str, expected: bool) {
        assert_eq!(
            filter(json!({ "glob": glob })).unwrap().admits(Path::new(path), false),
            expected,
            "{glob} {path}"
        );
    }

    #[test]
    fn a_pattern_without_a_slash_fits_at_any_depth() {
        check("*.rs", "a.rs", true);
        check("*.rs", "src/deep/a.rs", true);
        check("src/*.rs", "src/a.rs", true);
        check("src/*.rs", "src/deep/a.rs", false);
        check("**/deep/*.rs", "src/deep/a.rs", true);
        check("./src/**", "src/deep/a.rs", true);
        check("/w/src/**", "src/deep/a.rs", true);
    }

    #[test]
    fn several_patterns_and_exceptions_are_understood() {
        check("*.{ts,tsx}", "a.tsx", true);
        check("*.ts,*.tsx", "a.tsx", true);
        check("*.ts *.tsx", "a.js", false);
        check("!*.min.js", "a.min.js", false);
        check("!*.min.js", "a.js", true);
        check("*.js !*.min.js", "a.min.js", false);
    }

    #[test]
    fn directories_are_entered_unless_they_are_excepted() {
        let filter = filter(json!({ "glob": "*.rs !vendor" })).unwrap();
        assert!(filter.admits(Path::new("src"), true));
        assert!(!filter.admits(Path::new("vendor"), true));
    }

    #[test]
    fn types_are_known_by_name_and_by_extension() {
        for name in ["rust", "rs", ".rs"] {
            assert!(filter(json!({ "type": name })).unwrap().admits(Path::new("a.rs"), false));
            assert!(!filter(json!({ "type": name })).unwrap().admits(Path::new("a.py"), false));
        }
        insta::assert_snapshot!(filter(json!({ "type": "pyhton" })).err().unwrap(), @"there is no file type `pyhton`; did you mean `python`? Common ones are rust, py, js, ts, go, java, c, cpp, md, json, yaml; for others use `glob`, as in `*.pyhton`");
    }

    #[test]
    fn what_names_hidden_files_means_them() {
        assert!(filter(json!({ "glob": ".github/**/*.yml" })).unwrap().names_hidden());
        assert!(!filter(json!({ "glob": "./src/*.rs" })).unwrap().names_hidden());
    }

    #[test]
    fn a_glob_that_is_none_is_refused() {
        insta::assert_snapshot!(filter(json!({ "glob": "*.{ts" })).err().unwrap(), @"the glob `*.{ts` is not valid: error parsing glob '*.{ts': unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?); write it as in `*.rs` or `src/**/*.{ts,tsx}`");
    }
}

//! The narrowest rule that would allow a call.

use std::path::Path;

use haft_tool::Access;

use super::{
    decide::Request,
    paths::{Seen, bytes},
    pattern::escaped,
    protected::does_not_show,
    rule::{BASH, EDIT, READ, Rule, WEB_FETCH},
};

/// The narrowest single rule that would allow this call, for a person to add. `None` where there is no narrow one: shells,
/// effects that are not known, calls that need several rules. A server's tool can only be allowed by its name.
pub fn narrowest_rule(request: &Request<'_>) -> Option<String> {
    if request.external {
        return Some(request.tool.to_owned());
    }
    let effects = request.effects;
    if effects.is_unknown() || !effects.commands().is_empty() || request.is_named(BASH) {
        return None;
    }
    let mut rules: Vec<String> = Vec::new();
    for access in [Access::Write, Access::Read] {
        for effect in effects.paths().iter().filter(|effect| effect.access == access) {
            let target = effect.target.as_deref().unwrap_or(&effect.path);
            let inside = Seen::of(effect).is_inside(bytes(request.workspace));
            let edited = format!("{EDIT}({})", as_pattern(target, request.workspace)?);
            match access {
                Access::Write => rules.push(edited),
                Access::Read if inside || rules.contains(&edited) => {}
                Access::Read => rules.push(format!("{READ}({})", as_pattern(target, request.workspace)?)),
            }
        }
    }
    for effect in effects.hosts() {
        let tool = match effect.access {
            Access::Read => WEB_FETCH,
            // Under these names a pattern speaks of something else than of what the tool sends.
            Access::Write if [READ, EDIT, WEB_FETCH].contains(&request.tool) => return None,
            Access::Write => request.tool,
        };
        rules.push(format!("{tool}(domain:{})", effect.host));
    }
    rules.dedup();
    let only = if rules.len() == 1 { rules.pop() } else { None };
    only.filter(|rule| rule.parse::<Rule>().is_ok())
}

/// A path as a pattern that means just that path: from the workspace if it lies there, from the root otherwise.
fn as_pattern(path: &Path, workspace: &Path) -> Option<String> {
    let text =
        path.to_str().filter(|text| !text.chars().any(|char| char.is_control() || does_not_show(char)))?;
    match path.strip_prefix(workspace).ok().and_then(Path::to_str) {
        Some("") => None,
        Some(below) if below.starts_with('~') => Some(format!("./{}", escaped(below))),
        Some(below) => Some(escaped(below)),
        None => Some(format!("/{}", escaped(text))),
    }
}

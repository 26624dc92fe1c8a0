//! What git is told to be, whatever the repository says.
//!
//! Settings given by the environment overrule those of the repository. The person's own (`~/.gitconfig`, the system's)
//! stay: they say which directories are safe and how things look, and they are not the repository's to write. Of those,
//! too, nothing that draws, signs, watches, asks or connects is used.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use haft_shell::{lookup::Lookup, sandbox::environment};
use haft_tool::Fault;

use crate::process::surroundings;

/// A setting and the value that it has in any case.
pub(crate) type Pin = (OsString, &'static str);

/// Settings that are the same in every repository. `false` is a program that does nothing.
const SETTINGS: [(&str, &str); 26] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.sshCommand", "false"),
    ("core.askPass", "false"),
    ("core.gitProxy", "false"),
    ("core.alternateRefsCommand", "true"),
    ("core.untrackedCache", "keep"),
    ("credential.helper", ""),
    // `git diff` would write the index down that it has looked through.
    ("diff.autoRefreshIndex", "false"),
    ("diff.submodule", "short"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.ssh.defaultKeyCommand", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("protocol.ext.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    ("maintenance.auto", "false"),
    ("gc.auto", "0"),
    ("fetch.recurseSubmodules", "false"),
    ("interactive.diffFilter", "cat"),
];

/// Instead of a program that draws differences: git's own drawing. It is told the path, the old file and, after two words
/// about that, the new one.
const OWN_DIFF: &str =
    "own() { git --no-pager diff --no-ext-diff --no-textconv --no-index -- \"$2\" \"$5\"; :; }; own";

/// Variables. None of ours that begins with `GIT_` is passed on.
const VARIABLES: [(&str, &str); 5] = [
    // Objects that are missing are not fetched, and no other repository is spoken to.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("GIT_SSH_COMMAND", "false"),
];

/// Where git is found. Never through `PATH`: that may lead into the workspace.
const PLACES: [&str; 4] =
    ["/usr/bin/git", "/usr/local/bin/git", "/bin/git", "/run/current-system/sw/bin/git"];

pub(crate) fn program() -> Result<PathBuf, Fault> {
    let found = PLACES.iter().map(Path::new).find(|path| path.is_file());
    found.map(Path::to_owned).ok_or_else(|| {
        Fault::unavailable(format!("there is no git here; it is looked for at {}", PLACES.join(", ")))
    })
}

/// What is passed on of our environment.
pub(crate) fn inherited() -> Vec<(OsString, OsString)> {
    environment(std::env::vars_os()).into_iter().filter(|(name, _)| name != "PATH").collect()
}

/// What git finds around it, with these settings besides the usual ones.
pub(crate) fn around(pins: &[Pin], workspace: &Path) -> Vec<(OsString, OsString)> {
    let mut set = surroundings(false);
    set.push(("PATH".into(), Lookup::new(workspace).outside_path()));
    set.extend(variables(pins));
    set
}

/// The variables that hold these settings and the usual ones, whichever program starts git.
pub(crate) fn variables(pins: &[Pin]) -> Vec<(OsString, OsString)> {
    let mut set: Vec<(OsString, OsString)> =
        VARIABLES.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let usual = SETTINGS.iter().map(|(key, value)| (OsString::from(key), *value));
    let settings: Vec<Pin> = usual.chain(pins.iter().cloned()).collect();
    set.push(("GIT_CONFIG_COUNT".into(), settings.len().to_string().into()));
    for (at, (key, value)) in settings.into_iter().enumerate() {
        set.push((format!("GIT_CONFIG_KEY_{at}").into(), key));
        set.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    set
}

/// What a setting of the repository must be instead, if it could run something. The name of a filter or a driver is for
/// the repository to choose, so these can be overruled only once they are known.
pub(crate) fn overruled(key: &[u8]) -> Option<Pin> {
    let dot = |byte: &u8| *byte == b'.';
    let section = &key[..key.iter().position(dot)?];
    let variable = &key[key.iter().rposition(dot)? + 1..];
    let value = match (section, variable) {
        (b"filter", b"clean" | b"smudge" | b"process") => "",
        (b"diff", b"command" | b"external") => OWN_DIFF,
        (b"filter", b"required") => "false",
        // Without any it would be an error; this one changes nothing.
        (b"diff", b"textconv") => "cat",
        (b"merge", b"driver") | (b"credential", b"helper") | (b"gpg", b"program") => "false",
        (b"protocol", b"allow") => "never",
        // An alias cannot hide a command that is there, but a git without that command would take it.
        (b"alias", _) => "",
        _ => return None,
    };
    Some((OsString::from_vec(key.to_vec()), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_repository_could_run_is_overruled_under_any_name() {
        let check = |key: &str, value: Option<&str>| {
            assert_eq!(overruled(key.as_bytes()).map(|(_, value)| value), value, "{key}");
        };
        check("filter.lfs.process", Some(""));
        check("filter.a.b\u{1b}[0m c.clean", Some(""));
        check("filter.x.required", Some("false"));
        check("diff.pdf.textconv", Some("cat"));
        check("diff.pdf.command", Some(OWN_DIFF));
        check("diff.external", Some(OWN_DIFF));
        check("merge.ours.driver", Some("false"));
        check("alias.log", Some(""));
        check("diff.renames", None);
        check("user.name", None);
        check("nonsense", None);
    }
}

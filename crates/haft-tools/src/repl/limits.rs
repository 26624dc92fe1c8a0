//! What an interpreter may touch, and whether one that was started with one grant may serve a call with another.
//!
//! A sandbox is fixed when its process starts, and what a snippet leaves behind stays in the process. So an interpreter gets
//! what every call of its session may have, and not what one snippet was permitted besides; and a later call runs in it only
//! if it can do nothing that this call may not.

use std::path::{Path, PathBuf};

use haft_tool::{Access, Effects, Grant, ReadScope, granted_form};

/// The grant of a call, without what it has only because this call declared it. Where one cannot be told from the other,
/// it is the smaller one.
pub(super) fn lasting(mut grant: Grant, declared: &Effects, workspace: &Path) -> Grant {
    let written = declared.paths().iter().filter(|path| path.access == Access::Write);
    let places: Vec<PathBuf> = written.flat_map(|path| [path.path.clone(), real(&path.path)]).collect();
    grant.write.retain(|root| root == workspace || !places.contains(root));
    grant.make.clear(); // only what was declared is made
    for declared in declared.hosts() {
        // Settings may name the same host: that one stays.
        if let Some(at) = grant.hosts.iter().rposition(|host| *host == granted_form(&declared.host)) {
            grant.hosts.remove(at);
        }
    }
    grant
}

/// Where a path leads, also if there is nothing yet.
fn real(path: &Path) -> PathBuf {
    let beside = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(beside).unwrap_or_else(|| path.to_owned())
}

/// Whether who is held by the first grant can do nothing that the second does not permit.
pub(super) fn is_within(held: &Grant, permitted: &Grant) -> bool {
    if !permitted.confined {
        return true;
    }
    held.confined
        && (held.required || !permitted.required)
        && held.limits == permitted.limits
        && held.write.iter().all(|root| is_below_one(root, &permitted.write))
        && held.make.iter().all(|file| permitted.make.contains(file) || is_below_one(file, &permitted.write))
        && reads_no_more(&held.reads, &permitted.reads)
        && permitted.deny_read.iter().all(|place| is_below_one(place, &held.deny_read))
        && held.hosts.iter().all(|host| permitted.hosts.contains(host))
}

fn reads_no_more(held: &ReadScope, permitted: &ReadScope) -> bool {
    match (held, permitted) {
        (_, ReadScope::Everything) => true,
        (ReadScope::Everything, ReadScope::Confined(_)) => false,
        (ReadScope::Confined(held), ReadScope::Confined(permitted)) => {
            held.iter().all(|place| is_below_one(place, permitted))
        }
    }
}

fn is_below_one(place: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| place.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(words: &str) -> Vec<PathBuf> {
        words.split_whitespace().map(PathBuf::from).collect()
    }

    /// A grant from `writable | denied | hosts`.
    fn grant(text: &str) -> Grant {
        let mut parts = text.split('|');
        let mut next = || parts.next().unwrap_or_default();
        let (write, deny_read) = (paths(next()), paths(next()));
        let hosts = next().split_whitespace().map(str::to_owned).collect();
        Grant { confined: true, write, deny_read, hosts, ..Grant::default() }
    }

    #[test]
    fn who_has_less_is_within() {
        let cases = [
            ("/w||", "/w||", true),
            ("/w||", "/w /tmp/x||", true),
            ("/w /tmp/x||", "/w||", false),
            ("/w/src||", "/w||", true),
            ("/w||", "/w/src||", false),
            ("/w-other||", "/w||", false),
            ("/w|/w/.env|", "/w||", true),
            ("/w||", "/w|/w/.env|", false),
            ("/w|/w/keys|", "/w|/w/keys/one /w/keys/two|", true),
            ("/w|/w/keys/one|", "/w|/w/keys|", false),
            ("/w||docs.rs", "/w||docs.rs crates.io", true),
            ("/w||docs.rs", "/w||", false),
        ];
        for (held, permitted, expected) in cases {
            assert_eq!(is_within(&grant(held), &grant(permitted)), expected, "{held} in {permitted}");
        }
    }

    #[test]
    fn what_one_call_declared_does_not_last() {
        let declared =
            Effects::writes("/var/x").and_writes("/w").and_host("docs.rs", Access::Read).and_reads("/etc");
        let check = |given: &str, expected: &str| {
            let lasting = lasting(grant(given), &declared, Path::new("/w"));
            assert_eq!(lasting, grant(expected), "{given}");
        };
        check("/w /cache /var/x|/w/.env|docs.rs", "/w /cache|/w/.env|");
        check("/w||crates.io docs.rs docs.rs", "/w||crates.io docs.rs");
    }

    #[test]
    fn who_is_free_is_within_nothing_that_is_confined() {
        let free = Grant::default();
        assert!(is_within(&grant("/w||"), &free) && is_within(&free, &free));
        assert!(!is_within(&free, &grant("/w||")));
        let required = Grant { required: true, ..grant("/w||") };
        assert!(!is_within(&grant("/w||"), &required) && is_within(&required, &grant("/w||")));
    }
}

//! Where programs look names up that may reach hosts: at the DNS server of their sandbox.
//!
//! The system's resolver goes through `/etc/hosts` first, whose addresses lead nowhere inside, and then asks the servers of
//! `/etc/resolv.conf`. Both have other words in such a sandbox. What nsswitch.conf names besides (`resolve`, `mdns`) is
//! reached over sockets that are not there, and is passed over.

use std::{
    ffi::{CStr, CString},
    fs,
    net::IpAddr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::{SandboxError, mounts::ReplacedFile};

const RESOLVER: &[u8] =
    b"# The DNS server of the sandbox: it knows the hosts that may be reached.\nnameserver 127.0.0.1\n";
const LOCALHOST: &str = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";

/// The files that are replaced. A resolver without its file asks 127.0.0.1, so a missing one needs nothing.
pub(super) fn files(deny_read: &[PathBuf]) -> Result<Vec<ReplacedFile>, SandboxError> {
    let hosts = fs::read_to_string("/etc/hosts").map(|text| own_names(&text)).unwrap_or_default();
    let files: [(&str, &'static CStr, Vec<u8>); 2] = [
        ("/etc/resolv.conf", c"/dev/shm/resolv.conf", RESOLVER.to_vec()),
        ("/etc/hosts", c"/dev/shm/hosts", hosts.into_bytes()),
    ];
    let mut replaced = Vec::new();
    for (name, piece, words) in files {
        // Over the place that a link leads to; where something denied lies, nothing is put.
        let Ok(place) = Path::new(name).canonicalize() else { continue };
        let is_denied = deny_read.iter().any(|denied| place.starts_with(denied));
        if place.is_file() && !is_denied && !place.starts_with("/dev") && !place.starts_with("/proc") {
            let path = CString::new(place.as_os_str().as_bytes())
                .map_err(|_| SandboxError::path("name", &place, "there is a NUL in it"))?;
            replaced.push(ReplacedFile { path, piece, words });
        }
    }
    Ok(replaced)
}

/// The lines of a table of hosts that name this machine's loopback.
fn own_names(text: &str) -> String {
    let is_own = |line: &&str| {
        let first = line.split_ascii_whitespace().next().unwrap_or_default();
        first.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    let mut own = LOCALHOST.to_owned();
    for line in text.lines().filter(is_own) {
        own.push_str(line);
        own.push('\n');
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_stay_in_the_table() {
        let text = "# x\n127.0.1.1 box\n10.0.0.5 db.corp\n::1 six\nnonsense\n";
        assert_eq!(own_names(text), format!("{LOCALHOST}127.0.1.1 box\n::1 six\n"));
    }
}

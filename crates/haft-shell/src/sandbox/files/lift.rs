//! Takes away a read-only mount of a running sandbox, after its place was permitted to be changed.

use std::{fs::File, os::fd::AsRawFd, path::Path};

use super::super::{
    supervisor::Call,
    sys::{self, Answer, Errno, c_string},
};

/// Makes the mount of a place writable in the sandbox of a call, or unmounts it with all that is mounted below it.
///
/// What is open in it can be changed as well: `rm -r` looks at a directory before it empties it.
pub(super) fn lift(call: &Call, place: &Path, unmounts: bool) -> Answer {
    let open = |name: &str| {
        let namespace = File::open(call.in_proc(name));
        namespace.map_err(|err| Errno(err.raw_os_error().unwrap_or(libc::EIO)))
    };
    let [user, mounts] = [open("ns/user")?, open("ns/mnt")?];
    call.check()?;
    sys::lift_in(user.as_raw_fd(), mounts.as_raw_fd(), &c_string(place)?, unmounts)
}

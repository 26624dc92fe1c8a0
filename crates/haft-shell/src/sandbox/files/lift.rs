//! Takes away a read-only mount of a running sandbox, after its place was permitted to be changed.

use std::{fs::File, os::fd::AsRawFd, path::Path};

use super::super::{
    supervisor::Call,
    sys::{self, Answer, Errno, c_string},
};

/// Unmounts a place in the sandbox of a call. Everything below the place that is not mounted by itself can be changed then.
pub(super) fn lift(call: &Call, place: &Path) -> Answer {
    let open = |name: &str| {
        let namespace = File::open(call.in_proc(name));
        namespace.map_err(|err| Errno(err.raw_os_error().unwrap_or(libc::EIO)))
    };
    let [user, mounts] = [open("ns/user")?, open("ns/mnt")?];
    call.check()?;
    sys::unmount_in(user.as_raw_fd(), mounts.as_raw_fd(), &c_string(place)?)
}

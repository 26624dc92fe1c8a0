//! The child, from fork to exec.
//!
//! The only `unsafe` of this part: what happens in the child between fork and exec may call nothing that allocates or
//! locks.

use std::{
    fs::File,
    io,
    os::{
        fd::{OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, Stdio},
};

use rustix::{
    fs::{Mode, OFlags},
    pipe::{PipeFlags, pipe_with},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use super::{Fence, Launch, bash::Whereabouts, tree::Tree};

/// The descriptors that bash is given besides the first three. High numbers that no script uses. Whoever closes
/// descriptors on the way to a command must leave them, or bash cannot tell where it left off.
pub const PASSED: [RawFd; 2] = [221, 222];

/// A process that has just been started.
pub(super) struct Started {
    pub(super) child: Child,
    /// What it writes, both streams as they come.
    pub(super) output: OwnedFd,
    pub(super) tree: Tree,
    pub(super) whereabouts: Option<Whereabouts>,
    pub(super) fence: Box<dyn Fence>,
}

pub(super) fn start(launch: Launch) -> io::Result<Started> {
    let mut tree = Tree::new();
    let whereabouts = if launch.tells_directory { Some(Whereabouts::new()?) } else { None };
    let (output, written) = if launch.pty { terminal()? } else { channel()? };
    let mut command = command(&launch, &tree, written)?;
    in_the_child(&mut command, whereabouts.as_ref().map(Whereabouts::passed));
    let mut fence = (launch.fence)(&mut command)?;
    let child = command.spawn()?;
    // Our copies of its ends go with the command: an end of file must be seen.
    drop(command);
    fence.started();
    if let Some(leader) = rustix::process::Pid::from_raw(child.id() as i32) {
        tree.begins_with(leader);
    }
    Ok(Started { child, output, tree, whereabouts, fence })
}

#[expect(clippy::disallowed_methods, reason = "this is the place where processes are started")]
fn command(launch: &Launch, tree: &Tree, written: OwnedFd) -> io::Result<Command> {
    let mut command = Command::new(&launch.program);
    let is_own = |name: &std::ffi::OsString| launch.tells_directory && name == "BASH_ENV";
    command
        .args(&launch.args)
        .current_dir(&launch.cwd)
        .env_clear()
        .envs(launch.env.iter().filter(|(name, _)| !is_own(name)).cloned())
        .envs([tree.variable()])
        .envs(launch.tells_directory.then(Whereabouts::variable))
        .stdin(Stdio::null())
        .stdout(written.try_clone()?)
        .stderr(written);
    Ok(command)
}

/// One pipe for both streams: what comes out is in the order in which it was written.
fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((read, write))
}

/// A terminal of a usual size. Only programs that look for one draw on it; there is nobody who types.
fn terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    tcsetwinsize(&ours, Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 })?;
    let name = ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((ours, theirs))
}

fn in_the_child(command: &mut Command, passed: Option<[RawFd; 2]>) {
    let work = move || {
        lead_a_session();
        end_with_the_parent()?;
        leave_descriptors_behind()?;
        if let Some(passed) = passed {
            pass(passed);
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing allocates, locks or unwinds.
    #[expect(unsafe_code, reason = "there is no other way to do something in the child")]
    unsafe {
        command.pre_exec(work);
    }
}

/// A session of its own: no terminal, and a group that can be signalled as one. It fails only where it is one already.
fn lead_a_session() {
    // SAFETY: a system call without arguments.
    #[expect(unsafe_code, reason = "a plain system call")]
    unsafe {
        libc::setsid();
    }
}

/// If haft is killed, so is the child. The signal comes when the *thread* ends that started it, so the thread that
/// listens to it does.
fn end_with_the_parent() -> io::Result<()> {
    // SAFETY: a system call with plain numbers.
    #[expect(unsafe_code, reason = "a plain system call")]
    let failed = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } < 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What haft has open, or was given by whoever started it, is not the command's. Closed by exec, not before: std still
/// needs one of them.
fn leave_descriptors_behind() -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    // SAFETY: a system call with plain numbers.
    #[expect(unsafe_code, reason = "a plain system call")]
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A copy under the agreed number stays open over exec. Where there may be no such number, bash has nothing to read and
/// tells nothing.
fn pass(descriptors: [RawFd; 2]) {
    for (from, to) in descriptors.into_iter().zip(PASSED) {
        // SAFETY: a system call with plain numbers; those that are copied lie above those that are replaced.
        #[expect(unsafe_code, reason = "a plain system call")]
        unsafe {
            libc::dup2(from, to);
        }
    }
}

/// Makes reads return at once where nothing is there.
pub(super) fn nonblocking(descriptor: OwnedFd) -> io::Result<File> {
    let flags = rustix::fs::fcntl_getfl(&descriptor)?;
    rustix::fs::fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?;
    Ok(File::from(descriptor))
}

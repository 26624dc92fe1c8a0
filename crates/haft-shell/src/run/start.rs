//! The child, from fork to exec.
//!
//! The only `unsafe` of this part: what happens in the child between fork and exec may call nothing that allocates or
//! locks.

use std::{
    fs::File,
    io::{self, Seek, Write},
    os::{
        fd::{OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::{
    fs::{MemfdFlags, Mode, OFlags},
    pipe::{PipeFlags, pipe_with},
    process::Pid,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use super::{
    Ends, Fence, Launch,
    bash::Whereabouts,
    guard::{self, Lifeline},
    line::Line,
    pipes,
    tree::Tree,
};

/// The descriptors that bash is given besides the first three. High numbers that no script uses. Whoever closes
/// descriptors on the way to a command must leave them, or bash cannot tell where it left off.
pub const PASSED: [RawFd; 2] = [221, 222];

/// The descriptors of a process that is spoken to ([`Launch::spoken_to`]): it hears on the first and speaks on the second.
pub const SPOKEN: [RawFd; 2] = [223, 224];

/// A process that has just been started.
pub(super) struct Started {
    pub(super) child: Child,
    /// What it writes: both streams as they come, or stderr by itself.
    pub(super) output: OwnedFd,
    pub(super) errors: Option<OwnedFd>,
    pub(super) tree: Tree,
    pub(super) whereabouts: Option<Whereabouts>,
    pub(super) line: Line,
    pub(super) fence: Arc<dyn Fence>,
    /// Our ends of its stdin and stdout, where they are pipes.
    pub(super) ends: Option<Ends>,
    /// Closed when haft is gone: see [`guard`].
    pub(super) lifeline: Option<OwnedFd>,
}

pub(super) fn start(launch: Launch) -> io::Result<Started> {
    let mut tree = Tree::new();
    let whereabouts = if launch.tells_directory { Some(Whereabouts::new()?) } else { None };
    let (line, theirs) = match launch.spoken_to {
        true => Line::new().map(|(line, theirs)| (line, Some(theirs)))?,
        false => (Line::default(), None),
    };
    let (streams, output, errors, ends) = if launch.piped { pipes::streams()? } else { streams(&launch)? };
    let mut command = command(&launch, streams);
    // Before the fence and after it: a fence may fork, and everything must be in one group; it may close descriptors.
    before_exec(&mut command, || lead_a_session().and_then(|()| leave_descriptors_behind()));
    let lifeline = if launch.piped { Some(Lifeline::new()?) } else { None };
    let is_guarded = lifeline.as_ref().map(|lifeline| guarded(&mut command, lifeline.end()));
    let mut fence = (launch.fence)(&mut command)?;
    if let Some(is_guarded) = is_guarded {
        // A fence that ends all with the process needs no guard.
        is_guarded.store(!fence.ends_all(), Ordering::Relaxed);
    }
    if let Some(whereabouts) = &whereabouts {
        pass_on(&mut command, whereabouts.passed(), PASSED);
    }
    if let Some(theirs) = &theirs {
        pass_on(&mut command, theirs.passed(), SPOKEN);
    }
    command.envs(launch.set).envs([tree.variable()]).envs(whereabouts.is_some().then(Whereabouts::variable));
    let child = spawn(command, &mut *fence)?;
    if let Some(leader) = Pid::from_raw(child.id() as i32) {
        tree.begins_with(leader);
    }
    Ok(Started {
        child,
        output,
        errors,
        tree,
        whereabouts,
        line,
        fence: Arc::from(fence),
        ends,
        lifeline: lifeline.map(|lifeline| lifeline.ours),
    })
}

#[expect(clippy::disallowed_methods, reason = "this is the place where processes are started")]
fn command(launch: &Launch, streams: Streams) -> Command {
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.args)
        .current_dir(&launch.cwd)
        .env_clear()
        .envs(launch.env.iter().cloned())
        .stdin(streams.input)
        .stdout(streams.output)
        .stderr(streams.errors);
    command
}

/// Puts a guard above what will be started, if that is wanted by then.
fn guarded(command: &mut Command, lifeline: RawFd) -> Arc<AtomicBool> {
    let wanted = Arc::new(AtomicBool::new(false));
    let is_wanted = wanted.clone();
    before_exec(
        command,
        move || if is_wanted.load(Ordering::Relaxed) { guard::part(lifeline) } else { Ok(()) },
    );
    wanted
}

/// What the child has as its first three descriptors.
pub(super) struct Streams {
    pub(super) input: Stdio,
    pub(super) output: OwnedFd,
    pub(super) errors: OwnedFd,
}

/// The child's streams, and our ends of them: what it writes, what it writes to stderr if that is apart, and its pipes.
pub(super) type Wiring = (Streams, OwnedFd, Option<OwnedFd>, Option<Ends>);

fn streams(launch: &Launch) -> io::Result<Wiring> {
    let (output, written) = if launch.pty { terminal()? } else { channel()? };
    let (errors, errors_written) = match launch.apart && !launch.pty {
        true => channel().map(|(read, write)| (Some(read), write))?,
        false => (None, written.try_clone()?),
    };
    let input = launch.input.as_deref().map_or_else(|| Ok(Stdio::null()), readable)?;
    Ok((Streams { input, output: written, errors: errors_written }, output, errors, None))
}

/// A file in memory with these bytes, to be read from its beginning.
fn readable(bytes: &[u8]) -> io::Result<Stdio> {
    let mut file = File::from(rustix::fs::memfd_create("haft-stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// Our copies of the child's ends go with the command: an end of file must be seen.
fn spawn(mut command: Command, fence: &mut dyn Fence) -> io::Result<Child> {
    let mut child = command.spawn().map_err(|err| fence.explain(err))?;
    if let Err(err) = fence.started() {
        child.kill()?;
        child.wait()?;
        return Err(err);
    }
    Ok(child)
}

/// One pipe for both streams: what comes out is in the order in which it was written.
pub(super) fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
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

fn before_exec(command: &mut Command, work: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: between fork and exec only system calls are made; nothing allocates, locks or unwinds.
    #[expect(unsafe_code, reason = "there is no other way to do something in the child")]
    unsafe {
        command.pre_exec(work);
    }
}

/// A session of its own: no terminal, and a group that can be signalled as one. A child that has just been forked leads
/// none yet, so it cannot fail.
fn lead_a_session() -> io::Result<()> {
    // SAFETY: a system call without arguments.
    #[expect(unsafe_code, reason = "a plain system call")]
    unsafe {
        libc::setsid();
    }
    hear_signals();
    end_with_the_parent()
}

/// Who starts haft with `nohup` or behind `&` has signals ignored, and what is ignored stays so over `exec`: an interrupt
/// would stop nothing.
fn hear_signals() {
    const LAST: libc::c_int = 31;
    for signal in 1..=LAST {
        // SAFETY: a system call with plain numbers. Two signals cannot be ignored and refuse this.
        #[expect(unsafe_code, reason = "a plain system call")]
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
        }
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

fn pass_on(command: &mut Command, descriptors: [RawFd; 2], numbers: [RawFd; 2]) {
    before_exec(command, move || {
        pass(descriptors, numbers);
        Ok(())
    });
}

/// A copy under the agreed number stays open over exec. Where there may be no such number, bash has nothing to read and
/// tells nothing.
fn pass(descriptors: [RawFd; 2], numbers: [RawFd; 2]) {
    for (from, to) in descriptors.into_iter().zip(numbers) {
        // SAFETY: a system call with plain numbers; those that are copied lie above those that are replaced.
        #[expect(unsafe_code, reason = "a plain system call")]
        unsafe {
            libc::dup2(from, to);
        }
    }
}

/// Above the numbers that are replaced in the child, however many descriptors are open here.
pub(super) fn high(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(descriptor, SPOKEN[1] + 1)?)
}

/// Makes reads return at once where nothing is there, and writes where there is no room.
pub(super) fn nonblocking(descriptor: OwnedFd) -> io::Result<File> {
    let flags = rustix::fs::fcntl_getfl(&descriptor)?;
    rustix::fs::fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?;
    Ok(File::from(descriptor))
}

//! The three processes: outer, init, command.
//!
//! All of this runs between `fork` and `exec`. Only calls of [`sys`], only memory that is already there. There is one copy
//! of the caller's memory: the outer process, init, and the command until `exec` are in it together ([`sys::part`]). Who
//! has parted with a child goes its own way and never returns; the child carries on towards the command.

use std::{io, os::fd::RawFd};

use super::{
    agent, limits,
    mounts::Mounts,
    plan::Plan,
    report::Step,
    sys::{self, Answer, Errno, Together},
};

/// Confines the process that calls this. It returns in the process that is to become the command, and only there.
pub(super) fn confine(plan: &Plan) -> io::Result<()> {
    plan.report.begins(sys::own_pid());
    // Where memory runs out, the kernel ends a command before the program that started it. Without it the command runs, too.
    let _ = sys::write_file(c"/proc/self/oom_score_adj", b"500");
    let confined = match &plan.mounts {
        Some(mounts) => outer(plan, mounts),
        None => without_namespaces(plan),
    };
    confined.map_err(|errno| {
        plan.report.failed(errno);
        errno.into()
    })
}

/// No namespaces: this process is the command.
fn without_namespaces(plan: &Plan) -> Answer {
    give_up_privileges(plan)?;
    become_command(plan)
}

/// What never may be held back or passed on.
const SYNCHRONOUS: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// The process that the caller knows.
fn outer(plan: &Plan, mounts: &Mounts) -> Answer {
    sys::hold_signals(true)?;
    plan.report.at(Step::Network);
    plan.beside.as_ref().map_or(Ok(()), |loopback| loopback.join())?;
    plan.report.at(Step::Namespaces);
    let others = libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
    sys::unshare(libc::CLONE_NEWUSER | others)?;
    plan.report.at(Step::Identity);
    sys::write_file(c"/proc/self/setgroups", b"deny")?;
    sys::write_file(c"/proc/self/uid_map", &plan.user_map)?;
    sys::write_file(c"/proc/self/gid_map", &plan.group_map)?;
    plan.report.at(Step::Init);
    let outer = sys::pidfd(sys::own_pid())?;
    sys::part(Together::Always, &plan.stacks[0], watch, plan)?;
    init(plan, mounts, outer)
}

/// Waits for init; ends it when the caller is gone; passes signals in and the end out.
///
/// If init fails, it says so to the caller itself, who is still waiting for that; here it has just ended.
extern "C" fn watch(plan: &Plan, init: i32) -> ! {
    // Whoever started this may have it killed with the caller; but then somebody has to tidy up, and the lifeline tells.
    let _ = sys::prctl(libc::PR_SET_PDEATHSIG, 0);
    if plan.has_own_network {
        plan.report.network(make_network(plan));
    }
    close_all_but(&plan.kept);
    let (Ok(end), Ok(signals)) = (sys::pidfd(init), sys::signal_descriptor()) else {
        end_with(plan, init);
    };
    let (mut lifeline, mut requests) = (plan.lifeline_end(), plan.requests_end());
    loop {
        let polled = sys::poll([end, lifeline, signals, requests]);
        let Ok([has_ended, is_abandoned, is_signalled, is_asked]) = polled else { end_with(plan, init) };
        if is_asked && !agent::answer_request(requests) {
            requests = -1;
        }
        if is_abandoned {
            lifeline = -1;
            let _ = sys::kill(init, libc::SIGKILL);
        }
        if is_signalled {
            pass_on(signals, init);
        }
        if has_ended {
            pass_out(plan, init);
        }
    }
}

/// A network is as much work as all the mounts, so it is made while init makes those; then init joins it.
fn make_network(plan: &Plan) -> Answer {
    sys::unshare(libc::CLONE_NEWNET)?;
    sys::raise_loopback()?;
    plan.pass_network()
}

fn pass_on(signals: RawFd, to: i32) {
    while let Some(signal) = sys::read_signal(signals) {
        if signal != libc::SIGCHLD {
            let _ = sys::kill(to, signal);
        }
    }
}

/// Something that cannot fail has failed: nothing is left running.
fn end_with(plan: &Plan, init: i32) -> ! {
    let _ = sys::kill(init, libc::SIGKILL);
    pass_out(plan, init)
}

/// Ends as the command did.
fn pass_out(plan: &Plan, init: i32) -> ! {
    let own = sys::wait(init, 0).ok().flatten().map_or(libc::SIGKILL, |(_, status)| status);
    let status = plan.report.status().unwrap_or(own);
    if libc::WIFSIGNALED(status) {
        sys::die_of(libc::WTERMSIG(status))
    } else {
        sys::exit(libc::WEXITSTATUS(status))
    }
}

/// Closes every descriptor that is not in this list, which is in order.
fn close_all_but(kept: &[RawFd]) {
    let mut next = 0;
    for fd in kept {
        let fd = *fd as u32;
        if fd > next {
            let _ = sys::close_range(next, fd - 1);
        }
        next = fd + 1;
    }
    let _ = sys::close_range(next, u32::MAX);
}

/// Process 1 of the namespace. It returns in the command.
fn init(plan: &Plan, mounts: &Mounts, outer: RawFd) -> Answer {
    build(plan, mounts, outer)?;
    // With the outer process whoever would end this one is gone. From here on the kernel does, before it did not yet.
    if sys::is_readable(outer)? {
        return Err(Errno(libc::ESRCH));
    }
    sys::part(Together::UntilExec, &plan.stacks[1], reap, plan)?;
    become_command(plan)
}

/// The namespace, and nothing in this process that the command could want.
fn build(plan: &Plan, mounts: &Mounts, outer: RawFd) -> Answer {
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as _)?;
    mounts.build(&plan.report)?;
    plan.report.at(Step::Network);
    if plan.has_own_network {
        join_network(plan, outer)?;
    }
    plan.report.at(Step::Limits);
    plan.pass_root()?;
    give_up_privileges(plan)?;
    // Its memory is a copy of the caller's, keys and all, and the outer process is in it. Nobody inside may look at it.
    sys::prctl(libc::PR_SET_DUMPABLE, 0)?;
    // The way to give up privileges forgets this.
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as _)?;
    plan.own_words.iter().for_each(|(from, to)| sys::wipe(*from, *to));
    Ok(())
}

/// Joins the network of the outer process as soon as it has one.
fn join_network(plan: &Plan, outer: RawFd) -> Answer {
    loop {
        match plan.report.await_network() {
            Some(made) => return made.and_then(|()| sys::join(outer, libc::CLONE_NEWNET)),
            None if sys::is_readable(outer)? => return Err(Errno(libc::ESRCH)),
            None => {}
        }
    }
}

fn give_up_privileges(plan: &Plan) -> Answer {
    plan.report.at(Step::Privileges);
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1)?;
    sys::drop_capabilities()
}

/// Reaps whoever is left over, until the command ends; the kernel ends the rest with this process.
extern "C" fn reap(plan: &Plan, command: i32) -> ! {
    let _ = sys::close_range(0, u32::MAX);
    loop {
        match sys::next_signal() {
            Ok(libc::SIGCHLD) => reap_all(plan, command),
            Ok(signal) if SYNCHRONOUS.contains(&signal) => sys::exit(1),
            Ok(signal) => drop(sys::kill(-command, signal)),
            Err(_) => {}
        }
    }
}

fn reap_all(plan: &Plan, command: i32) {
    while let Ok(Some((pid, status))) = sys::wait(-1, libc::WNOHANG) {
        if pid == command {
            plan.report.ended(status);
            sys::exit(0);
        }
    }
}

/// The last steps before `exec`, each of which takes something away.
fn become_command(plan: &Plan) -> Answer {
    plan.report.at(Step::Session);
    sys::new_session().or_else(|_| if plan.mounts.is_none() { Ok(()) } else { Err(Errno(libc::EPERM)) })?;
    sys::take_terminal();
    sys::hold_signals(false)?;
    plan.report.at(Step::Limits);
    limits::enforce(&plan.limits)?;
    plan.report.at(Step::Directory);
    sys::go_to(&plan.cwd)?;
    plan.report.at(Step::Landlock);
    plan.landlock.as_ref().map_or(Ok(()), |landlock| landlock.enforce())?;
    plan.report.at(Step::Filter);
    sys::close_on_exec_from(3)?;
    plan.filter.as_ref().map_or(Ok(()), |filter| filter.enforce())?;
    plan.report_calls()
}

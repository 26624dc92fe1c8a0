//! The last lock: which system calls there are.
//!
//! A list of what is refused, not of what is allowed: this is for compilers and test suites, and what must not be reached is
//! behind the namespaces already. The filter takes away what is useless to them and dear to attackers. It is a program for
//! the kernel's small machine, put together before the process is made.

use std::os::fd::RawFd;

use libc::{c_long, sock_filter};

use super::sys::{Answer, filter, filter_with_listener};

/// A program for the kernel.
#[derive(Debug)]
pub(super) struct Filter(Vec<sock_filter>);

/// How much network is left to be filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Internet sockets, because the network they reach is this sandbox's own or is open.
    Internet,
    /// These, and Unix sockets for streams: to what they connect is for the supervisor to say.
    InternetAndStreams,
    /// None, because nothing else closes the network.
    None,
}

impl Filter {
    pub(super) fn new(sockets: Sockets) -> Filter {
        let mut program = Program::default();
        program.foreign_architectures_die();
        let mut refused: Vec<(u32, i32)> = REFUSED.iter().map(|call| (*call as u32, libc::EPERM)).collect();
        // So that C libraries fall back to `clone`, whose flags can be seen.
        refused.push((libc::SYS_clone3 as u32, libc::ENOSYS));
        refused.sort_unstable();
        program.refuse_all(&refused);
        program.refuse_bits(libc::SYS_clone, 0, NAMESPACES);
        program.refuse_bits(libc::SYS_unshare, 0, NAMESPACES);
        MODES.iter().for_each(|(call, argument)| program.refuse_bits(*call, *argument, libc::S_ISUID));
        TERMINAL.iter().for_each(|request| program.refuse_value(libc::SYS_ioctl, 1, *request));
        program.socket_families(sockets);
        program.socket_pairs();
        program.push(RETURN, libc::SECCOMP_RET_ALLOW);
        Filter(program.0)
    }

    /// A filter that reports calls instead of refusing them, so that a supervisor answers.
    ///
    /// What another filter refuses stays refused: an error outranks a report.
    pub(super) fn reporting(reported: &[Reported]) -> Filter {
        let mut program = Program::default();
        program.push(LOAD, NUMBER);
        reported.iter().for_each(|call| program.report(*call));
        program.push(RETURN, libc::SECCOMP_RET_ALLOW);
        Filter(program.0)
    }

    /// From here on, for this process and all that it starts.
    pub(super) fn enforce(&self) -> Answer {
        filter(&self.0)
    }

    /// The same for a filter that reports; the descriptor is the supervisor's end.
    pub(super) fn enforce_with_listener(&self) -> Answer<RawFd> {
        filter_with_listener(&self.0)
    }
}

/// A system call that a supervisor is to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reported {
    /// Every use of it.
    Always(c_long),
    /// The call, the index of an argument, and bits of which one is set in it.
    AnyBit(c_long, u32, u32),
}

/// What no command needs.
const REFUSED: &[c_long] = &[
    // other processes
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_mrelease,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_kcmp,
    // other ways to do what is filtered here
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // keys, programs and traps in the kernel
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    // what is mounted, and where one is
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    // the machine
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
];

const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u32;

/// Calls that set a file's mode, and where the mode is. Nobody here makes a program that runs as its owner.
const MODES: &[(c_long, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (SYS_FCHMODAT2, 2),
];
const SYS_FCHMODAT2: c_long = 452;

/// Requests that type into a terminal, or take over the console.
const TERMINAL: [u32; 3] = [libc::TIOCSTI as u32, 0x541c, libc::TIOCCONS as u32];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
/// Numbers from here on are of the x32 interface, which shares the architecture's name.
const FOREIGN_NUMBERS: u32 = 0x4000_0000;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const IF_ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const GO_ON: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Where the kernel shows the call: its number, the architecture, six arguments of eight bytes, the lower half first.
const NUMBER: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// A program being written. Between two rules the call's number is loaded.
#[derive(Default)]
struct Program(Vec<sock_filter>);

impl Program {
    fn push(&mut self, code: u16, k: u32) {
        self.jump(code, k, 0, 0);
    }

    fn jump(&mut self, code: u16, k: u32, yes: u8, no: u8) {
        self.0.push(sock_filter { code, jt: yes, jf: no, k });
    }

    fn error(&mut self, errno: i32) {
        self.push(RETURN, libc::SECCOMP_RET_ERRNO | errno as u32);
    }

    fn foreign_architectures_die(&mut self) {
        self.push(LOAD, ARCHITECTURE_AT);
        self.jump(IF_EQUAL, ARCHITECTURE, 1, 0);
        self.push(RETURN, libc::SECCOMP_RET_KILL_PROCESS);
        self.push(LOAD, NUMBER);
        self.jump(IF_AT_LEAST, FOREIGN_NUMBERS, 0, 1);
        self.error(libc::ENOSYS);
    }

    /// Refuses these, which are in order: each half by itself, until there are few.
    ///
    /// The kernel tries the program with every number there is when it takes it, so a long list would be paid for at every start.
    fn refuse_all(&mut self, calls: &[(u32, i32)]) {
        const FEW: usize = 3;
        if calls.len() <= FEW {
            return calls.iter().for_each(|(call, errno)| self.refuse(*call, *errno));
        }
        let (lower, upper) = calls.split_at(calls.len() / 2);
        let [mut below, mut above] = [Program::default(), Program::default()];
        below.refuse_all(lower);
        above.refuse_all(upper);
        below.push(GO_ON, above.0.len() as u32);
        self.jump(IF_AT_LEAST, upper[0].0, below.0.len() as u8, 0);
        self.0.extend(below.0);
        self.0.extend(above.0);
    }

    fn refuse(&mut self, call: u32, errno: i32) {
        self.jump(IF_EQUAL, call, 0, 1);
        self.error(errno);
    }

    /// Refuses a call if any of these bits is set in an argument.
    fn refuse_bits(&mut self, call: c_long, index: u32, bits: u32) {
        self.refuse_if(call, index, IF_ANY_BIT, bits);
    }

    /// Refuses a call if an argument is this.
    fn refuse_value(&mut self, call: c_long, index: u32, value: u32) {
        self.refuse_if(call, index, IF_EQUAL, value);
    }

    fn refuse_if(&mut self, call: c_long, index: u32, test: u16, value: u32) {
        self.jump(IF_EQUAL, call as u32, 0, 4);
        self.push(LOAD, argument(index));
        self.jump(test, value, 0, 1);
        self.error(libc::EPERM);
        self.push(LOAD, NUMBER);
    }

    fn report(&mut self, reported: Reported) {
        match reported {
            Reported::Always(call) => {
                self.jump(IF_EQUAL, call as u32, 0, 1);
                self.push(RETURN, libc::SECCOMP_RET_USER_NOTIF);
            }
            Reported::AnyBit(call, index, bits) => {
                self.jump(IF_EQUAL, call as u32, 0, 4);
                self.push(LOAD, argument(index));
                self.jump(IF_ANY_BIT, bits, 0, 1);
                self.push(RETURN, libc::SECCOMP_RET_USER_NOTIF);
                self.push(LOAD, NUMBER);
            }
        }
    }

    /// Sockets by family: none but those that end in this sandbox's own network, and no raw ones.
    fn socket_families(&mut self, sockets: Sockets) {
        let mut rule = Program::default();
        if sockets == Sockets::InternetAndStreams {
            rule.push(LOAD, argument(0));
            rule.jump(IF_EQUAL, libc::AF_UNIX as u32, 0, 5);
            rule.push(LOAD, argument(1));
            rule.push(AND, KIND);
            rule.jump(IF_EQUAL, libc::SOCK_STREAM as u32, 0, 1);
            rule.push(RETURN, libc::SECCOMP_RET_ALLOW);
            rule.error(libc::EPERM);
        }
        if sockets != Sockets::None {
            rule.push(LOAD, argument(0));
            rule.jump(IF_EQUAL, libc::AF_INET as u32, 4, 0);
            rule.jump(IF_EQUAL, libc::AF_INET6 as u32, 3, 0);
            rule.jump(IF_EQUAL, libc::AF_NETLINK as u32, 0, 7);
            // Routes only: the other protocols of this family are the kernel's back doors.
            rule.push(LOAD, argument(2));
            rule.jump(IF_EQUAL, libc::NETLINK_ROUTE as u32, 4, 5);
            rule.push(LOAD, argument(1));
            rule.push(AND, KIND);
            rule.jump(IF_EQUAL, libc::SOCK_RAW as u32, 2, 0);
            rule.jump(IF_EQUAL, SOCK_PACKET, 1, 0);
            rule.push(RETURN, libc::SECCOMP_RET_ALLOW);
        }
        rule.error(libc::EPERM);
        self.for_call(libc::SYS_socket, rule);
    }

    /// Pairs are connected to each other and reach nobody else, but for datagrams: those can be sent to any name.
    fn socket_pairs(&mut self) {
        let mut rule = Program::default();
        rule.push(LOAD, argument(1));
        rule.push(AND, KIND);
        rule.jump(IF_EQUAL, libc::SOCK_STREAM as u32, 2, 0);
        rule.jump(IF_EQUAL, libc::SOCK_SEQPACKET as u32, 1, 0);
        rule.error(libc::EPERM);
        rule.push(RETURN, libc::SECCOMP_RET_ALLOW);
        self.for_call(libc::SYS_socketpair, rule);
    }

    /// A rule that decides about every use of a call.
    fn for_call(&mut self, call: c_long, rule: Program) {
        self.jump(IF_EQUAL, call as u32, 0, rule.0.len() as u8);
        self.0.extend(rule.0);
    }
}

/// Raw by another name.
const SOCK_PACKET: u32 = 10;

/// The part of a socket's kind that is not flags.
const KIND: u32 = 0xf;

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would do: runs the program on a call.
    fn verdict(filter: &Filter, architecture: u32, number: c_long, arguments: [u32; 3]) -> u32 {
        let loaded = |at: u32| match at {
            NUMBER => number as u32,
            ARCHITECTURE_AT => architecture,
            at => arguments[(at as usize - 16) / 8],
        };
        let (mut accumulator, mut at) = (0, 0);
        loop {
            let step = filter.0[at];
            let jump = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
            at += 1;
            match step.code {
                LOAD => accumulator = loaded(step.k),
                AND => accumulator &= step.k,
                IF_EQUAL => at += jump(accumulator == step.k),
                IF_AT_LEAST => at += jump(accumulator >= step.k),
                IF_ANY_BIT => at += jump(accumulator & step.k != 0),
                GO_ON => at += step.k as usize,
                RETURN => return step.k,
                other => panic!("{other} is no code of ours"),
            }
        }
    }

    #[track_caller]
    fn check(sockets: Sockets, number: c_long, arguments: [u32; 3], allowed: bool) {
        let verdict = verdict(&Filter::new(sockets), ARCHITECTURE, number, arguments);
        assert_eq!(verdict == libc::SECCOMP_RET_ALLOW, allowed, "{number} {arguments:?}: {verdict:#x}");
    }

    #[test]
    fn what_is_listed_is_refused_and_the_rest_is_not() {
        let judged = [libc::SYS_clone3, libc::SYS_socket, libc::SYS_socketpair];
        for call in (0..1000).filter(|call| !judged.contains(call)) {
            check(Sockets::Internet, call, [0; 3], !REFUSED.contains(&call));
        }
    }

    #[test]
    fn a_foreign_architecture_dies_and_foreign_numbers_do_not_exist() {
        let filter = Filter::new(Sockets::Internet);
        assert_eq!(verdict(&filter, 0x4000_0003, libc::SYS_read, [0; 3]), libc::SECCOMP_RET_KILL_PROCESS);
        let x32 = libc::SYS_ptrace | c_long::from(FOREIGN_NUMBERS);
        assert_eq!(
            verdict(&filter, ARCHITECTURE, x32, [0; 3]),
            libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32
        );
    }

    #[test]
    fn a_process_may_be_made_but_not_with_namespaces() {
        check(Sockets::Internet, libc::SYS_clone, [libc::SIGCHLD as u32, 0, 0], true);
        check(Sockets::Internet, libc::SYS_clone, [libc::CLONE_NEWUSER as u32, 0, 0], false);
        check(Sockets::Internet, libc::SYS_unshare, [libc::CLONE_FILES as u32, 0, 0], true);
        check(Sockets::Internet, libc::SYS_unshare, [libc::CLONE_NEWNS as u32, 0, 0], false);
        check(Sockets::Internet, libc::SYS_clone3, [0; 3], false);
    }

    #[test]
    fn sockets_are_of_the_internet_or_routes_and_never_raw() {
        let (stream, raw) = (libc::SOCK_STREAM as u32, libc::SOCK_RAW as u32);
        let flags = libc::SOCK_CLOEXEC as u32;
        for (family, kind, protocol, allowed) in [
            (libc::AF_INET, stream | flags, 0, true),
            (libc::AF_INET6, libc::SOCK_DGRAM as u32, 0, true),
            (libc::AF_INET, raw | flags, 1, false),
            (libc::AF_INET6, SOCK_PACKET, 0, false),
            (libc::AF_NETLINK, raw | flags, libc::NETLINK_ROUTE as u32, true),
            (libc::AF_NETLINK, raw, libc::NETLINK_AUDIT as u32, false),
            (libc::AF_UNIX, stream, 0, false),
            (libc::AF_VSOCK, stream, 0, false),
            (libc::AF_PACKET, raw, 0, false),
            (libc::AF_ALG, 5, 0, false),
        ] {
            check(Sockets::Internet, libc::SYS_socket, [family as u32, kind, protocol], allowed);
            check(Sockets::None, libc::SYS_socket, [family as u32, kind, protocol], false);
        }
    }

    #[test]
    fn unix_sockets_for_streams_alone_are_made_where_a_supervisor_connects_them() {
        let (unix, stream) = (libc::AF_UNIX as u32, libc::SOCK_STREAM as u32);
        let flags = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u32;
        check(Sockets::InternetAndStreams, libc::SYS_socket, [unix, stream | flags, 0], true);
        for kind in [libc::SOCK_DGRAM, libc::SOCK_SEQPACKET, libc::SOCK_RAW] {
            check(Sockets::InternetAndStreams, libc::SYS_socket, [unix, kind as u32, 0], false);
        }
        check(Sockets::InternetAndStreams, libc::SYS_socket, [libc::AF_INET as u32, stream, 0], true);
        check(Sockets::InternetAndStreams, libc::SYS_socket, [libc::AF_VSOCK as u32, stream, 0], false);
    }

    #[test]
    fn pairs_of_sockets_are_allowed_unless_they_send_datagrams() {
        let unix = libc::AF_UNIX as u32;
        check(
            Sockets::None,
            libc::SYS_socketpair,
            [unix, (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as u32, 0],
            true,
        );
        check(Sockets::None, libc::SYS_socketpair, [unix, libc::SOCK_SEQPACKET as u32, 0], true);
        check(Sockets::None, libc::SYS_socketpair, [unix, libc::SOCK_DGRAM as u32, 0], false);
        check(Sockets::None, libc::SYS_socketpair, [unix, libc::SOCK_RAW as u32, 0], false);
    }

    #[test]
    fn a_reporting_filter_reports_what_is_asked_for_and_allows_the_rest() {
        let bits = (libc::O_WRONLY | libc::O_CREAT) as u32;
        let reported = [Reported::Always(libc::SYS_mkdirat), Reported::AnyBit(libc::SYS_openat, 2, bits)];
        let filter = Filter::reporting(&reported);
        for (call, arguments, expected) in [
            (libc::SYS_mkdirat, [0; 3], libc::SECCOMP_RET_USER_NOTIF),
            (libc::SYS_openat, [0, 0, libc::O_CREAT as u32], libc::SECCOMP_RET_USER_NOTIF),
            (libc::SYS_openat, [0, 0, libc::O_CLOEXEC as u32], libc::SECCOMP_RET_ALLOW),
            (libc::SYS_read, [0; 3], libc::SECCOMP_RET_ALLOW),
        ] {
            assert_eq!(verdict(&filter, ARCHITECTURE, call, arguments), expected, "{call} {arguments:?}");
        }
    }

    #[test]
    fn nothing_is_typed_into_a_terminal_and_no_program_becomes_its_owner() {
        check(Sockets::Internet, libc::SYS_ioctl, [0, libc::TIOCSTI as u32, 0], false);
        check(Sockets::Internet, libc::SYS_ioctl, [0, libc::TIOCGWINSZ as u32, 0], true);
        check(Sockets::Internet, libc::SYS_fchmodat, [0, 0, 0o4755], false);
        check(Sockets::Internet, libc::SYS_fchmodat, [0, 0, 0o2755], true);
    }
}

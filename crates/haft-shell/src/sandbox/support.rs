//! What the kernel here can do.

use std::{fmt, fs, io, sync::OnceLock};

use super::sys::{can_have_namespaces, knows_mounts, knows_notifications, landlock_version};

/// What the kernel gives to whoever runs this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// Whether a process can have namespaces of its own; if not, why.
    pub namespaces: Result<(), String>,
    /// Which version of Landlock; none if it has none.
    pub landlock: Option<u32>,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Whether filtered calls can be reported to a supervisor.
    pub notifications: bool,
    /// Whether a namespace can have a `/proc` of its own: not where somebody has covered parts of ours.
    pub processes: bool,
}

impl Support {
    /// Asked once: it does not change while a program runs.
    pub fn here() -> Support {
        static HERE: OnceLock<Support> = OnceLock::new();
        HERE.get_or_init(Support::ask).clone()
    }

    fn ask() -> Support {
        let namespaces = match can_have_namespaces() {
            Ok(()) if !knows_mounts() => Err("the kernel is older than 5.12".to_owned()),
            asked => asked.map_err(|errno| refusal(&errno.into())),
        };
        let seccomp = fs::exists("/proc/sys/kernel/seccomp/actions_avail").unwrap_or(false);
        let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
        let is_known = actions.split_whitespace().any(|action| action == "user_notif");
        let notifications = is_known && knows_notifications() && shows_children();
        let mounted = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let processes = !mounted.lines().any(covers_processes);
        Support { namespaces, landlock: landlock_version().ok(), seccomp, notifications, processes }
    }
}

/// Whether a process may look at those that it started: a supervisor reads the arguments of their calls.
fn shows_children() -> bool {
    const ONLY_ADMINISTRATORS: u8 = 2;
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    scope.trim().parse().unwrap_or(0) < ONLY_ADMINISTRATORS
}

/// Whether a line of the table of mounts is one below `/proc`, but for the place that is made to be mounted on.
fn covers_processes(line: &str) -> bool {
    let place = line.split(' ').nth(4).unwrap_or_default();
    place.starts_with("/proc/") && place != "/proc/sys/fs/binfmt_misc"
}

/// Why not, as far as the system's settings tell.
fn refusal(err: &io::Error) -> String {
    let settings = [
        ("/proc/sys/user/max_user_namespaces", "0"),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
    ];
    let is_set =
        |(path, value): &(&str, &str)| fs::read_to_string(path).is_ok_and(|text| text.trim() == *value);
    match settings.into_iter().find(is_set) {
        Some((path, value)) => format!("{path} is {value}"),
        None => format!("the system refuses them ({err})"),
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespaces {
            Ok(()) => f.write_str("user namespaces"),
            Err(why) => write!(f, "no user namespaces ({why})"),
        }?;
        match self.landlock {
            Some(version) => write!(f, ", Landlock {version}"),
            None => f.write_str(", no Landlock"),
        }?;
        f.write_str(match (self.seccomp, self.notifications) {
            (true, true) => ", seccomp",
            (true, false) => ", seccomp without notifications",
            (false, _) => ", no seccomp",
        })?;
        f.write_str(if self.processes { "" } else { ", no /proc of its own (something is mounted in ours)" })
    }
}

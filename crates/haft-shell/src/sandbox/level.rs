//! Which guarantees hold.

use std::fmt;

use super::{network::Network, support::Support};

/// Which guarantees hold for a process. Said with every result: a promise that is not kept must not be relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// Writes outside the write roots, reads of what is denied, other processes and the network are closed by namespaces.
    pub namespaces: bool,
    /// The version of Landlock that closes files a second time.
    pub landlock: Option<u32>,
    /// Whether system calls are filtered.
    pub seccomp: bool,
    /// What does not hold, a sentence each; empty at the full level.
    pub missing: Vec<String>,
}

impl Level {
    pub(super) fn of(support: &Support, network: &Network, confines_reading: bool) -> Level {
        let mut missing = Vec::new();
        if let Err(why) = &support.namespaces {
            missing.push(format!("there are no user namespaces: {why}"));
            missing.extend(WITHOUT_NAMESPACES.map(str::to_owned));
            if matches!(network, Network::Hosts(_)) {
                missing.push("the allowed hosts cannot be reached: the network is off".to_owned());
            }
        }
        if support.namespaces.is_ok() && !support.processes {
            missing.push("/proc is empty: something is mounted in ours".to_owned());
        }
        if support.landlock.is_none() {
            missing.push("there is no Landlock: files are closed once, not twice".to_owned());
            if confines_reading {
                missing.push("what may be read is not confined".to_owned());
            }
        }
        if !support.seccomp {
            missing.push("system calls are not filtered".to_owned());
        }
        if support.seccomp && !support.notifications {
            missing.push(WITHOUT_NOTIFICATIONS.to_owned());
        }
        let namespaces = support.namespaces.is_ok();
        Level { namespaces, landlock: support.landlock, seccomp: support.seccomp, missing }
    }

    /// Whether everything holds.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }
}

const WITHOUT_NOTIFICATIONS: &str = "protected names that do not exist can be created, without a question: there are no seccomp notifications";

const WITHOUT_NAMESPACES: [&str; 4] = [
    "names that are code can be changed inside the write roots",
    "modes, owners and times of files outside the write roots can be changed",
    "other processes can be seen",
    "processes that leave the group may outlive the command",
];

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.is_complete(), self.namespaces) {
            (true, _) => "full",
            (false, true) => "partial",
            (false, false) => "reduced",
        })?;
        f.write_str(if self.namespaces { ": namespaces" } else { ": no namespaces" })?;
        if let Some(version) = self.landlock {
            write!(f, ", Landlock {version}")?;
        }
        f.write_str(if self.seccomp { ", seccomp" } else { "" })?;
        self.missing.iter().try_for_each(|what| write!(f, "; {what}"))
    }
}

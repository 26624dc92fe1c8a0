//! `sandbox.jsonl`: does the sandbox hold?
//!
//! Each case is a command that tries something, and a proof that it was done, looked for from outside. It plays as an
//! ordinary user: where the chore runs as root, that is another account, because root is stopped by less.

mod servers; //  what there is to be reached, and must not be
mod proof; //    what would show that it was done

use std::{
    fs::{self, File},
    os::unix::fs::{FileTypeExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{
    case::{Answer, Case},
    stage::Stage,
};
use crate::haft::{Haft, watch};
use proof::{Proof, Ran};
use servers::Servers;

/// What a case says besides its command.
#[derive(Deserialize)]
struct Facts {
    policy: Policy,
    proof: Proof,
    #[serde(default)]
    requires: Vec<String>,
}

#[derive(Deserialize)]
struct Policy {
    #[serde(default)]
    write: Vec<String>,
    #[serde(default)]
    deny_read: Vec<String>,
    network: String,
}

/// No case takes longer, unless something hangs.
const LIMIT: Duration = Duration::from_secs(30);

pub(super) fn judge(haft: &Haft, case: &Case) -> Result<Answer> {
    let facts = Facts::deserialize(&case.context)?;
    if let Some(lacking) = facts.requires.iter().find(|what| !is_there(what)) {
        return Ok(Answer::skipped(format!("there is no {lacking} here")));
    }
    let scene = Scene::new(haft, &facts)?;
    let ran = scene.play(&case.input, &facts)?;
    let is_proved = scene.proof(&facts)?.holds(&ran)?;
    if let Some(litter) = litter(&scene.stage.workspace()) {
        return Ok(Answer::Broke(format!("{} was left behind", litter.display())));
    }
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    Ok(match (is_proved, &*case.expect) {
        (true, "must_fail") => Answer::Broke(format!("it was done: {said}")),
        (true, _) => Answer::said("must_succeed", said),
        (false, _) => Answer::said("must_fail", said),
    })
}

/// When all cases have been played.
pub(super) fn finish() {
    if let Some(servers) = Servers::running() {
        servers.put_away();
    }
}

/// Who plays: nobody of importance if we are root, else ourselves.
const ORDINARY: u32 = 65534;

/// A case, set up.
struct Scene {
    stage: Stage,
    binary: PathBuf,
    /// Whether to be somebody else.
    is_lowered: bool,
    /// Somebody outside, who must be left alone.
    bystander: Child,
    servers: &'static Servers,
    before: Vec<(PathBuf, Vec<u8>)>,
}

/// What is there before a case begins.
const SET_UP: &str = r#"
set -e; umask 022
cd "$1"; printf WS-FILE > a.txt; mkdir secrets; printf WS-SECRET-MARKER > secrets/key
for r in . vendor/r; do
  mkdir -p $r; git init -q $r; rm -rf $r/.git/hooks; mkdir $r/.git/hooks
  git -C $r -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
done
cd "$2"; printf OUT-MARKER > readable.txt; : > fd9.txt
cd "$3"; mkdir -p .ssh .aws x; printf SSH-KEY-MARKER > .ssh/id_ed25519; printf AWS-MARKER > .aws/credentials; : > .bashrc
"#;

/// Opens descriptor 9 as somebody careless would, and goes on.
const CARELESS: &str = r#"exec 9>>"$1"; shift; exec "$@""#;

const SECRET: (&str, &str) = ("HAFT_TEST_API_KEY", "ENV-SECRET-MARKER");

impl Scene {
    fn new(haft: &Haft, facts: &Facts) -> Result<Scene> {
        let stage = Stage::new()?;
        let is_lowered = is_root() && !facts.requires.iter().any(|what| what == "privileged");
        if is_lowered {
            let root = stage.workspace().parent().context("a workspace without a directory")?.to_owned();
            for place in [root, stage.workspace(), stage.home(), stage.filled("{OUT}").into()] {
                chown(place, Some(ORDINARY), Some(ORDINARY))?;
            }
        }
        let home = stage.home();
        let places = [stage.filled("{WS}"), stage.filled("{OUT}"), stage.filled("{HOME}")];
        let mut set_up = as_user(is_lowered, &home, Path::new("bash"));
        ensure!(set_up.args(["-c", SET_UP, "x"]).args(&places).status()?.success(), "the set-up failed");
        let mut bystander = as_user(is_lowered, &home, Path::new("sleep"));
        let bystander = bystander.arg("600").stdout(Stdio::null()).spawn()?;
        let binary = reachable(haft)?;
        let mut scene =
            Scene { stage, binary, is_lowered, bystander, servers: Servers::all()?, before: Vec::new() };
        scene.before = scene.proof(facts)?.contents();
        Ok(scene)
    }

    /// Runs the command in the sandbox.
    fn play(&self, input: &str, facts: &Facts) -> Result<Ran> {
        let directory = self.stage.workspace();
        let mut command = as_user(self.is_lowered, &self.stage.home(), Path::new("bash"));
        command.current_dir(&directory).stdin(Stdio::null());
        command
            .args(["-c", CARELESS, "x", &self.stage.filled("{OUT}/fd9.txt")])
            .arg(&self.binary)
            .arg("sandbox");
        for (option, paths) in [("--write", &facts.policy.write), ("--deny-read", &facts.policy.deny_read)] {
            for path in paths {
                command.args([option, &self.filled(path)]);
            }
        }
        command.args(["--network", &facts.policy.network, "--", "bash", "-c", &self.filled(input)]);
        let outputs = tempfile::tempdir()?;
        let [out, err] = ["out", "err"].map(|name| outputs.path().join(name));
        let watched = watch(command.stdout(File::create(&out)?).stderr(File::create(&err)?), LIMIT)?;
        Ok(Ran {
            is_success: watched.status.is_some_and(|status| status.success()),
            stdout: fs::read(out)?,
            stderr: fs::read(err)?,
            before: self.before.clone(),
            bystander: self.bystander.id(),
        })
    }

    fn proof(&self, facts: &Facts) -> Result<Proof> {
        Ok(facts.proof.with_paths(|path| self.filled(path)))
    }

    fn filled(&self, text: &str) -> String {
        let text = self.stage.filled(text).replace("{PID}", &self.bystander.id().to_string());
        self.servers.filled(&text)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // It may have been ended by the case.
        let _ = self.bystander.kill();
        let _ = self.bystander.wait();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A program as the one who plays, with the environment of the case.
fn as_user(is_lowered: bool, home: &Path, program: &Path) -> Command {
    let id = ORDINARY.to_string();
    let mut command = if is_lowered {
        let mut lowered = Command::new("setpriv");
        lowered.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]).arg(program);
        lowered
    } else {
        Command::new(program)
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("HOME", home).env("LANG", "C.UTF-8").env(SECRET.0, SECRET.1);
    command
}

/// The binary, where everybody can start it.
fn reachable(haft: &Haft) -> Result<PathBuf> {
    static COPY: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let binary = PathBuf::from(haft.command(Path::new("/"), &[]).get_program());
    let is_open =
        |place: &Path| fs::metadata(place).is_ok_and(|facts| facts.permissions().mode() & 0o001 != 0);
    if !is_root() || binary.ancestors().all(is_open) {
        return Ok(binary);
    }
    if COPY.get().is_none() {
        let directory = tempfile::tempdir()?;
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755))?;
        let copy = directory.path().join("haft");
        fs::copy(&binary, &copy)?;
        let _ = COPY.set((directory, copy));
    }
    Ok(COPY.get().map_or(binary, |(_, copy)| copy.clone()))
}

/// Whether the machine has what a case needs.
fn is_there(what: &str) -> bool {
    match what.split_once(':') {
        Some(("arch", name)) => name == std::env::consts::ARCH,
        Some(("kernel", "vsock")) => {
            fs::exists("/proc/sys/net/vsock").unwrap_or(false) || Path::new("/dev/vsock").exists()
        }
        Some(_) => false,
        None if what == "privileged" => is_root(),
        None if what == "ipv6" => Servers::all().is_ok_and(Servers::has_ipv6),
        None => is_program(what),
    }
}

fn is_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

/// What a sandbox leaves behind in a workspace, if it does.
fn litter(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).find_map(|path| match fs::symlink_metadata(&path) {
        Ok(facts) if facts.is_dir() => litter(&path),
        Ok(facts) if facts.file_type().is_socket() => Some(path),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn what_is_left_behind_is_found() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(".git")).unwrap();
        fs::write(directory.path().join("a"), "").unwrap();
        assert_eq!(litter(directory.path()), None);
        let place = directory.path().join(".git/hooks");
        drop(UnixListener::bind(&place).unwrap());
        assert_eq!(litter(directory.path()), Some(place));
    }

    #[test]
    fn a_machine_lacks_what_nobody_has_heard_of() {
        assert!(is_there("bash") && is_there(&format!("arch:{}", std::env::consts::ARCH)));
        assert!(!is_there("no-such-program") && !is_there("kernel:nonsense") && !is_there("arch:vax"));
    }
}

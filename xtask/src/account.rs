//! An ordinary user's account on a machine of its own, for chores that do what people do all day.
//!
//! Root is not ordinary: PostgreSQL refuses it, and file modes do not stop it. So the chore starts itself again, as a user that
//! exists only in mount and process namespaces made for the run: `/home` is empty memory, `/etc/passwd` has one line more, and
//! everything that was started ends with the chore.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail, ensure};

use crate::haft::{Haft, Profile};

/// The account: its home, and a haft there.
pub(crate) struct Account {
    pub(crate) home: PathBuf,
    pub(crate) haft: Haft,
}

/// The account, or the end of the chore that ran in it.
pub(crate) enum Entry {
    Account(Account),
    /// The chore ran in the account, in a process of its own, and ended.
    Finished(ExitCode),
}

const NAME: &str = "ada";
const ID: &str = "4242";
/// Set inside, to the haft binary.
const MARK: &str = "HAFT_XTASK_ACCOUNT";
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Makes the machine. The words: haft, this program, the toolchain, the user's name and number, the mark's name, the search path,
/// then the chore.
const MACHINE: &str = r#"
set -e
haft=$1 xtask=$2 rust=$3 name=$4 id=$5 mark=$6 path=$7; shift 7
mount -t tmpfs -o mode=755,size=60% tmpfs /home
cd /home; mkdir "$name" bin rust; touch bin/haft bin/xtask
mount --bind "$haft" bin/haft; mount --bind "$xtask" bin/xtask; mount --bind "$rust" rust
cp /etc/passwd /etc/group .
echo "$name:x:$id:$id::/home/$name:/bin/bash" >> passwd
echo "$name:x:$id:" >> group
mount --bind passwd /etc/passwd; mount --bind group /etc/group
chown "$id:$id" "$name"; cd "$name"
# Not by `exec`: process 1 collects what has lost its parent.
setpriv --reuid "$id" --regid "$id" --clear-groups --inh-caps=-all env -i PATH="/home/rust/bin:$path" HOME="/home/$name" \
    USER="$name" LOGNAME="$name" LANG=C.UTF-8 SHELL=/bin/bash "$mark=/home/bin/haft" /home/bin/xtask "$@"
exit $?
"#;

impl Account {
    /// The account, or the end of the chore that ran in it with the same words.
    pub(crate) fn enter(words: &[&str]) -> Result<Entry> {
        if let Some(haft) = env::var_os(MARK) {
            let home = PathBuf::from(env::var_os("HOME").context("the account has no home")?);
            return Ok(Entry::Account(Account { haft: Haft::of(haft, &home), home }));
        }
        ensure!(
            rustix::process::geteuid().is_root(),
            "{} needs root, to make an account of its own",
            words.join(" ")
        );
        let haft = Haft::build(Profile::Debug, "/")?;
        let haft = PathBuf::from(haft.command(Path::new("/"), &[]).get_program()).canonicalize()?;
        let mut command = Command::new("unshare");
        command.args([
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "bash",
            "-c",
            MACHINE,
            "machine",
        ]);
        command.arg(haft).arg(env::current_exe()?).arg(toolchain()?);
        let status = command.args([NAME, ID, MARK, SYSTEM_PATH]).args(words).status().context("unshare")?;
        let Some(code) = status.code() else { bail!("the account ended with {status}") };
        Ok(Entry::Finished(ExitCode::from(u8::try_from(code)?)))
    }
}

/// Where the Rust toolchain is: below a home that the account cannot enter.
fn toolchain() -> Result<String> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().context("rustc")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

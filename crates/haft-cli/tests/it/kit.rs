//! A place to run haft in.

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use haft_testkit::Workspace;
use serde_json::Value;

/// A project, a home and a state directory, all temporary.
pub(crate) struct Place {
    pub(crate) files: Workspace,
}

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: i32,
}

impl Place {
    /// `project/` is where commands run; `home/` is the home.
    pub(crate) fn new(files: &str) -> Place {
        let files = Workspace::new(files);
        for directory in ["project", "home"] {
            std::fs::create_dir_all(files.root().join(directory)).unwrap();
        }
        Place { files }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.files.root().join(path)
    }

    #[expect(clippy::disallowed_methods, reason = "the binary is what is tested")]
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.args(arguments).current_dir(self.path("project")).env_clear();
        command.env("HOME", self.path("home")).env("XDG_STATE_HOME", self.path("state")).env("CI", "1");
        command.env("XDG_CONFIG_HOME", self.path("config")).env("TMPDIR", std::env::temp_dir());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn haft(&self, arguments: &[&str]) -> Ran {
        self.haft_with(arguments, "")
    }

    /// Runs it with this on stdin.
    pub(crate) fn haft_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        // Aside, because both pipes may fill. Whoever does not read its input has a reason.
        let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran::of(&output)
    }
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Ran { out: text(&output.stdout), err: text(&output.stderr), code: output.status.code().unwrap_or(-1) }
    }

    /// stdout as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|err| panic!("{err}: {self:?}"))
    }

    /// stdout as lines of JSON.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|err| panic!("{err}: {line}")))
            .collect()
    }

    /// Fails unless this is the exit code and stderr has these words.
    #[track_caller]
    pub(crate) fn expect(self, code: i32, err: &str) -> Ran {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.err.contains(err), "{self:?}");
        if err.is_empty() {
            assert_eq!(self.err, "", "stderr is for talk: {self:?}");
        }
        self
    }
}

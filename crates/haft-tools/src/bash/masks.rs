//! What rules keep a command from reading, in the real sandbox: whatever else the command is told that it may do.

use haft_engine::{
    Call, Session,
    policy::{Origin, Rules, Written},
};
use haft_testkit::{Workspace, engine, session};
use serde_json::{Value, json};

/// A workspace with files that rules speak of.
struct Masked {
    session: Session,
    runtime: tokio::runtime::Runtime,
    workspace: Workspace,
}

impl Masked {
    /// `None` where there is no sandbox.
    fn new(deny: &[&str], ask: &[&str]) -> Option<Masked> {
        if let Err(why) = haft_shell::sandbox::Support::here().namespaces {
            println!("skipped: {why}");
            return None;
        }
        let workspace = Workspace::new(
            "-- a.txt
             open
             -- .env
             S3CRET
             -- sub/.env
             S3CRET
             -- keys/one
             S3CRET
             -- keys/two
             OTHER",
        );
        let rules = Rules {
            allow: Written::all(["Bash", "Edit(**)"], Origin::Session),
            ask: Written::all(ask.iter().copied(), Origin::Session),
            deny: Written::all(deny.iter().copied(), Origin::Session),
        };
        let engine = engine(&workspace).tools(crate::builtin()).rules(rules).build().unwrap();
        let session = session(&engine, &workspace);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Some(Masked { session, runtime, workspace })
    }

    fn call(&self, input: Value) -> String {
        self.runtime.block_on(self.session.call(Call::new("1", "Bash", input))).text()
    }

    #[track_caller]
    fn keeps(&self, command: &str) {
        for input in
            [json!({ "command": command }), json!({ "command": command, "write": [".env", "keys/one"] })]
        {
            let told = self.call(input);
            assert!(!told.contains("S3CRET"), "{command}: {told}");
        }
        let kept = self.workspace.text(".env");
        assert_eq!(kept.trim(), "S3CRET", "{command}");
    }
}

/// A program that opens `.env` or `keys/one` without a word that says so.
const BLIND: [&str; 4] = [
    r#"perl -e 'open F, chr(46)."env"; print <F>'"#,
    r#"perl -e 'open F, "sub/".chr(46)."env"; print <F>'"#,
    r#"perl -e 'rename "sub", "moved"; open F, "moved/".chr(46)."env"; print <F>'"#,
    r#"perl -e 'link chr(46)."env", "out"; symlink chr(46)."env", "soft"; for (qw(out soft)) { open F, $_; print <F> }'"#,
];

#[test]
fn a_denied_file_is_not_read_by_who_may_write_it() {
    let Some(masked) = Masked::new(&["Read(**/.env)"], &[]) else { return };
    for command in [
        "less .env",
        "more .env",
        "view -es -c 'w! /dev/stdout' -c q .env",
        "vim -es -c 'w! /dev/stdout' -c 'q!' .env",
        "ex -s -c '%p' -c 'q!' .env",
        "sed -i -n 'w /dev/stdout' .env",
        "mv .env pub.txt; perl -pe 1 pub.txt",
        "mv sub other; perl -pe 1 other/*",
        "chmod 644 .env; perl -pe 1 .env",
        "perl -pe 1 .env",
        "true >> .env; node -p 1",
        "echo x | tee -a .env; perl -pe 1 .en?",
    ] {
        masked.keeps(command);
    }
    for blind in BLIND {
        masked.keeps(blind);
        masked.keeps(&format!("touch .env sub/.env; {blind}"));
        masked.keeps(&format!("mkdir -p sub; {blind}"));
        masked.keeps(&format!("true > sub/.env; {blind}"));
        masked.keeps(&format!("rm -f .env; {blind}"));
    }
    assert_eq!(masked.call(json!({ "command": "perl -pe 1 a.txt" })), "open");
}

#[test]
fn a_file_that_is_asked_about_is_not_read_by_who_may_write_it() {
    let Some(masked) = Masked::new(&[], &["Read(keys/**)", "Read(**/.env)"]) else { return };
    let blind = r#"perl -e 'open F, "keys/"."one"; print <F>'"#;
    for command in ["touch keys/one; perl -pe 1 keys/one", "true > keys/new; perl -pe 1 keys/one", blind] {
        masked.keeps(command);
    }
    for blind in BLIND {
        masked.keeps(&format!("touch .env sub/.env; {blind}"));
    }
}

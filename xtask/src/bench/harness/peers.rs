//! Others on the same script, on the same machine in the same run: whether haft is quicker does not depend on how quick that is.
//!
//! Each agent is started as its people start it, in a home of its own, with the scripted model in the place of its vendor. They
//! have other tools under other names: a scene says what is to be done ([`Deed`]), and each says how its model asks for that. What
//! one has no tool for is not played with it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::Result;
use haft_model::{Dialect, scripted::Turn};
use serde_json::{Value, json};

use super::{
    super::table::Row,
    Played, Player, ROUNDS, median,
    scenes::{Field, read_path},
};
use crate::kit::Kit;

/// What the model wants done.
#[derive(Debug, Clone)]
enum Deed {
    Read(String),
    Run(String),
    Edit { path: String, from: String, to: String },
}

/// A name and an input.
type Asked = (&'static str, Value);

/// An agent of others.
struct Peer {
    name: &'static str,
    dialect: Dialect,
    call: fn(&Deed) -> Option<Asked>,
    /// How it is started in its home, with a model at this address.
    command: fn(&Kit, &Path, &str) -> Result<Command, String>,
}

const PEERS: [Peer; 3] = [
    Peer { name: "agent-code", dialect: Dialect::Anthropic, call: agent_code_call, command: agent_code },
    Peer { name: "codex", dialect: Dialect::Responses, call: codex_call, command: codex },
    Peer { name: "pi", dialect: Dialect::Anthropic, call: pi_call, command: pi },
];

fn haft_call(deed: &Deed) -> Option<Asked> {
    Some(match deed {
        Deed::Read(path) => ("Read", json!({ "file_path": path })),
        Deed::Run(command) => ("Bash", json!({ "command": command })),
        Deed::Edit { path, from, to } => {
            ("Edit", json!({ "file_path": path, "old_string": from, "new_string": to }))
        }
    })
}

fn agent_code_call(deed: &Deed) -> Option<Asked> {
    Some(match deed {
        Deed::Read(path) => ("FileRead", json!({ "file_path": path })),
        Deed::Run(command) => ("Bash", json!({ "command": command })),
        Deed::Edit { path, from, to } => {
            ("FileEdit", json!({ "file_path": path, "old_string": from, "new_string": to }))
        }
    })
}

fn codex_call(deed: &Deed) -> Option<Asked> {
    match deed {
        Deed::Run(command) => Some(("exec_command", json!({ "cmd": command }))),
        Deed::Read(_) | Deed::Edit { .. } => None,
    }
}

fn pi_call(deed: &Deed) -> Option<Asked> {
    Some(match deed {
        Deed::Read(path) => ("read", json!({ "path": path })),
        Deed::Run(command) => ("bash", json!({ "command": command })),
        Deed::Edit { path, from, to } => {
            ("edit", json!({ "path": path, "edits": [{ "oldText": from, "newText": to }] }))
        }
    })
}

fn agent_code(kit: &Kit, home: &Path, url: &str) -> Result<Command, String> {
    let mut command = in_home(Command::new(kit.built("agent")?), home);
    command.args(["--provider", "anthropic", "--api-key", "none", "--model", "scripted"]);
    command.args(["--dangerously-skip-permissions", "--prompt", "Work", "--api-base-url"]);
    command.arg(format!("{url}/v1"));
    Ok(command)
}

fn codex(kit: &Kit, home: &Path, url: &str) -> Result<Command, String> {
    let binary = "vendor/x86_64-unknown-linux-musl/bin/codex";
    let mut command = in_home(Command::new(kit.script("@openai/codex-linux-x64", binary)?), home);
    let provider = format!(
        r#"model_providers.scripted={{name="scripted",base_url="{url}/v1",wire_api="responses",env_key="SCRIPTED_KEY"}}"#
    );
    command.env("SCRIPTED_KEY", "none").args(["exec", "--skip-git-repo-check", "-m", "scripted"]);
    command.args(["-c", "model_provider=scripted", "-c", &provider, "-s", "workspace-write", "Work"]);
    Ok(command)
}

fn pi(kit: &Kit, home: &Path, url: &str) -> Result<Command, String> {
    let script = kit.script("@mariozechner/pi-coding-agent", "dist/cli.js")?;
    let provider =
        json!({ "baseUrl": url, "api": "anthropic-messages", "apiKey": "none", "models": [{ "id": "m" }] });
    let settings = home.join("models.json");
    fs::write(settings, json!({ "providers": { "scripted": provider } }).to_string())
        .map_err(|err| err.to_string())?;
    let mut command =
        in_home(kit.node_command(&script, &["-p", "--provider", "scripted", "--model", "m"])?, home);
    command.env("PI_CODING_AGENT_DIR", home).env("PI_OFFLINE", "1").args(["--no-session", "Work"]);
    Ok(command)
}

/// Knows nothing of the person who runs the chore.
fn in_home(mut command: Command, home: &Path) -> Command {
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).env("HOME", home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// What is taken of a run.
type Figure = fn(&Played) -> Taken;

/// The smaller, the better.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Taken {
    Time(Duration),
    Bytes(u64),
}

struct Scene {
    what: &'static str,
    turns: Vec<Vec<Deed>>,
    figure: Figure,
}

fn scenes(project: &Path) -> Vec<Scene> {
    let read = |file: usize| Deed::Read(project.join(read_path(file)).display().to_string());
    let run = |command: &str| Deed::Run(command.to_owned());
    let last: Figure = |played| Taken::Time(played.gaps.last().copied().unwrap_or_default());
    let warm: Figure = |played| Taken::Time(median(played.gaps.get(1..).unwrap_or_default()));
    let large = project.join(LARGE).display().to_string();
    let edit =
        Deed::Edit { path: large.clone(), from: "0000006250 the quick".to_owned(), to: "X".to_owned() };
    vec![
        Scene {
            what: "start to first request",
            turns: Vec::new(),
            figure: |played| Taken::Time(played.start),
        },
        Scene { what: "one Read", turns: (0..12).map(|turn| vec![read(turn)]).collect(), figure: warm },
        Scene {
            what: "six Reads",
            turns: (0..8).map(|turn| (0..6).map(|file| read(turn + file)).collect()).collect(),
            figure: warm,
        },
        Scene {
            what: "one echo",
            turns: (0..8).map(|turn| vec![run(&format!("echo {turn}"))]).collect(),
            figure: warm,
        },
        Scene {
            what: "ten `sleep 0.2` in one turn",
            turns: vec![vec![run("true")], vec![run("sleep 0.2"); 10]],
            figure: last,
        },
        Scene {
            what: "20 MB of shell output",
            turns: vec![vec![run("true")], vec![run("yes 0123456789 | head -c 20000000")]],
            figure: last,
        },
        Scene {
            what: "Edit in a file of 1 MB",
            turns: vec![vec![Deed::Read(large)], vec![edit]],
            figure: last,
        },
        Scene {
            what: "40 turns of one Read: peak memory",
            turns: (0..40).map(|turn| vec![read(turn)]).collect(),
            figure: |played| Taken::Bytes(played.peak),
        },
    ]
}

/// The file that is edited.
const LARGE: &str = "large.txt";

/// Plays all of it with whoever is there, in turns with haft.
pub(super) fn rows(field: &Field, root: &Path) -> Result<Vec<Row>> {
    let kit = Kit::find()?;
    let mut rows = Vec::new();
    for peer in PEERS {
        let home = root.join("peers").join(peer.name);
        fs::create_dir_all(&home)?;
        if let Err(why) = (peer.command)(&kit, &home, "http://127.0.0.1:9") {
            rows.push(Row::missing(format!("against {}", peer.name), why));
            continue;
        }
        for scene in scenes(&field.project) {
            let what = format!("{}: {}", peer.name, scene.what);
            rows.extend(match race(field, (&peer, &kit, &home), &scene) {
                Ok(None) => None,
                Ok(Some((ours, theirs))) => Some(row(what, ours, theirs)),
                Err(err) => Some(Row::missing(what, format!("{err:#}"))),
            });
        }
    }
    Ok(rows)
}

fn row(what: String, ours: Taken, theirs: Taken) -> Row {
    match (ours, theirs) {
        (Taken::Time(ours), Taken::Time(theirs)) => Row::times(what, ours, theirs, 1.0),
        (Taken::Bytes(ours), Taken::Bytes(theirs)) => Row::memory(what, ours, theirs),
        _ => Row::missing(what, "two figures that cannot be compared"),
    }
}

/// The best of each; nothing if the peer has no tool for it.
fn race(
    field: &Field,
    (peer, kit, home): (&Peer, &Kit, &PathBuf),
    scene: &Scene,
) -> Result<Option<(Taken, Taken)>> {
    let (Some(ours), Some(theirs)) = (turns(scene, haft_call), turns(scene, peer.call)) else {
        return Ok(None);
    };
    let haft = field.haft();
    let other = Player {
        dialect: peer.dialect,
        command: Box::new(|directory, model| {
            let mut command = (peer.command)(kit, home, &model.url()).map_err(anyhow::Error::msg)?;
            command.current_dir(directory);
            Ok(command)
        }),
    };
    let mut best: Option<(Taken, Taken)> = None;
    for _ in 0..ROUNDS {
        let once = |player: &Player<'_>, turns: &[Turn]| -> Result<Taken> {
            field.make_large(LARGE, 12_500)?;
            Ok((scene.figure)(&player.play(&field.project, turns)?))
        };
        let (one, two) = (once(&haft, &ours)?, once(&other, &theirs)?);
        best = Some(best.map_or((one, two), |(ours, theirs)| (smaller(ours, one), smaller(theirs, two))));
    }
    fs::remove_file(field.project.join(LARGE))?;
    Ok(best)
}

fn smaller(one: Taken, other: Taken) -> Taken {
    if other < one { other } else { one }
}

fn turns(scene: &Scene, call: fn(&Deed) -> Option<Asked>) -> Option<Vec<Turn>> {
    let turn = |deeds: &Vec<Deed>| {
        deeds
            .iter()
            .try_fold(Turn::new(), |turn, deed| call(deed).map(|(name, input)| turn.call(name, input)))
    };
    scene.turns.iter().map(turn).collect()
}

//! `haft trust`: what a workspace's own settings would do, and whether they may.

use serde_json::{Value, json};

use crate::{
    ask::may_ask,
    cli::Options,
    draw::{self, Paint},
    exit::{Exit, usage},
    kept,
    out::{self, Out},
    place::Place,
    trust::{self, Brought, Outline, Standing, import},
    tty,
};

/// What can be typed after `haft trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Only say whether the workspace is trusted
    #[arg(long, conflicts_with_all = ["yes", "revoke", "list", "import"])]
    status: bool,
    /// Trust the workspace no longer
    #[arg(long, conflicts_with_all = ["yes", "list", "import"])]
    revoke: bool,
    /// List all workspaces that were trusted
    #[arg(long, conflicts_with_all = ["yes", "import"])]
    list: bool,
    /// Print the haft.toml that says what .claude/settings.json says
    #[arg(long, conflicts_with = "yes")]
    import: bool,
    /// Write it to haft.toml
    #[arg(long, requires = "import")]
    write: bool,
}

const EXAMPLES: &str = "\
Nothing of a workspace counts before you have trusted it: not its haft.toml and .haft/,
not its .mcp.json. Trust is for the content that you were shown; after any change you are
shown the difference and asked again.

Examples:
  haft trust                     see what it would do, and say yes or no
  haft trust --status --json
  haft trust --import --write    make a haft.toml from .claude/settings.json
  haft call Read '{\"file_path\":\"a\"}' --trust    for one run, in a script

Exit: 0 trusted, or nothing to trust; 1 not trusted (--status), or something could not be
said (--import); 2 settings that cannot be used; 3 nobody said yes.";

pub(crate) fn run(options: &Options, args: &Args) -> anyhow::Result<Exit> {
    let place = Place::find(options.cwd.as_deref())?;
    let mut out = Out::stdout();
    let exit = match args {
        Args { list: true, .. } => list(options, &mut out)?,
        Args { revoke: true, .. } => revoke(&place, &mut out)?,
        Args { import: true, write, .. } => import(&place, *write, &mut out)?,
        Args { status: true, .. } => status(options, &trust::look(&place.workspace), &mut out)?,
        Args { yes, .. } => judge(options, &place, *yes, &mut out)?,
    };
    out.flush()?;
    Ok(exit)
}

/// Shows it, asks, and keeps the answer.
fn judge(options: &Options, place: &Place, yes: bool, out: &mut Out) -> anyhow::Result<Exit> {
    let brought = trust::look(&place.workspace);
    match &brought.standing {
        // The store is broken, not the workspace: trusting it anew mends that.
        Standing::Unsure(why) if !brought.bundle.files.is_empty() => out::complain(why),
        Standing::Unsure(why) => return Err(usage(format!("this workspace cannot be trusted: {why}"))),
        Standing::Nothing => {
            say(options, out, &brought, None, "it brings no settings, servers, agents or skills")?;
            return Ok(Exit::Done);
        }
        _ => {}
    }
    let outline = Outline::of(&brought, place)?;
    if let Standing::Trusted(trusted) = &brought.standing {
        let words = format!("{}trusted since {}", outline.text(&place.workspace), kept::day(trusted.since));
        say(options, out, &brought, Some(&outline), &words)?;
        return Ok(Exit::Done);
    }
    put_to(options, brought, &outline, yes, out)
}

/// Puts what is not trusted to a person, unless somebody has said yes before.
fn put_to(
    options: &Options,
    brought: Brought,
    outline: &Outline,
    yes: bool,
    out: &mut Out,
) -> anyhow::Result<Exit> {
    if !options.json {
        out.lines(&shown(&brought, outline))?;
        out.flush()?;
    }
    if !yes && !confirmed(options) {
        say(options, out, &brought, Some(outline), "not trusted; nothing of it counts")?;
        return Ok(Exit::Denied);
    }
    // What was shown is what is kept: the files are not read again for it.
    trust::trust(&brought.workspace, &brought.bundle)?;
    let brought = Brought { standing: trust::look(&brought.workspace).standing, ..brought };
    say(options, out, &brought, Some(outline), "trusted")?;
    Ok(Exit::Done)
}

fn shown(brought: &Brought, outline: &Outline) -> String {
    let mut text = format!("{}\n", draw::plain_line(brought.workspace.display().to_string()));
    text.push_str(&outline.text(&brought.workspace));
    let diff = brought.diff();
    if !diff.is_empty() {
        text.push_str("It was trusted before, and this has changed since:\n");
        text.push_str(&diff);
    }
    text
}

fn say(
    options: &Options,
    out: &mut Out,
    brought: &Brought,
    outline: Option<&Outline>,
    words: &str,
) -> anyhow::Result<()> {
    if options.json {
        let mut told = told(brought);
        told["counts"] = outline.map_or(Value::Null, Outline::json);
        told["diff"] = brought.diff().into();
        return Ok(out.json(&told)?);
    }
    Ok(out.lines(words)?)
}

fn told(brought: &Brought) -> Value {
    let changes = brought.changes();
    let change =
        |path: &str| changes.iter().find(|(changed, _)| changed == path).map(|(_, change)| change.word());
    let file = |file: &crate::trust::Content| json!({ "path": file.path, "sha256": file.hash(), "bytes": file.bytes.len(), "change": change(&file.path) });
    let gone = changes.iter().filter(|(path, _)| brought.bundle.find(path).is_none());
    let gone = gone.map(|(path, change)| json!({ "path": path, "change": change.word() }));
    let why = match &brought.standing {
        Standing::Unsure(why) => Some(why),
        _ => None,
    };
    json!({
        "workspace": brought.workspace,
        "state": brought.standing.word(),
        "why": why,
        "since": brought.standing.since().map(kept::day),
        "sha256": brought.bundle.hash(),
        "files": brought.bundle.files.iter().map(file).chain(gone).collect::<Vec<_>>(),
    })
}

fn status(options: &Options, brought: &Brought, out: &mut Out) -> anyhow::Result<Exit> {
    if options.json {
        out.json(&told(brought))?;
    } else {
        out.lines(&match (&brought.standing, brought.warning()) {
            (Standing::Nothing, _) => "nothing to trust".to_owned(),
            (Standing::Trusted(trusted), _) => format!("trusted since {}", kept::day(trusted.since)),
            (_, warning) => warning.unwrap_or_default(),
        })?;
    }
    let is_well = matches!(brought.standing, Standing::Nothing | Standing::Trusted(_));
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}

fn revoke(place: &Place, out: &mut Out) -> anyhow::Result<Exit> {
    let was = trust::forget(&place.workspace)?;
    out.lines(if was { "no longer trusted" } else { "it was not trusted" })?;
    Ok(Exit::Done)
}

fn list(options: &Options, out: &mut Out) -> anyhow::Result<Exit> {
    let mut rows = Vec::new();
    for trusted in trust::list()? {
        match trusted {
            Ok(trusted) => {
                let state = trust::look(&trusted.workspace).standing;
                rows.push([
                    trusted.workspace.display().to_string(),
                    state.word().to_owned(),
                    kept::day(trusted.since),
                ]);
            }
            Err(why) => out::complain(&why),
        }
    }
    if options.json {
        let row = |[workspace, state, since]: &[String; 3]| json!({ "workspace": workspace, "state": state, "since": since });
        out.json(&rows.iter().map(row).collect::<Vec<_>>())?;
    } else {
        out.text(&draw::table(["WORKSPACE", "STATE", "SINCE"], &rows, Paint::stdout()))?;
    }
    Ok(Exit::Done)
}

fn import(place: &Place, write: bool, out: &mut Out) -> anyhow::Result<Exit> {
    let imported = import::import(&place.workspace)?;
    imported.remarks.iter().for_each(|remark| out::complain(&remark.to_string()));
    if !write {
        out.lines(&imported.text)?;
    } else {
        let written = imported.write(&place.workspace)?;
        out.lines(&format!("written to {}; look at it, then `haft trust`", written.display()))?;
    }
    Ok(if imported.is_whole() { Exit::Done } else { Exit::Failed })
}

/// Whether a person at the terminal says yes.
fn confirmed(options: &Options) -> bool {
    if !may_ask(options) {
        out::complain("nobody is there to be asked; say --yes if you trust it");
        return false;
    }
    tty::says_yes("Trust it?").unwrap_or(false)
}

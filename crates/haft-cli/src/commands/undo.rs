//! `haft undo`: takes back what calls changed in files, or makes it again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use haft_store::images::{Plan, Planned, Standing, StoredImages, Target, UndoError, Undone, Was};
use haft_tool::shown;
use serde_json::{Value, json};

use crate::{
    ask::may_ask,
    cli::Options,
    draw::{plain, plain_line},
    exit::{Exit, usage},
    out::{self, Out},
    place::{self, Place},
    settings::Settings,
    store,
    trust::unified,
    tty, watch,
};

/// What can be typed after `haft undo`.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to take back: a call's number or id, SESSION/CALL, SESSION:TURN or SESSION. The last call that changed
    /// something in this workspace if it is left out
    #[arg(value_name = "CALL|TURN|SESSION", conflicts_with = "redo")]
    what: Option<String>,
    /// Make again what was taken back last
    #[arg(long)]
    redo: bool,
    /// Only show what would be done
    #[arg(long, conflicts_with = "yes")]
    preview: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Take this file back, or all below this directory, whatever has become of it since. May be repeated
    #[arg(long, value_name = "FILE")]
    take: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
A file that is no longer what the call left is refused, and the others are taken back. What
an undo replaces is kept like what a call replaces: `haft undo --redo` brings it back.

Examples:
  haft undo --preview            what the last change was
  haft undo                      take it back
  haft undo work:3               all that the third turn of the session `work` changed
  haft undo work --yes           all that the session changed
  haft undo --take src/main.rs   that file too, although somebody changed it since

Exit: 0 all was taken back; 1 some files could not be, or there was nothing; 2 there is no such
call, turn or session; 3 nobody said yes.";

/// Larger files are not shown.
const MOST_SHOWN: u64 = 1 << 20;

pub(crate) fn run(options: &Options, args: &Args) -> anyhow::Result<Exit> {
    let undo = Undo::new(options, args)?;
    let runtime = watch::runtime()?;
    // All of it blocks; the runtime is for whoever keeps the journal.
    runtime.block_on(async { tokio::task::spawn_blocking(move || undo.run(&mut Out::stdout())).await })?
}

/// What is to be taken back.
pub(crate) struct Undo {
    options: Options,
    args: Args,
    place: Place,
    images: StoredImages,
}

/// The same for somebody who asks the person in another way. All of it blocks.
#[cfg(feature = "tui")]
impl Undo {
    /// The last change in the workspace.
    pub(crate) fn last(options: &Options) -> anyhow::Result<Undo> {
        Undo::new(options, &Args::default())
    }

    /// What would be done, and a text that shows it.
    pub(crate) fn look(&self) -> anyhow::Result<(Plan, String)> {
        haft_engine::session::sweep(&place::state()?.join("changing"));
        let plan = self.plan()?;
        let text = self.text(&plan);
        Ok((plan, text))
    }

    /// Does it; says how many files are as they were.
    pub(crate) fn carry_out(&self, plan: &Plan) -> anyhow::Result<usize> {
        let undone = self.images.carry_out(plan, Some(&place::state()?.join("changing")), "person")?;
        Ok(undone.files.len())
    }
}

impl Undo {
    fn new(options: &Options, args: &Args) -> anyhow::Result<Undo> {
        let place = Place::find(options.cwd.as_deref())?;
        let store = store::open(&Settings::read(options.config.as_deref(), &[])?)?;
        let images =
            store.images.ok_or_else(|| usage("nothing is kept to be taken back: undo.enabled is false"))?;
        Ok(Undo { options: options.clone(), args: args.clone(), place, images })
    }

    fn run(&self, out: &mut Out) -> anyhow::Result<Exit> {
        let ledger = place::state()?.join("changing");
        // What somebody left who was killed is no change of anybody.
        haft_engine::session::sweep(&ledger);
        let plan = match self.plan() {
            Err(UndoError::Nothing(words)) if self.args.what.is_some() => return Err(usage(words)),
            Err(UndoError::Nothing(words)) => {
                out::complain(&words);
                return Ok(Exit::Failed);
            }
            plan => plan?,
        };
        let is_partly = plan.refused().next().is_some();
        if !self.options.json {
            out.lines(&self.text(&plan))?;
            out.flush()?;
        }
        if self.args.preview {
            return self.told(out, &plan, None, Exit::Done);
        }
        if plan.ready().next().is_none() && is_partly {
            return self.told(out, &plan, None, Exit::Failed);
        }
        if !self.args.yes && !self.confirmed(&plan) {
            return self.told(out, &plan, None, Exit::Denied);
        }
        let by = if self.args.yes { "--yes" } else { "person" };
        let undone = self.images.carry_out(&plan, Some(&ledger), by)?;
        self.told(out, &plan, Some(&undone), if is_partly { Exit::Failed } else { Exit::Done })
    }

    fn plan(&self) -> Result<Plan, UndoError> {
        let target = match &self.args.what {
            _ if self.args.redo => Target::LatestUndo,
            Some(name) => Target::Named(name.clone()),
            None => Target::Latest,
        };
        let take: Vec<PathBuf> = self.args.take.iter().map(|path| self.place.cwd.join(path)).collect();
        self.images.plan(&target, &self.place.workspace, &take)
    }

    fn confirmed(&self, plan: &Plan) -> bool {
        if !may_ask(&self.options) {
            out::complain("nobody is there to be asked; say --yes if this is what you want");
            return false;
        }
        let question = match (self.args.redo, plan.ready().count()) {
            (false, 1) => "Take this file back?".to_owned(),
            (false, files) => format!("Take these {files} files back?"),
            (true, 1) => "Make this change again?".to_owned(),
            (true, files) => format!("Make these changes of {files} files again?"),
        };
        tty::says_yes(&question).unwrap_or(false)
    }

    /// What is to be said at the end.
    fn told(&self, out: &mut Out, plan: &Plan, undone: Option<&Undone>, exit: Exit) -> anyhow::Result<Exit> {
        match undone {
            _ if self.options.json => out.json(&self.json(plan, undone))?,
            Some(undone) => self.end(out, undone)?,
            None => {}
        }
        out.flush()?;
        Ok(exit)
    }

    fn end(&self, out: &mut Out, undone: &Undone) -> anyhow::Result<()> {
        let verb = if self.args.redo { "made again" } else { "taken back" };
        let files = undone.files.len();
        out.lines(&format!("{verb}: {files} {}", if files == 1 { "file" } else { "files" }))?;
        for directory in &undone.left {
            out.lines(&format!("{} stays: something else is in it", self.short(directory)))?;
        }
        Ok(())
    }

    fn json(&self, plan: &Plan, undone: Option<&Undone>) -> Value {
        let file = |file: &Planned| {
            let why = if let Standing::Refused(why) = &file.standing { Some(why) } else { None };
            json!({
                "path": shown(&file.path).to_string(),
                "now": file.now,
                "to": file.to,
                "ready": why.is_none(),
                "why": why,
                "late": file.late,
            })
        };
        let key = |key: &haft_engine::session::CallKey| json!({ "session": key.session, "call": key.call });
        json!({
            "calls": plan.calls.iter().map(key).collect::<Vec<_>>(),
            "redoes": plan.redoes.as_ref().map(key),
            "files": plan.files.iter().map(file).collect::<Vec<_>>(),
            "left_out": plan.left_out,
            "done": undone.is_some(),
            "undo": undone.map(|undone| key(&undone.key)),
            "left": undone.map(|undone| undone.left.iter().map(|path| shown(path).to_string()).collect::<Vec<_>>()),
        })
    }

    fn text(&self, plan: &Plan) -> String {
        let mut text = String::new();
        for file in plan.ready() {
            text.push_str(&self.change(file));
            if file.late {
                text.push_str("  (found only after haft had been cut off: somebody else may have done it)\n");
            }
        }
        for (file, why) in plan.refused() {
            text.push_str(&format!(
                "cannot be taken back: {}: {}\n",
                self.short(&file.path),
                plain_line(why.to_owned())
            ));
        }
        for words in &plan.left_out {
            text.push_str(&format!("cannot be taken back: {}\n", plain_line(words.clone())));
        }
        if plan.files.is_empty() {
            text.push_str("every file is as it was already\n");
        }
        text
    }

    /// One file: a diff where that says something.
    fn change(&self, file: &Planned) -> String {
        let name = self.short(&file.path);
        let (now, to) = (self.now(file), self.to(&file.to));
        let mut text = match (&file.now, &file.to, now, to) {
            (
                Was::File { .. } | Was::Absent | Was::Unkept { .. },
                Was::File { .. } | Was::Absent,
                Some(now),
                Some(to),
            ) if now != to => plain(unified(&name, &now, &to)),
            _ => String::new(),
        };
        let modes = (mode(&file.now), mode(&file.to));
        if text.is_empty() || matches!(modes, (Some(now), Some(to)) if now != to) {
            text = format!("{name}: {} → {}\n{text}", file.now.describe(), file.to.describe());
        }
        text
    }

    /// What is in a file now, if it is a text that can be shown.
    fn now(&self, file: &Planned) -> Option<String> {
        match &file.now {
            Was::Absent => Some(String::new()),
            Was::File { len, .. } | Was::Unkept { len, .. } if *len <= MOST_SHOWN => {
                String::from_utf8(fs::read(&file.path).ok()?).ok()
            }
            _ => None,
        }
    }

    fn to(&self, was: &Was) -> Option<String> {
        match was {
            Was::Absent => Some(String::new()),
            was => String::from_utf8(self.images.content(was, MOST_SHOWN).ok()??).ok(),
        }
    }

    fn short(&self, path: &Path) -> String {
        shown(path.strip_prefix(&self.place.workspace).unwrap_or(path)).to_string()
    }
}

/// Permissions, of what has some and is not gone.
fn mode(was: &Was) -> Option<u32> {
    match was {
        Was::File { mode, .. } | Was::Directory { mode } | Was::Unkept { mode, .. } => Some(*mode),
        Was::Absent | Was::Link { .. } => None,
    }
}

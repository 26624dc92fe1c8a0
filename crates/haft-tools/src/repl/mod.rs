//! `Repl`: runs code in an interpreter that stays, so that what one call defines the next can use.

mod language; //    the languages, and how their programs are started
mod limits; //      what an interpreter may touch, and whether it may serve a call
mod interpreter; // a process that runs one snippet after the other
mod open; //        which interpreters a session has
mod report; //      what model and person are told
#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use haft_shell::understand;
use haft_tool::{Access, Availability, Class, Cx, Effects, Fault, Grant, Limit, PathBase, Reply, Spec, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use self::{language::Language, limits::lasting, open::Open};
use crate::bash::report::on_one_line;

/// Runs code in a Python, Node or Bash that stays: variables, imports, definitions and the directory are there in the next
/// call. You get what it prints, then the value of the last expression (in Bash the exit code if that is not 0).
///
/// Use it for work in steps on data that is worth keeping in memory: load a file once, look at it, try things, compute.
/// For a program that is to be run, a build or a test use Bash; code that is to stay belongs in a file, with Write.
///
/// Each language has its own process, started by its first call in the directory of that moment and gone with the session.
/// It is confined like a command of Bash: it can write in the workspace, and reach no host. Reading input gives an end of file. Node: `await` may stand
/// anywhere, names may be declared again, modules come by `require`.
/// Code that takes longer than `timeout` is interrupted; only what does not react is killed, and all that was defined is lost
/// then. An exception is a failure with its traceback. Long output is cut in the middle; the whole is in a file that you are
/// told.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplInput {
    /// The language: `python`, `node` or `bash`.
    #[schemars(extend("enum" = ["python", "node", "bash", "python3", "js", "javascript", "sh"]))]
    language: String,
    /// The code to run. May be left out with `reset`.
    #[serde(default)]
    code: String,
    /// How long it may take, in milliseconds: 30000 if it is left out, at most 600000.
    #[schemars(range(min = 1, max = 600_000))]
    timeout: Option<u64>,
    /// Whether to start the language afresh first. All that was defined in it is lost.
    #[serde(default)]
    reset: bool,
}

/// The tool.
pub(crate) struct Repl {
    options: ReplOptions,
    open: Open,
}

/// What can be chosen about Repl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplOptions {
    /// How long a snippet may take that says nothing else.
    pub timeout: Duration,
    /// How long an interpreter stays that nobody uses.
    pub idle: Duration,
    /// How many bytes a snippet may write before its interpreter is stopped.
    pub most_output: u64,
}

impl Default for ReplOptions {
    fn default() -> ReplOptions {
        ReplOptions {
            timeout: Duration::from_secs(30),
            idle: Duration::from_secs(30 * 60),
            most_output: 1 << 30,
        }
    }
}

/// The longest that a call can ask for.
const LONGEST: Duration = Duration::from_secs(600);

/// The engine's own limit must not cut off what the tool has to say about code that took too long.
const WITH_LAST_WORDS: Duration = Duration::from_secs(LONGEST.as_secs() + 30);

/// More than anybody writes by hand.
const LONGEST_CODE: usize = 1 << 20;

/// What there is about the effects of any code.
const NOT_FOLLOWED: &str = "what the code does is not followed";
const MAY_MEAN_ELSE: &str = "earlier snippets may have changed the directory and what names mean";

impl Repl {
    pub(crate) fn new(options: ReplOptions) -> Repl {
        Repl { options, open: Open::default() }
    }

    /// What this call may touch, without what only this call may.
    async fn lasting_grant(&self, input: &ReplInput, cx: &Cx) -> Result<Grant, Fault> {
        let session = cx.session();
        let base = PathBase {
            cwd: session.cwd.clone(),
            home: session.home.clone(),
            workspace: Some(session.workspace.clone()),
        };
        let declared = self.effects_here(input, &base);
        Ok(lasting(cx.grant().await?, &declared, &session.workspace))
    }

    fn limit(&self, input: &ReplInput) -> Duration {
        input.timeout.map_or(self.options.timeout, Duration::from_millis).min(LONGEST)
    }
}

impl fmt::Debug for Repl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repl").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Tool for Repl {
    type Input = ReplInput;
    const SPEC: Spec = Spec::new("Repl")
        .aliases(&["repl", "run_code", "code_interpreter", "ipython"])
        .search_hint(
            "python node javascript bash interpreter notebook kernel session evaluate compute data state",
        )
        // It cuts its output itself, and keeps the whole while it comes.
        .limit(Limit::Bytes(200 * 1024))
        .timeout(WITH_LAST_WORDS);

    fn validate(&self, input: &ReplInput) -> Result<(), Fault> {
        input.language()?;
        if input.code.trim().is_empty() && !input.reset {
            return Err(Fault::rejected("`code` is empty; say what is to run, or set `reset`"));
        }
        if input.code.contains('\0') {
            return Err(Fault::rejected("`code` holds a NUL character; write it as an escape, like `\\0`"));
        }
        if input.code.len() > LONGEST_CODE {
            return Err(Fault::rejected(format!(
                "`code` has {} bytes and may have at most {LONGEST_CODE}; write it to a file and load that",
                input.code.len()
            )));
        }
        Ok(())
    }

    fn effects_here(&self, input: &ReplInput, base: &PathBase) -> Effects {
        let effects = match input.language() {
            _ if input.code.trim().is_empty() => Effects::none(),
            Ok(Language::Bash) => doubted(understand(&input.code, base).effects(), MAY_MEAN_ELSE),
            Ok(language) => {
                let command = vec![language.command().to_owned(), "-".to_owned()];
                doubted(Effects::none().and_command(command, Class::Write), NOT_FOLLOWED)
            }
            Err(_) => Effects::unknown(),
        };
        effects.and_state("repl", Access::Write)
    }

    fn describe(&self, input: &ReplInput) -> String {
        let code = on_one_line(&input.code);
        match (input.reset, code.is_empty()) {
            (true, true) => format!("Start {} afresh", input.language),
            (true, false) => format!("Start {} afresh and run {code}", input.language),
            (false, _) => format!("Run in {}: {code}", input.language),
        }
    }

    fn availability(&self) -> Availability {
        match Language::installed(None).is_empty() {
            true => Availability::Missing("none of python3, node and bash is in PATH".to_owned()),
            false => Availability::Ready,
        }
    }

    async fn call(&self, input: ReplInput, cx: &Cx) -> Result<Reply, Fault> {
        let language = input.language()?;
        let was_there = input.reset && self.open.end(language, cx).await;
        if input.code.trim().is_empty() {
            return Ok(afresh(language, was_there));
        }
        let grant = self.lasting_grant(&input, cx).await?;
        let open::Ready { interpreter, lost } = self.open.ready(language, &self.options, &grant, cx).await?;
        let shift = interpreter.begin().ok_or_else(|| busy(language))?;
        let keeper = cx.keeper();
        interpreter.process.keep_in(Box::new(move || keeper.begin()));
        let limit = self.limit(&input);
        let outcome = &shift.run(&input.code, limit, cx).await;
        let (code, interpreter, limit) = (&input.code, &*interpreter, limit.as_millis());
        Ok(report::Told { code, interpreter, grant: &grant, outcome, lost, limit }.reply())
    }
}

impl ReplInput {
    fn language(&self) -> Result<Language, Fault> {
        Language::named(&self.language).ok_or_else(|| {
            let names = Language::ALL.map(Language::name).join(", ");
            Fault::rejected(format!("`language` is {:?} and must be one of {names}", self.language))
        })
    }
}

fn doubted(mut effects: Effects, doubt: &'static str) -> Effects {
    effects.push_doubt(doubt);
    effects
}

fn afresh(language: Language, was_there: bool) -> Reply {
    Reply::text(match was_there {
        true => {
            format!("[{language} was ended, with all that was defined in it; the next call starts it afresh]")
        }
        false => format!("[no {language} was running; the next call starts one]"),
    })
}

fn busy(language: Language) -> Fault {
    Fault::failed(format!("{language} is still busy with another call; wait for that one to end"))
}

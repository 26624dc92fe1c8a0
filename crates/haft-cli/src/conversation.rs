//! A conversation with a model, new or of before: what `haft run` and `haft` begin with.

use std::sync::Arc;

use haft_agent::{Agent, AgentOptions, Delegate, Past};
use haft_engine::{Engine, Session, SessionOptions};
use haft_mcp::upstream::Sampler;
use haft_model::Key;
use haft_tool::SessionId;
use uuid::Uuid;

use crate::{
    agents,
    cli::{self, Options},
    exit::usage,
    model::{self, Choice, ModelArgs},
    sampling::Sampling,
    seat,
    setup::{self, Setup},
    transcript::{self, BookTranscript},
};

/// Which conversation it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// One that nobody has begun: its session is new, too.
    New,
    /// The first in a session that was named.
    First,
    /// One that goes on.
    Resumed,
}

impl Which {
    /// Names the session in every case: somebody may want to go on with it.
    pub(crate) fn name(options: &mut Options, resume: Option<&str>) -> anyhow::Result<Which> {
        let (id, which) = match (resume, options.session.take()) {
            (Some(_), Some(_)) => {
                return Err(usage("--resume names the session already; leave --session out"));
            }
            // `--resume` takes what `--session` takes: it names a directory, too.
            (Some(id), None) => {
                let id = cli::session_id(id).map_err(|err| usage(format!("--resume {id}: {err}")))?;
                (id, Which::Resumed)
            }
            (None, Some(id)) => (id, Which::First),
            (None, None) => (Uuid::now_v7().to_string(), Which::New),
        };
        options.session = Some(id);
        Ok(which)
    }

    /// What was said before. It is this process that goes on with it from now on, and no other.
    pub(crate) async fn past(self, setup: &Setup) -> anyhow::Result<Past> {
        if let Some(id) = setup.store().and(setup.options.session.as_deref()) {
            seat::take(id)?;
        }
        if self == Which::New {
            return Ok(Past::default());
        }
        let id = SessionId::from(setup.options.session.clone().unwrap_or_default());
        let Some(store) = setup.store() else {
            return match self {
                Which::Resumed => Err(usage(
                    "--resume needs the journal, and calls are not recorded (journal.enabled, --no-journal)",
                )),
                _ => Ok(Past::default()),
            };
        };
        match (transcript::recall(store, &id).await?, self) {
            (Some(past), Which::Resumed) => Ok(past),
            (None, Which::Resumed) => {
                Err(usage(format!("nothing was said in a session {id}; `haft sessions` lists them")))
            }
            (None, _) => Ok(Past::default()),
            (Some(_), _) => Err(usage(format!(
                "the session {id} has a conversation already; go on with it by --resume {id}"
            ))),
        }
    }

    fn session(self, setup: &Setup, engine: &Engine) -> anyhow::Result<Session> {
        let options = match self {
            Which::New => SessionOptions { is_new: true, ..setup.session_options() },
            _ => setup.resumed_options()?,
        };
        setup::begin(engine, options)
    }

    /// The agent that has the conversation, and who works for it. Nothing is asked yet.
    pub(crate) fn agent(
        self,
        setup: &Setup,
        choice: &Choice,
        past: Past,
        change: impl FnOnce(&mut AgentOptions),
    ) -> anyhow::Result<(Agent, Delegate)> {
        let (model, mut options) = (choice.model()?, choice.options(setup.model()));
        let sampler: Arc<dyn Sampler> = Arc::new(Sampling::new(model.clone(), choice));
        setup.servers.upstreams.sampled_by(&sampler);
        let delegate = setup.delegate(model.clone(), options.clone());
        let judge = setup.judge(model.clone(), &options);
        let session = self.session(setup, &setup.agent_engine(delegate.clone(), judge)?)?;
        agents::tell_unknown_tools(&delegate, &session, setup.talk);
        change(&mut options);
        let mut agent = Agent::builder(session.clone(), model, options).past(past);
        if let Some(store) = setup.store() {
            agent = agent.transcript(BookTranscript::new(store, session.id().clone(), &session.workspace()));
        }
        Ok((agent.build(), delegate))
    }
}

/// Which model is asked. Rules may be for some models only, whoever named it: the session knows its name.
pub(crate) fn choose(setup: &mut Setup, args: &ModelArgs) -> anyhow::Result<Choice> {
    let choice = model::choose(setup.model(), args, setup.options.model.as_deref(), &Key::from_env)?;
    setup.options.model = Some(choice.name.clone());
    Ok(choice)
}

//! A stage for an agent.

use std::sync::{Arc, Mutex};

use haft_agent::{Agent, AgentBuilder, AgentEvent, AgentOptions, Outcome, Past, Patience};
use haft_engine::{
    EngineBuilder, Session, SessionOptions,
    policy::{Origin, Rules},
    turn::{Event, Interrupt},
};
use haft_model::{Client, Dialect, Endpoint, StreamEvent};
use haft_testkit::{ModelServer, Probe, Recorded, Script, Workspace, engine, sized, sleeping};
use haft_tool::{Block, Effects, Fault, Reply, SharedTool, tool};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) struct Stage {
    pub(crate) workspace: Workspace,
    pub(crate) probe: Probe,
    pub(crate) session: Session,
    pub(crate) server: ModelServer,
    pub(crate) options: AgentOptions,
    /// What happened, in words.
    pub(crate) told: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    pub(crate) async fn new(script: impl Into<Script>) -> Stage {
        Stage::speaking(Dialect::Anthropic, script).await
    }

    pub(crate) async fn speaking(dialect: Dialect, script: impl Into<Script>) -> Stage {
        Stage::with(dialect, script, |engine| engine).await
    }

    /// With an engine that has more.
    pub(crate) async fn with(
        dialect: Dialect,
        script: impl Into<Script>,
        more: impl FnOnce(EngineBuilder) -> EngineBuilder,
    ) -> Stage {
        let (workspace, probe) = (Workspace::new(""), Probe::default());
        let engine = more(engine(&workspace).tools([sleeping(&probe), sized(), picture()]));
        let allowed = ["Sleep", "Sized", "Picture", "Edit"];
        let engine = engine.rules(Rules::allowing(allowed, Origin::Flag)).build().unwrap();
        let session = engine.session(SessionOptions::at(workspace.root())).unwrap();
        let quick = std::time::Duration::from_millis(1);
        let options = AgentOptions {
            patience: Patience { attempts: 3, first: quick, longest: quick, ..Patience::default() },
            ..AgentOptions::new(dialect, "scripted")
        };
        Stage {
            workspace,
            probe,
            session,
            server: ModelServer::start(script).await,
            options,
            told: Arc::default(),
        }
    }

    /// The same, with haft's own tools, of which Bash and Monitor are allowed.
    pub(crate) async fn with_tools(script: impl Into<Script>) -> Stage {
        let mut stage = Stage::new(script).await;
        let engine = engine(&stage.workspace).tools(haft_tools::builtin());
        let engine = engine.rules(Rules::allowing(["Bash", "Monitor"], Origin::Flag)).build().unwrap();
        stage.session = engine.session(SessionOptions::at(stage.workspace.root())).unwrap();
        stage
    }

    pub(crate) fn builder(&self) -> AgentBuilder {
        let endpoint = Endpoint::new(self.options.dialect).base(self.server.url());
        let client = Client::new(endpoint).unwrap();
        Agent::builder(self.session.clone(), Arc::new(client), self.options.clone())
    }

    pub(crate) fn agent(&self) -> Agent {
        self.builder().build()
    }

    pub(crate) fn agent_after(&self, past: Past) -> Agent {
        self.builder().past(past).build()
    }

    /// Runs a task, tells what happens, and lets somebody act on it.
    pub(crate) async fn run_with(
        &self,
        agent: &mut Agent,
        task: &str,
        mut act: impl FnMut(&str, &Interrupt) + Send,
    ) -> Outcome {
        let interrupt = Interrupt::default();
        let told = self.told.clone();
        let mut on = |event: AgentEvent| {
            let Some(words) = words(&event) else { return };
            act(&words, &interrupt);
            told.lock().unwrap().push(words);
        };
        match task {
            "" => agent.resume(&mut on, &interrupt).await,
            task => agent.run(task, &mut on, &interrupt).await,
        }
    }

    pub(crate) async fn run(&self, agent: &mut Agent, task: &str) -> Outcome {
        self.run_with(agent, task, |_, _| {}).await
    }

    pub(crate) fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().unwrap())
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }
}

#[derive(Deserialize, JsonSchema)]
struct PictureInput {
    /// How many bytes its file has.
    bytes: usize,
}

/// `Picture`: replies with a picture.
fn picture() -> SharedTool {
    tool("Picture")
        .prompt("Replies with a picture. Use it in tests only; it never fails.")
        .effects(|_: &PictureInput| Effects::none())
        .call(|input: PictureInput, _| async move {
            let block = Block::Image { media_type: "image/png".to_owned(), data: vec![7; input.bytes] };
            Ok::<_, Fault>(Reply::default().with_block(block))
        })
}

fn words(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::Asking { turn } => format!("asking {turn}"),
        AgentEvent::Model(StreamEvent::Text(text)) => format!("text {text}"),
        AgentEvent::Model(StreamEvent::Call(call)) => format!("call {}", call.id),
        AgentEvent::Tool(Event::Started { call, .. }) => format!("started {call}"),
        AgentEvent::Tool(Event::Finished(result)) => format!("finished {}", result.call),
        AgentEvent::Tool(Event::TaskEnded { id, .. }) => format!("ended {id}"),
        AgentEvent::Retrying { attempt, error, .. } => format!("again {attempt}: {}", error.message),
        AgentEvent::Compacted { before, after } => {
            assert!(after < before, "{before} {after}");
            "compacted".to_owned()
        }
        AgentEvent::Notice(words) => format!("notice {words}"),
        AgentEvent::Usage { .. } => "usage".to_owned(),
        _ => return None,
    })
}

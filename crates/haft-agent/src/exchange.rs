//! One request, its answer, and what comes of its calls.
//!
//! Calls go to the engine as the model completes them; those that only read start at once. When the message is complete it
//! joins the conversation, is kept, and then the others may start.

use std::collections::HashSet;

use haft_engine::{
    Call,
    result::{FaultFacts, Meta, ToolResult},
    turn::{Event, Interrupt, LiveTurn},
};
use haft_model::{Assistant, ErrorKind, Message, ModelError, Response, Stop, StreamEvent, Usage};
use haft_tool::{Block, CallId, FaultKind};

use crate::{
    Agent, AgentEvent, ModelStream, OnEvent,
    ids::{Ids, Names},
};

/// What became of a request.
pub(crate) enum Exchanged {
    /// It was answered, and all calls have their results. The answer is part of the conversation; the results are not yet.
    Answered(Answered),
    /// There is no answer. What was done for one is part of the conversation.
    Failed(ModelError),
    /// Somebody stopped it. What was done is part of the conversation.
    Interrupted {
        /// What the model has said so far.
        text: String,
    },
}

/// An answer.
pub(crate) struct Answered {
    pub(crate) text: String,
    pub(crate) stop: Stop,
    pub(crate) usage: Usage,
    /// The calls and their results, which are to join the conversation.
    pub(crate) calls: Vec<Call>,
    pub(crate) results: Vec<ToolResult>,
}

/// How an answer ended.
enum Ended {
    Done(Box<Response>),
    Failed(ModelError),
    Interrupted,
}

impl Agent {
    /// Asks the model to go on, with so many tokens at most.
    pub(crate) async fn exchange(
        &mut self,
        left: Option<u64>,
        on: OnEvent<'_>,
        interrupt: &Interrupt,
    ) -> Exchanged {
        if let Some(rest) = self.rest.take() {
            let _ = rest.await;
        }
        let request = self.history.request(&self.request_options(left));
        let weight = self.history.weight();
        let asked = tokio::select! {
            biased;
            () = interrupt.triggered() => return Exchanged::Interrupted { text: String::new() },
            asked = self.model.stream(&request) => asked,
        };
        drop(request);
        let mut stream = match asked {
            Ok(stream) => stream,
            Err(error) => return Exchanged::Failed(error),
        };
        let mut answer = Answer::new(interrupt);
        let ended = answer.follow(&mut *stream, &self.session, &mut self.ids, on).await;
        match ended {
            Ended::Done(response) => {
                // Read to its end beside everything else: some servers take their time.
                self.rest = Some(tokio::spawn(async move { while stream.next().await.is_some() {} }));
                self.gauge.count(weight, response.usage);
                self.complete(answer, *response, on).await
            }
            Ended::Failed(error) => {
                let said = stream.so_far();
                drop(stream);
                self.broke_off(answer, said, on).await;
                Exchanged::Failed(error)
            }
            Ended::Interrupted => {
                let said = stream.so_far();
                drop(stream);
                self.stopped(answer, said, on).await
            }
        }
    }

    /// The message is complete: it is kept, then the calls that change something may start.
    async fn complete(&mut self, mut answer: Answer, response: Response, on: OnEvent<'_>) -> Exchanged {
        let Response { message, stop, usage, .. } = response;
        let (text, calls) = (message.text(), message.calls().cloned().collect::<Vec<Call>>());
        if let Some(trouble) = self.say(Message::Assistant(message), &answer.names.in_order()).await {
            on(AgentEvent::Notice(trouble));
        }
        let results = answer.finish(&calls, on).await;
        Exchanged::Answered(Answered { text, stop, usage, calls, results })
    }

    /// The answer broke off. Calls that ran have results, which are neither lost nor made again: the model is asked to go on
    /// from there. If none ran, nothing happened, and the same is asked again.
    async fn broke_off(&mut self, mut answer: Answer, said: Assistant, on: OnEvent<'_>) {
        answer.wait_for_running(on).await;
        if answer.ran {
            self.keep_partial(answer, said, on).await;
        }
    }

    /// Somebody stopped it: what the model has said so far was said.
    async fn stopped(&mut self, answer: Answer, said: Assistant, on: OnEvent<'_>) -> Exchanged {
        let text = self.keep_partial(answer, said, on).await;
        Exchanged::Interrupted { text }
    }

    /// What was said of an answer that is not complete joins the conversation, with results for its calls.
    async fn keep_partial(&mut self, mut answer: Answer, message: Assistant, on: OnEvent<'_>) -> String {
        let (text, calls) = (message.text(), message.calls().cloned().collect::<Vec<Call>>());
        if text.trim().is_empty() && calls.is_empty() {
            return String::new();
        }
        // Before it is kept: nothing of it may start from now on.
        answer.stop();
        let results = answer.finish(&calls, on).await;
        let mut troubles = vec![self.say(Message::Assistant(message), &answer.names.in_order()).await];
        if !results.is_empty() {
            troubles.push(self.say(Message::Results(results), &[]).await);
        }
        troubles.into_iter().flatten().for_each(|trouble| on(AgentEvent::Notice(trouble)));
        text
    }

    /// Calls of a message from before that have no results in the conversation: the engine knows what came of each.
    pub(crate) async fn settle(&mut self, on: OnEvent<'_>, interrupt: &Interrupt) -> Vec<ToolResult> {
        let Some(Message::Assistant(message)) = self.history.messages().last() else { return Vec::new() };
        let calls: Vec<Call> = message.calls().cloned().collect();
        let open = self.open.clone();
        let pairs = calls.iter().enumerate().map(|(place, call)| {
            let ours = open.get(place).cloned().unwrap_or_else(|| call.id.clone());
            (call.id.clone(), ours)
        });
        let mut answer = Answer::new(interrupt);
        answer.names = Names::of(pairs.collect());
        let calls_of_ours = calls.iter().zip(answer.names.in_order());
        let again = calls_of_ours.filter(|(_, ours)| !self.hidden.contains(ours));
        let again: Vec<Call> = again.map(|(call, ours)| Call { id: ours, ..call.clone() }).collect();
        if !again.is_empty() {
            // They began before, in a run that was dropped, or in a process that is gone: what they did is not done twice.
            self.session.suspect(&again).await;
            self.session.forget_shown();
        }
        for call in again {
            answer.push(call, &self.session);
        }
        answer.finish(&calls, on).await
    }
}

/// An answer while it comes, and the turn of its calls.
struct Answer {
    interrupt: Interrupt,
    turn: Option<LiveTurn>,
    names: Names,
    running: HashSet<CallId>,
    /// Whether a call has run, or been refused: whether there is a result that says something.
    ran: bool,
}

impl Answer {
    fn new(interrupt: &Interrupt) -> Answer {
        Answer {
            // Stopped with the run, and alone if the answer breaks off.
            interrupt: interrupt.child(),
            turn: None,
            names: Names::default(),
            running: HashSet::new(),
            ran: false,
        }
    }

    /// Reads the answer to its end while its calls run.
    async fn follow(
        &mut self,
        stream: &mut dyn ModelStream,
        session: &haft_engine::Session,
        ids: &mut Ids,
        on: OnEvent<'_>,
    ) -> Ended {
        let interrupt = self.interrupt.clone();
        // Once for the whole answer: to begin to listen for each of its pieces would take longer than to read them.
        let mut interrupted = std::pin::pin!(interrupt.triggered());
        loop {
            tokio::select! {
                biased;
                () = &mut interrupted => return Ended::Interrupted,
                event = stream.next() => match event {
                    Some(StreamEvent::Done(response)) => return Ended::Done(response),
                    Some(StreamEvent::Failed(error)) => return Ended::Failed(*error),
                    None => return Ended::Failed(cut_off()),
                    Some(event) => {
                        let event = self.names.rename(event, ids);
                        if let StreamEvent::Call(call) = &event {
                            self.push(call.clone(), session);
                        }
                        on(AgentEvent::Model(event));
                    }
                },
                event = next(&mut self.turn), if self.turn.is_some() => self.heard(event, on),
            }
        }
    }

    fn push(&mut self, call: Call, session: &haft_engine::Session) {
        let turn = self.turn.get_or_insert_with(|| session.live_turn_under(self.interrupt.clone()));
        // A turn that takes no more has been interrupted, and the call gets a result that says so.
        let _ = turn.push(call);
    }

    fn heard(&mut self, event: Option<Event>, on: OnEvent<'_>) {
        let Some(event) = event else { return };
        match &event {
            Event::Started { call, .. } => drop(self.running.insert(call.clone())),
            Event::Finished(result) => {
                self.running.remove(&result.call);
                self.ran = true;
            }
            _ => {}
        }
        on(AgentEvent::Tool(event));
    }

    /// Waits for calls that have started, without letting those start that wait for the end of the message.
    async fn wait_for_running(&mut self, on: OnEvent<'_>) {
        // What was just pushed may start in this moment, and is taken for not started: it has changed nothing.
        while !self.running.is_empty() && !self.interrupt.is_triggered() {
            let event = tokio::select! {
                biased;
                event = next(&mut self.turn) => event,
                () = self.interrupt.triggered() => None,
            };
            if event.is_none() {
                return;
            }
            self.heard(event, on);
        }
    }

    /// Nothing more starts.
    fn stop(&self) {
        if !self.interrupt.is_triggered() {
            self.interrupt.trigger();
        }
    }

    /// Runs the turn to its end. There is exactly one result for each call of the message, with the API's own id.
    async fn finish(&mut self, calls: &[Call], on: OnEvent<'_>) -> Vec<ToolResult> {
        let mut results = match self.turn.take() {
            None => Vec::new(),
            Some(mut turn) => {
                turn.close();
                while let Some(event) = turn.next().await {
                    self.heard(Some(event), on);
                }
                turn.results().await
            }
        };
        self.names.give_back(&mut results);
        let mut results: Vec<Option<ToolResult>> = results.into_iter().map(Some).collect();
        let mut result_of = |call: &Call| {
            let place =
                results.iter().position(|result| result.as_ref().is_some_and(|it| it.call == call.id));
            place.and_then(|place| results[place].take()).unwrap_or_else(|| unknown(call))
        };
        calls.iter().map(&mut result_of).collect()
    }
}

async fn next(turn: &mut Option<LiveTurn>) -> Option<Event> {
    match turn {
        Some(turn) => turn.next().await,
        None => std::future::pending().await,
    }
}

pub(crate) fn cut_off() -> ModelError {
    ModelError {
        kind: ErrorKind::CutOff,
        message: "the answer broke off in the middle".to_owned(),
        status: None,
        retry_after: None,
    }
}

/// The result of a call of which nobody can say what came.
fn unknown(call: &Call) -> ToolResult {
    let words = "It is not known what came of this call: it was not made now, and may have been made before. Look at what is \
                 there, then make a new call for what is missing.";
    ToolResult {
        call: call.id.clone(),
        tool: call.name.clone(),
        blocks: vec![Block::Text(words.to_owned())],
        fault: Some(FaultFacts { kind: FaultKind::Interrupted, refusal: None }),
        data: None,
        observation: None,
        actions: Vec::new(),
        messages: Vec::new(),
        view: None,
        meta: Meta::default(),
    }
}

/// The last words of a message, for outcomes.
pub(crate) fn last_text(messages: &[Message]) -> String {
    let texts = messages.iter().rev().filter_map(|message| match message {
        Message::Assistant(said) => Some(Assistant::text(said)),
        _ => None,
    });
    texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default()
}

//! Calls that wait for their client to come back.
//!
//! A client of the new era cannot be asked anything: it finds the question in the answer to its own request, and comes back
//! with the same request and an answer. Meanwhile the call stands where it stood, whoever asked: a rule that wants a person's
//! word, or a server of either era. What the client carries between (`requestState`) is sealed, belongs to it and to this
//! request alone, and is worth nothing after a while.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::{Map, Value, json};
use tokio::{sync::mpsc, task::JoinHandle, time};
use uuid::Uuid;

use super::{
    door::{Shared, lock},
    message::{BAD_PARAMS, BROKEN},
    visit::{Open, Visit, VisitDesk},
};
use crate::{client::Refused, upstream::Principal};

/// How long a call waits for its client.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// How many of one client wait at once. Its oldest gives way.
const MOST_PARKED: usize = 256;
/// Questions that are asked together are given together.
const GATHER: Duration = Duration::from_millis(3);

/// Where calls wait.
pub(super) struct Parking {
    seal: RequestStateCodec,
    lots: Mutex<HashMap<u64, Waiting>>,
    next: AtomicU64,
}

/// A call that runs aside of its request.
pub(super) struct Waiting {
    who: Principal,
    running: Aside,
    questions: mpsc::UnboundedReceiver<Open>,
    /// Those that the client was given, by the names under which it knows them.
    open: Vec<(String, Open)>,
    desk: Arc<VisitDesk>,
    asked: usize,
    /// Answers that the client brought before it was asked, by the names that it expects.
    given: Map<String, Value>,
}

/// A task that ends with whoever waits for it.
struct Aside(JoinHandle<Result<Value, Refused>>);

impl Drop for Aside {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Parking {
    pub(super) fn new() -> Parking {
        Parking {
            seal: RequestStateCodec::new_unchecked(secret()),
            lots: Mutex::default(),
            next: AtomicU64::new(1),
        }
    }

    /// Seals what belongs to this principal and this request.
    fn seal(&self, lot: u64, whose: &str) -> String {
        let options = SealOptions::new().associated_data(whose.as_bytes()).ttl(PATIENCE);
        self.seal.seal_with(lot.to_string().as_bytes(), &options)
    }

    fn open(&self, state: &str, whose: &str) -> Result<Waiting, Refused> {
        let opened = self.seal.open_with(state, whose.as_bytes()).ok();
        let lot = opened.and_then(|bytes| String::from_utf8(bytes).ok()?.parse::<u64>().ok());
        let lot = lot.ok_or_else(|| Refused::new(BAD_PARAMS, FORGED))?;
        lock(&self.lots).remove(&lot).ok_or_else(|| Refused::new(BAD_PARAMS, FORGOTTEN))
    }

    /// Lets a call wait, and gives the state by which its client finds it again.
    fn park(&self, door: &Arc<Shared>, waiting: Waiting, whose: &str) -> String {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut lots = lock(&self.lots);
        let theirs: Vec<u64> =
            lots.iter().filter(|(_, other)| other.who == waiting.who).map(|(id, _)| *id).collect();
        if theirs.len() >= MOST_PARKED
            && let Some(oldest) = theirs.iter().min()
        {
            lots.remove(oldest);
        }
        lots.insert(id, waiting);
        let door = Arc::downgrade(door);
        tokio::spawn(async move {
            time::sleep(PATIENCE).await;
            if let Some(door) = door.upgrade() {
                lock(&door.parking.lots).remove(&id);
            }
        });
        self.seal(id, whose)
    }
}

const FORGED: &str = "`requestState` is not the one that was given for this request, or it has expired; make the request anew without it";
const FORGOTTEN: &str =
    "the call that `requestState` belongs to has ended meanwhile; make the request anew without it";

/// Random enough for a key: version 7 has 74 random bits, and here are four.
pub(super) fn secret() -> Vec<u8> {
    (0..4).flat_map(|_| Uuid::now_v7().into_bytes()).collect()
}

/// Runs a request that may end in a question: begins it, or goes on with the one that waits.
pub(super) async fn run<F>(
    visit: Visit,
    method: &str,
    params: &mut Map<String, Value>,
    work: impl FnOnce(Visit, Arc<VisitDesk>, Map<String, Value>) -> F,
) -> Result<Value, Refused>
where
    F: Future<Output = Result<Value, Refused>> + Send + 'static,
{
    let (state, responses) = (params.shift_remove("requestState"), params.shift_remove("inputResponses"));
    let whose = whose(&visit.guest.principal, method, params);
    let waiting = match state {
        Some(Value::String(state)) => {
            let mut waiting = visit.guest.door.parking.open(&state, &whose)?;
            waiting.desk.resume(&visit);
            waiting.take(responses);
            waiting
        }
        Some(_) => return Err(Refused::new(BAD_PARAMS, "`requestState` is the text that was given")),
        None => {
            let (sender, questions) = mpsc::unbounded_channel();
            let desk = visit.desk_with(Some(sender));
            let running = tokio::spawn(work(visit.clone(), desk.clone(), params.clone()));
            let given = match responses {
                Some(Value::Object(given)) => given,
                _ => Map::new(),
            };
            let (who, running, open) = (visit.guest.principal.clone(), Aside(running), Vec::new());
            Waiting { who, running, questions, open, desk, asked: 0, given }
        }
    };
    waiting.go_on(&visit.guest.door, &whose).await
}

/// Who may come back for it, and with what.
fn whose(Principal(who): &Principal, method: &str, params: &Map<String, Value>) -> String {
    let what = params.get("name").or_else(|| params.get("uri"));
    json!([who, method, what, params.get("arguments")]).to_string()
}

impl Waiting {
    /// Hands over the answers that came. What is missing, or is no answer, stays open.
    fn take(&mut self, responses: Option<Value>) {
        let Some(Value::Object(mut responses)) = responses else { return };
        let open = std::mem::take(&mut self.open);
        for (name, question) in open {
            match responses.shift_remove(&name) {
                Some(answer @ Value::Object(_)) => drop(question.answer.send(Ok(answer))),
                _ => self.open.push((name, question)),
            }
        }
    }

    async fn go_on(mut self, door: &Arc<Shared>, whose: &str) -> Result<Value, Refused> {
        while self.open.is_empty() {
            tokio::select! {
                biased;
                ended = &mut self.running.0 => return self.ended(ended),
                Some(question) = self.questions.recv() => self.ask(question),
            }
            // A server may have several questions at once.
            while let Ok(Some(question)) = time::timeout(GATHER, self.questions.recv()).await {
                self.ask(question);
            }
        }
        self.desk.end();
        let requests = self.open.iter().map(|(name, question)| (name.clone(), input_request(question)));
        let requests: Map<String, Value> = requests.collect();
        let state = door.parking.park(door, self, whose);
        Ok(json!({ "resultType": "input_required", "inputRequests": requests, "requestState": state }))
    }

    /// A question for the client, under the name that the server has for it if there is one.
    fn ask(&mut self, question: Open) {
        self.asked += 1;
        let given = question.name.as_ref().and_then(|name| self.given.shift_remove(name));
        if let Some(answer @ Value::Object(_)) = given {
            drop(question.answer.send(Ok(answer)));
            return;
        }
        let is_free = |name: &String| !self.open.iter().any(|(other, _)| other == name);
        let name = question.name.clone().filter(is_free).unwrap_or_else(|| format!("haft-{}", self.asked));
        self.open.push((name, question));
    }

    fn ended(&self, ended: Result<Result<Value, Refused>, tokio::task::JoinError>) -> Result<Value, Refused> {
        self.desk.end();
        ended.unwrap_or_else(|_| Err(Refused::new(BROKEN, "the request ended without a result")))
    }
}

fn input_request(question: &Open) -> Value {
    json!({ "method": question.wish.method, "params": question.wish.params })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_belongs_to_one_principal_and_one_request() {
        let parking = Parking::new();
        let sealed = parking.seal(7, "me tools/call echo");
        let opened =
            |state: &str, whose: &str| parking.open(state, whose).err().map(|refused| refused.message);
        assert_eq!(
            opened(&sealed, "me tools/call echo").as_deref(),
            Some(FORGOTTEN),
            "opened, but nobody waits"
        );
        assert_eq!(opened(&sealed, "you tools/call echo").as_deref(), Some(FORGED));
        assert_eq!(opened(&format!("{sealed}-X"), "me tools/call echo").as_deref(), Some(FORGED));
        assert_eq!(opened("", "me tools/call echo").as_deref(), Some(FORGED));
    }
}

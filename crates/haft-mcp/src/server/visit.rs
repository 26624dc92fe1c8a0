//! A visit: one request of a client, and the desk that answers what servers ask meanwhile.

use std::sync::{Arc, Mutex, Weak};

use haft_tool::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use super::{
    door::lock,
    era::{Said, missing_capability, missing_mode},
    guest::{Guest, Outlet},
    message,
};
use crate::{
    Passage,
    client::{Desk, Era, News, Refused, VISITED, Wish},
};

/// One request of a client, on its way through the door.
#[derive(Clone)]
pub(super) struct Visit {
    pub(super) guest: Arc<Guest>,
    pub(super) era: Era,
    pub(super) said: Said,
    /// What the client can do.
    pub(super) capabilities: Arc<Map<String, Value>>,
    /// Where messages of this request go.
    pub(super) outlet: Outlet,
    /// The request's id.
    pub(super) id: Value,
}

impl Visit {
    /// A desk that speaks to the client, as far as it can be spoken to while its request runs.
    pub(super) fn desk(&self) -> Arc<VisitDesk> {
        self.desk_with(None)
    }

    /// The same for a client that finds questions in answers: they go to `questions`.
    pub(super) fn desk_with(&self, questions: Option<mpsc::UnboundedSender<Open>>) -> Arc<VisitDesk> {
        Arc::new(VisitDesk {
            guest: Arc::downgrade(&self.guest),
            era: self.era,
            capabilities: self.capabilities.clone(),
            voice: Mutex::new(Some(self.voice())),
            questions,
        })
    }

    /// What goes beside a call to the server behind us.
    pub(super) fn passage(&self, desk: Arc<dyn Desk>) -> Passage {
        let passage = Passage::new(self.guest.principal.clone(), Some(self.era), desk);
        passage.with_meta(self.said.rest.clone())
    }

    fn voice(&self) -> Voice {
        let client = lock(&self.guest.client);
        let level = match self.era {
            Era::Legacy => Some(client.level.clone().unwrap_or_else(|| "debug".to_owned())),
            // In the new era, servers say nothing that was not asked for.
            Era::Modern => self.said.log_level.clone(),
        };
        Voice { outlet: self.outlet.clone(), progress: self.said.progress.clone(), level }
    }
}

/// How a client is spoken to while its request runs.
#[derive(Clone)]
pub(super) struct Voice {
    outlet: Outlet,
    /// By which token the client knows progress. Without one it wants none.
    progress: Option<Value>,
    /// From which level on it wants to read what is logged.
    level: Option<String>,
}

impl Voice {
    /// Progress of the request, if the client wants to hear of it.
    pub(super) fn progress(&self, mut params: Map<String, Value>) {
        let Some(token) = &self.progress else { return };
        params.insert("progressToken".to_owned(), token.clone());
        self.outlet.offer(message::notification("notifications/progress", params));
    }

    fn log(&self, news: &News) {
        let level = news.params.get("level").and_then(Value::as_str).unwrap_or("info");
        if self.level.as_deref().is_some_and(|least| severity(level) >= severity(least)) {
            self.outlet.offer(message::notification(&news.method, news.params.clone()));
        }
    }
}

/// How grave a level of the protocol is. One that nobody knows is an ordinary one.
pub(super) fn severity(level: &str) -> usize {
    const LEVELS: [&str; 8] =
        ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    LEVELS.iter().position(|known| *known == level).unwrap_or(1)
}

/// A question that waits for its client.
pub(super) struct Open {
    /// The name that the server has for it.
    pub(super) name: Option<String>,
    pub(super) wish: Wish,
    pub(super) answer: oneshot::Sender<Result<Value, Refused>>,
}

/// Answers what servers ask while a request of a client runs. Connections may keep it longer than that: it then speaks to
/// the client as such, if it is still there.
pub(super) struct VisitDesk {
    guest: Weak<Guest>,
    era: Era,
    capabilities: Arc<Map<String, Value>>,
    /// Gone when the request is over; another one when a client comes back for a parked call.
    voice: Mutex<Option<Voice>>,
    questions: Option<mpsc::UnboundedSender<Open>>,
}

impl VisitDesk {
    /// The client came back: it is spoken to through its new request.
    pub(super) fn resume(&self, visit: &Visit) {
        *lock(&self.voice) = Some(visit.voice());
    }

    /// The request is over.
    pub(super) fn end(&self) {
        *lock(&self.voice) = None;
    }

    pub(super) fn voice(&self) -> Option<Voice> {
        lock(&self.voice).clone()
    }

    async fn ask(&self, name: Option<String>, wish: Wish) -> Result<Value, Refused> {
        declared(&self.capabilities, &wish)?;
        let wish = named_visit(self.era, wish);
        match self.era {
            Era::Legacy => self.send(wish).await,
            Era::Modern => self.park(name, wish).await,
        }
    }

    async fn send(&self, wish: Wish) -> Result<Value, Refused> {
        let nobody = || Refused::new(Refused::GONE, "the client is not there any more");
        let guest = self.guest.upgrade().ok_or_else(nobody)?;
        let outlet = self.voice().map(|voice| voice.outlet).or_else(|| guest.outlet()).ok_or_else(nobody)?;
        guest.ask(&outlet, &wish.method, wish.params).await
    }

    async fn park(&self, name: Option<String>, wish: Wish) -> Result<Value, Refused> {
        let nobody = || Refused::new(Refused::GONE, "the client did not come back with an answer");
        let questions = self.questions.as_ref().ok_or_else(nobody)?;
        let (answer, answered) = oneshot::channel();
        questions.send(Open { name, wish, answer }).map_err(|_| nobody())?;
        answered.await.map_err(|_| nobody())?
    }
}

impl Desk for VisitDesk {
    fn capabilities(&self) -> Map<String, Value> {
        (*self.capabilities).clone()
    }

    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        Box::pin(self.ask(None, wish))
    }

    fn answer_named(&self, name: &str, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        Box::pin(self.ask(Some(name.to_owned()), wish))
    }

    fn hear(&self, news: News) {
        match (news.method.as_str(), self.voice()) {
            ("notifications/progress", Some(voice)) => voice.progress(news.params),
            ("notifications/message", Some(voice)) => voice.log(&news),
            ("notifications/message", None) => self.log_to_guest(&news),
            ("notifications/resources/updated", _) => {
                if let Some(guest) = self.guest.upgrade() {
                    guest.resource_changed(&news);
                }
            }
            (VISITED, voice) => self.tell_of_visit(&news, voice),
            // Changes of lists are heard where lists are kept; ours may not have changed at all.
            _ => {}
        }
    }
}

impl VisitDesk {
    /// Somebody has done what they were sent away for. In the new era nobody is told: a client asks again.
    fn tell_of_visit(&self, news: &News, voice: Option<Voice>) {
        let Some(guest) = self.guest.upgrade().filter(|_| self.era == Era::Legacy) else { return };
        match voice {
            Some(voice) => drop(voice.outlet.offer(message::notification(&news.method, news.params.clone()))),
            None => drop(guest.tell(news)),
        }
    }

    fn log_to_guest(&self, news: &News) {
        let Some(guest) = self.guest.upgrade().filter(|_| self.era == Era::Legacy) else { return };
        let least = lock(&guest.client).level.clone();
        let level = news.params.get("level").and_then(Value::as_str).unwrap_or("info");
        if severity(level) >= least.as_deref().map_or(0, severity) {
            guest.tell(news);
        }
    }
}

/// Whether the client said that it can answer this.
fn declared(capabilities: &Map<String, Value>, wish: &Wish) -> Result<(), Refused> {
    let name = match wish.method.as_str() {
        "elicitation/create" => "elicitation",
        "sampling/createMessage" => "sampling",
        "roots/list" => "roots",
        other => return Err(Refused::new(message::NO_METHOD, format!("clients are not asked for {other}"))),
    };
    let declared = capabilities.get(name).ok_or_else(|| missing_capability(name))?;
    let mode = wish.params.get("mode").and_then(Value::as_str).unwrap_or("form");
    if name == "elicitation" && !takes(declared, mode) {
        return Err(missing_mode(mode));
    }
    Ok(())
}

/// A visit has a name in the old era, and none in the new one.
fn named_visit(era: Era, mut wish: Wish) -> Wish {
    if wish.params.get("mode").is_none_or(|mode| mode != "url") {
        return wish;
    }
    match era {
        Era::Legacy => {
            let name = || format!("haft-{}", uuid::Uuid::now_v7()).into();
            wish.params.entry(VISIT_NAME).or_insert_with(name);
        }
        Era::Modern => drop(wish.params.shift_remove(VISIT_NAME)),
    }
    wish
}

const VISIT_NAME: &str = "elicitationId";

/// A client that names no modes takes forms: there was nothing else when it was written.
pub(super) fn takes(elicitation: &Value, mode: &str) -> bool {
    match elicitation.as_object() {
        Some(modes) if modes.contains_key("form") || modes.contains_key("url") => modes.contains_key(mode),
        _ => mode == "form",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(capabilities: Value, method: &str, params: Value, is_declared: bool) {
        let wish = Wish { method: method.to_owned(), params: params.as_object().cloned().unwrap() };
        let capabilities = capabilities.as_object().cloned().unwrap();
        assert_eq!(declared(&capabilities, &wish).is_ok(), is_declared, "{capabilities:?} {wish:?}");
    }

    #[test]
    fn a_client_is_asked_only_what_it_said_it_can_answer() {
        check(json!({}), "elicitation/create", json!({}), false);
        check(json!({ "elicitation": {} }), "elicitation/create", json!({}), true);
        check(json!({ "elicitation": {} }), "elicitation/create", json!({ "mode": "url" }), false);
        check(json!({ "elicitation": { "url": {} } }), "elicitation/create", json!({ "mode": "url" }), true);
        check(
            json!({ "elicitation": { "url": {} } }),
            "elicitation/create",
            json!({ "mode": "form" }),
            false,
        );
        check(json!({ "sampling": {} }), "sampling/createMessage", json!({}), true);
        check(json!({ "sampling": {} }), "roots/list", json!({}), false);
        check(json!({ "sampling": {} }), "tools/list", json!({}), false);
    }

    #[test]
    fn levels_have_an_order() {
        assert!(severity("debug") < severity("info") && severity("error") < severity("emergency"));
        assert_eq!(severity("odd"), severity("info"));
    }
}

//! Who answers a server when no client of ours can, and who hears its news.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock, Weak},
};

use haft_engine::policy::{Asker, Given, Inquiry, OnBehalf, asker_of_call};
use haft_tool::{BoxFuture, Cx, Progress};
use serde_json::{Map, Value, json};

use super::{
    Options, Principal, Sampler, Upstream,
    inviting::{self, Visits},
    sampling,
};
use crate::client::{Desk, News, Refused, Server, VISITED, Wish};

/// Answers for the person at this machine: forms and addresses are put to them, the roots are the workspace, and their model is asked where
/// there is one, the settings let the server, and they permit it.
pub(super) struct OwnDesk {
    server: String,
    roots: Vec<PathBuf>,
    person: Option<Arc<dyn Asker>>,
    may_sample: bool,
    model: OnceLock<Arc<dyn Sampler>>,
    visits: Visits,
}

impl OwnDesk {
    pub(super) fn new(server: &Server, options: &Options) -> OwnDesk {
        OwnDesk {
            server: server.name.clone(),
            roots: options.roots.clone(),
            person: options.person.clone(),
            may_sample: server.may_sample,
            model: OnceLock::new(),
            visits: Visits::default(),
        }
    }

    pub(super) fn sampled_by(&self, model: Arc<dyn Sampler>) {
        let _ = self.model.set(model);
    }

    fn model(&self) -> Option<&Arc<dyn Sampler>> {
        self.model.get().filter(|_| self.may_sample)
    }

    fn roots(&self) -> Value {
        let root = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            json!({ "uri": file_uri(path), "name": name.unwrap_or_else(|| "/".to_owned()) })
        };
        json!({ "roots": self.roots.iter().map(root).collect::<Vec<_>>() })
    }

    async fn elicit(
        &self,
        params: &Map<String, Value>,
        person: Option<&Arc<dyn Asker>>,
    ) -> Result<Value, Refused> {
        let (Some(person), mode) = (person, params.get("mode").and_then(Value::as_str)) else {
            return Ok(json!({ "action": "decline" }));
        };
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let (given, is_form) = match (mode, params.get("requestedSchema")) {
            (Some("url"), _) => (self.visits.invite(&self.server, params, person).await?, false),
            (None | Some("form"), Some(schema)) => {
                (person.inquire(Inquiry { session: None, who: &self.server, message, schema }).await, true)
            }
            _ => (Given::Declined, true),
        };
        Ok(match given {
            Given::Answers(answers) if is_form => json!({ "action": "accept", "content": answers }),
            Given::Answers(_) => json!({ "action": "accept" }),
            Given::Declined | Given::NobodyThere => json!({ "action": "decline" }),
            Given::Dismissed => json!({ "action": "cancel" }),
        })
    }
}

impl Desk for OwnDesk {
    /// The same whether somebody is there or not: what a server offers should not depend on it.
    fn capabilities(&self) -> Map<String, Value> {
        let mut capabilities = Map::new();
        capabilities.insert("elicitation".to_owned(), json!({ "form": {}, "url": {} }));
        capabilities.insert("roots".to_owned(), json!({}));
        if self.model().is_some() {
            capabilities.insert("sampling".to_owned(), json!({}));
        }
        capabilities
    }

    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        Box::pin(self.answer_with(wish, self.person.as_ref()))
    }

    fn is_back(&self) -> BoxFuture<'_, bool> {
        self.is_back_with(self.person.as_ref())
    }

    fn hear(&self, news: News) {
        self.hear_with(&news, self.person.as_ref());
    }
}

/// The same, with the person whose call it is about.
impl OwnDesk {
    async fn answer_with(&self, wish: Wish, person: Option<&Arc<dyn Asker>>) -> Result<Value, Refused> {
        match wish.method.as_str() {
            "roots/list" => Ok(self.roots()),
            "elicitation/create" => self.elicit(&wish.params, person).await,
            "sampling/createMessage" => match self.model() {
                Some(model) => sampling::answer(&self.server, &wish.params, person, &**model).await,
                None => Err(Refused::new(-1, "there is no model here that this server may ask")),
            },
            other => Err(Refused::new(-32601, format!("{other} is not supported here"))),
        }
    }

    fn is_back_with<'a>(&'a self, person: Option<&'a Arc<dyn Asker>>) -> BoxFuture<'a, bool> {
        match person {
            Some(person) => Box::pin(inviting::is_back(&self.server, person)),
            None => Box::pin(std::future::pending()),
        }
    }

    fn hear_with(&self, news: &News, person: Option<&Arc<dyn Asker>>) {
        let over = (news.method == VISITED).then(|| self.visits.over(&news.params)).flatten();
        if let (Some(host), Some(person)) = (over, person) {
            person.tell(&format!("The server {} says that all is done at {host}.", self.server));
        }
    }
}

fn file_uri(path: &std::path::Path) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    format!("file://{}", bytes.iter().map(|byte| encode(*byte)).collect::<String>())
}

/// A client's desk, for a server that may not ask for the client's model.
pub(super) struct WithoutModel(pub(super) Arc<dyn Desk>);

const SAMPLING: &str = "sampling";

impl Desk for WithoutModel {
    fn capabilities(&self) -> Map<String, Value> {
        let mut capabilities = self.0.capabilities();
        capabilities.shift_remove(SAMPLING);
        capabilities
    }

    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        if wish.method.starts_with(SAMPLING) {
            let refused = Refused::new(-1, "the settings do not let this server ask for a model");
            return Box::pin(std::future::ready(Err(refused)));
        }
        self.0.answer(wish)
    }

    fn answer_named(&self, name: &str, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        if wish.method.starts_with(SAMPLING) {
            return self.answer(wish);
        }
        self.0.answer_named(name, wish)
    }

    fn is_back(&self) -> BoxFuture<'_, bool> {
        self.0.is_back()
    }

    fn hear(&self, news: News) {
        self.0.hear(news);
    }
}

/// The desk of a connection: hears when a list has changed, and leaves the rest to another.
pub(super) struct Ears {
    pub(super) desk: Arc<dyn Desk>,
    pub(super) upstream: Weak<Upstream>,
    pub(super) principal: Principal,
}

impl Desk for Ears {
    fn capabilities(&self) -> Map<String, Value> {
        self.desk.capabilities()
    }

    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        self.desk.answer(wish)
    }

    fn is_back(&self) -> BoxFuture<'_, bool> {
        self.desk.is_back()
    }

    fn hear(&self, news: News) {
        let is_about_lists = news.method.ends_with("/list_changed");
        let upstream = self.upstream.upgrade();
        if let Some(upstream) = upstream.as_ref().filter(|_| is_about_lists) {
            upstream.has_news(&self.principal);
        }
        let is_of_resource = news.method == "notifications/resources/updated";
        if !(is_of_resource && upstream.is_some_and(|upstream| upstream.tell_all(&news))) {
            self.desk.hear(news);
        }
    }
}

/// The desk of a call that came from no client of ours: its progress is the call's, and a question names the session of that call.
pub(super) struct CallDesk {
    desk: Arc<OwnDesk>,
    person: Option<Arc<dyn Asker>>,
    cx: Cx,
}

impl CallDesk {
    /// Asks the asker of the call's session, if it has one of its own. To be made where the call runs.
    pub(super) fn of(desk: &Arc<OwnDesk>, cx: &Cx) -> CallDesk {
        let person = asker_of_call().or_else(|| desk.person.clone());
        let session = cx.session();
        let person = person.map(|person| Arc::new(OnBehalf::of((*session).clone(), person)) as _);
        CallDesk { desk: desk.clone(), person, cx: cx.clone() }
    }
}

impl Desk for CallDesk {
    fn capabilities(&self) -> Map<String, Value> {
        self.desk.capabilities()
    }

    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        Box::pin(self.desk.answer_with(wish, self.person.as_ref()))
    }

    fn is_back(&self) -> BoxFuture<'_, bool> {
        self.desk.is_back_with(self.person.as_ref())
    }

    fn hear(&self, news: News) {
        if news.method == "notifications/progress" {
            self.cx.progress(progress(&news.params));
        }
        self.desk.hear_with(&news, self.person.as_ref());
    }
}

/// Figures of any kind become whole ones: they are for people to watch.
fn progress(params: &Map<String, Value>) -> Progress {
    let figure = |key: &str| params.get(key).and_then(Value::as_f64).map(|figure| figure.max(0.0) as u64);
    let label: String =
        params.get("message").and_then(Value::as_str).unwrap_or_default().chars().take(200).collect();
    Progress::of(label, figure("progress").unwrap_or_default(), figure("total"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_progress_are_whatever_a_server_sends() {
        let check = |params: Value, expected: Progress| {
            assert_eq!(progress(params.as_object().expect("an object")), expected);
        };
        check(json!({ "progress": 2.5, "total": 10, "message": "half" }), Progress::of("half", 2, Some(10)));
        check(json!({ "progress": -1, "total": "x" }), Progress::of("", 0, None));
        check(json!({}), Progress::of("", 0, None));
    }

    #[test]
    fn a_root_is_a_uri_whatever_its_name() {
        assert_eq!(file_uri("/w/a b/ü".as_ref()), "file:///w/a%20b/%C3%BC");
    }

    #[tokio::test]
    async fn without_a_person_a_form_is_declined_and_the_roots_are_told() {
        let server =
            Server::new("s", crate::client::Transport::Http { url: String::new(), headers: [].into() });
        let options = Options { roots: vec!["/w".into()], ..Options::default() };
        let desk = OwnDesk::new(&server, &options);
        let ask = |method: &str| desk.answer(Wish { method: method.to_owned(), params: Map::new() });
        assert_eq!(ask("elicitation/create").await, Ok(json!({ "action": "decline" })));
        assert_eq!(ask("roots/list").await, Ok(json!({ "roots": [{ "uri": "file:///w", "name": "w" }] })));
        assert!(ask("sampling/createMessage").await.is_err());
        assert!(!desk.capabilities().contains_key("sampling"));
    }
}

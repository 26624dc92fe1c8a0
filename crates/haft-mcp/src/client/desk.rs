//! Where a server's questions and its news arrive.

use haft_tool::BoxFuture;
use serde_json::{Map, Value};

use super::Refused;

/// What a server wants to know while it works: an answer of the user, of a model, or the roots it may work in.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// As it was sent.
    pub params: Map<String, Value>,
}

/// What a server says without being asked.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// `notifications/tools/list_changed`, `notifications/progress`, `notifications/message`, …
    pub method: String,
    /// As it was sent.
    pub params: Map<String, Value>,
}

/// Answers a server's wishes, and hears its news. One belongs to a connection; a request may bring its own.
pub trait Desk: Send + Sync {
    /// The capabilities of a client that are declared to the server, as JSON: `{"elicitation": {}, "roots": {}}`. What is
    /// not declared is refused without asking here.
    fn capabilities(&self) -> Map<String, Value>;

    /// Answers a wish: the `result` of the server's request. The future is dropped when nobody waits any more.
    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>>;

    /// The same where the server has a name for its question: whoever passes the question on keeps the name.
    fn answer_named(&self, _name: &str, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        self.answer(wish)
    }

    /// Waits until whoever agreed to visit an address says that they have done what they were sent for (`true`), or that they
    /// will not (`false`). Where nobody can say so, the server does, or time: for ever, as it is without an implementation.
    fn is_back(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::pending())
    }

    /// Hears news. Must not block.
    fn hear(&self, news: News);
}

/// Where nobody answers anything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodysDesk;

impl Desk for NobodysDesk {
    fn capabilities(&self) -> Map<String, Value> {
        Map::new()
    }
    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        let refused = Refused::new(-32601, format!("{} is not supported here", wish.method));
        Box::pin(async { Err(refused) })
    }
    fn hear(&self, _: News) {}
}

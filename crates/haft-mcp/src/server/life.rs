//! The life of a client's session, as hooks hear of it: it begins before its first call, and ends when the client goes or the
//! door closes; both once.
//!
//! That the model has finished an answer (`Stop`) is nothing that a client tells its servers, so hooks are not told of it here.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use serde_json::{Value, json};

use super::{door::lock, guest::Guest};

/// How far a session has come.
#[derive(Default)]
pub(super) struct Life {
    /// Hooks hear that it begins. Whoever makes a call waits for that; it goes on if they give up.
    beginning: OnceLock<Shared<BoxFuture<'static, ()>>>,
    /// What hooks want the model to know.
    greeting: Mutex<Vec<String>>,
    has_ended: AtomicBool,
}

impl Guest {
    /// Makes sure that hooks have heard of the session.
    pub(super) async fn begins(self: &Arc<Self>) {
        let begin = || {
            let guest = Arc::downgrade(self);
            let session = self.session.clone();
            let heard = tokio::spawn(async move {
                let said = session.starts("startup").await;
                if let Some(guest) = guest.upgrade() {
                    lock(&guest.life.greeting).extend(said.into_iter().filter_map(|said| said.context));
                }
            });
            heard.map(drop).boxed().shared()
        };
        self.life.beginning.get_or_init(begin).clone().await;
    }

    /// Adds what hooks want the model to know. There is no conversation here that could begin with it, so it goes with the
    /// first result.
    pub(super) fn greet(&self, answer: &mut Value) {
        let Some(content) = answer.get_mut("content").and_then(Value::as_array_mut) else { return };
        let greeting = std::mem::take(&mut *lock(&self.life.greeting));
        content.extend(greeting.into_iter().map(|words| json!({ "type": "text", "text": words })));
    }

    /// The client goes: nothing of it runs any more, and hooks hear of it if they heard that it began.
    pub(super) async fn goes(&self) {
        self.leave();
        if self.life.has_ended.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(beginning) = self.life.beginning.get() {
            beginning.clone().await;
            self.session.ends("other").await;
        }
        self.session.end().await;
    }
}

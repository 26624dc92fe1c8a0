//! Who is asked while the terminal UI runs: questions go to its screen, and answers come back from there.

use std::sync::atomic::{AtomicU64, Ordering};

use haft_engine::policy::{Answer, Asker, Choices, Choosing, Given, Inquiry, Question};
use haft_tool::{BoxFuture, View};
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    oneshot,
};

use super::dialog::{Asked, Choice, Inquired, SubAgent, Undecided};
use crate::{ask, browser, form};

/// Something for the screen.
#[derive(Debug)]
pub(super) enum News {
    Asked(Asked),
    Inquired(Inquired),
    /// With what is to be read before: a plan.
    Undecided(Option<String>, Undecided),
    /// Nobody waits for this one any more.
    Withdrawn(u64),
    Told(String),
}

/// Asks on the screen.
#[derive(Debug)]
pub(super) struct Desk {
    news: UnboundedSender<News>,
    count: AtomicU64,
    /// Where rules are kept.
    kept_in: Option<String>,
}

impl Desk {
    pub(super) fn new(kept_in: Option<String>) -> (Desk, UnboundedReceiver<News>) {
        let (news, coming) = unbounded_channel();
        (Desk { news, count: AtomicU64::new(1), kept_in }, coming)
    }

    /// A number, and a guard that takes the question back when nobody waits any more.
    fn number(&self) -> Open {
        Open { id: self.count.fetch_add(1, Ordering::Relaxed), news: self.news.clone() }
    }

    /// Asks for a yes or a no about something that is no call.
    pub(super) async fn confirm(&self, head: String, preview: View) -> bool {
        let (open, (reply, answer)) = (self.number(), oneshot::channel());
        let choice = Choice::YesOrNo;
        let asked = Asked { id: open.id, call: None, agent: None, head, preview, choice, reply };
        self.send(News::Asked(asked));
        matches!(answer.await, Ok(Answer::Once))
    }

    fn send(&self, news: News) {
        // A screen that is gone answers nothing: whoever waits is told so by the other end.
        let _ = self.news.send(news);
    }
}

struct Open {
    id: u64,
    news: UnboundedSender<News>,
}

impl Drop for Open {
    fn drop(&mut self) {
        let _ = self.news.send(News::Withdrawn(self.id));
    }
}

impl Asker for Desk {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        let (open, (reply, answer)) = (self.number(), oneshot::channel());
        self.send(News::Asked(Asked {
            id: open.id,
            call: Some(question.call.call.clone()),
            agent: sub_agent(&question),
            head: ask::head(&question, self.kept_in.as_deref()),
            preview: preview(&question),
            choice: Choice::Permission(question.answers()),
            reply,
        }));
        Box::pin(async move {
            let _open = open;
            answer.await.unwrap_or(Answer::NobodyThere)
        })
    }

    fn inquire<'a>(&'a self, inquiry: Inquiry<'a>) -> BoxFuture<'a, Given> {
        let (open, (reply, given)) = (self.number(), oneshot::channel());
        let fields = form::Field::all(inquiry.schema);
        let head = form::head(&inquiry, fields.len());
        self.send(News::Inquired(Inquired { id: open.id, head, fields, reply }));
        Box::pin(async move {
            let _open = open;
            given.await.unwrap_or(Given::NobodyThere)
        })
    }

    fn open(&self, url: &str) -> bool {
        browser::open(url)
    }

    fn choose<'a>(&'a self, choices: Choices<'a>) -> BoxFuture<'a, Choosing> {
        let (open, (reply, chosen)) = (self.number(), oneshot::channel());
        let (call, questions) = (choices.call.cloned(), choices.questions.to_vec());
        let undecided = Undecided { id: open.id, call, questions, reply };
        self.send(News::Undecided(choices.text.map(str::to_owned), undecided));
        Box::pin(async move {
            let _open = open;
            chosen.await.unwrap_or(Choosing::NobodyThere)
        })
    }

    fn tell(&self, words: &str) {
        self.send(News::Told(words.to_owned()));
    }
}

/// Who makes the call, if it is a sub-agent: the engine names it before what the call is.
fn sub_agent(question: &Question<'_>) -> Option<SubAgent> {
    let (kind, _) = question.description.strip_prefix("sub-agent ")?.split_once(": ")?;
    Some(SubAgent { session: question.call.session.id.to_string(), kind: kind.to_owned() })
}

/// What it would do, as the tool draws it; what it was told, where it draws nothing.
fn preview(question: &Question<'_>) -> View {
    let input = || View::Code {
        language: "json".to_owned(),
        text: serde_json::to_string_pretty(question.call.input).unwrap_or_default(),
    };
    match question.preview {
        None => input(),
        Some(words @ View::Text(_)) => View::List(vec![words.clone(), input()]),
        Some(view) => view.clone(),
    }
}

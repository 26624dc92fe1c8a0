//! `AskUser`: questions for the person, with answers to choose from.

use std::sync::Arc;

use haft_engine::{
    policy::{Choice, ChoiceOption, Choosing, Chosen},
    turn::{Kernel, KernelCx},
};
use haft_tool::{BoxFuture, Cx, Effects, Fault, IntoTool, Reply, SharedTool, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kernel::{not_here, typed};

/// Asks the user to decide something that you cannot find out yourself.
///
/// Use it when the request can be meant in ways that lead to different work, or a choice is the user's to make. Do not ask
/// what you can look up, nor whether you may do something: permission is asked for by itself. The user may choose or answer
/// in words of their own. Where nobody is there, the answer says so: go on with your best assumption.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskUserInput {
    #[schemars(length(min = 1, max = 4))]
    questions: Vec<Question>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The whole question.
    question: String,
    /// One or two words for it.
    header: Option<String>,
    /// Answers to choose from; none for an answer in words only.
    #[serde(default)]
    #[schemars(length(max = 8))]
    options: Vec<Answer>,
    /// Whether several can be chosen.
    #[serde(default)]
    multi_select: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    label: String,
    /// What choosing it means.
    description: Option<String>,
}

/// The tool.
pub(crate) struct AskUser;

impl Tool for AskUser {
    type Input = AskUserInput;
    const SPEC: Spec = Spec::new("AskUser")
        .toolset("planning")
        .aliases(&["AskUserQuestion", "ask_user", "ask_user_question", "ask_followup_question"])
        .search_hint("ask the user a question choose options clarify decide")
        .needs_person();

    fn validate(&self, input: &AskUserInput) -> Result<(), Fault> {
        if input.questions.is_empty() || input.questions.len() > 4 {
            return Err(Fault::rejected("`questions` has one to four questions"));
        }
        input.questions.iter().enumerate().try_for_each(|(at, question)| question.check(at))
    }

    /// One after the other: nobody answers two questions at once.
    fn effects(&self, _: &AskUserInput) -> Effects {
        Effects::changes("person")
    }

    fn describe(&self, input: &AskUserInput) -> String {
        let first = input.questions.first().map_or("", |question| question.question.as_str());
        format!("Ask: {first}")
    }

    async fn call(&self, _: AskUserInput, _: &Cx) -> Result<Reply, Fault> {
        Err(not_here("AskUser"))
    }
}

impl Kernel for AskUser {
    fn tool(&self) -> SharedTool {
        AskUser.into_tool()
    }

    fn run<'a>(&'a self, input: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        Box::pin(async move {
            let input: AskUserInput = typed(&input)?;
            let questions: Vec<Choice> = input.questions.into_iter().map(Choice::from).collect();
            Ok(reply(&questions, kx.choose(None, &questions).await?))
        })
    }
}

impl Question {
    fn check(&self, at: usize) -> Result<(), Fault> {
        let place = format!("`questions[{at}]`");
        if self.question.trim().is_empty() {
            return Err(Fault::rejected(format!("{place} asks nothing; say what is to be decided")));
        }
        for (nth, option) in self.options.iter().enumerate() {
            if option.label.trim().is_empty() {
                return Err(Fault::rejected(format!("{place}: option {} has no label", nth + 1)));
            }
            if self.options[..nth].iter().any(|other| other.label == option.label) {
                return Err(Fault::rejected(format!(
                    "{place} offers `{}` twice; give each option a label of its own",
                    option.label
                )));
            }
        }
        Ok(())
    }
}

impl From<Question> for Choice {
    fn from(question: Question) -> Choice {
        let option = |answer: Answer| ChoiceOption {
            label: answer.label,
            description: answer.description.unwrap_or_default(),
        };
        Choice {
            header: question.header.unwrap_or_else(|| "Question".to_owned()),
            question: question.question,
            options: question.options.into_iter().map(option).collect(),
            several: question.multi_select,
            own_words: true,
        }
    }
}

fn reply(questions: &[Choice], choosing: Choosing) -> Reply {
    match choosing {
        Choosing::NobodyThere => Reply::text(
            "Nobody is there to answer. Go on with the assumption that seems best, and say which you made.",
        )
        .note("answered", false),
        Choosing::Chosen(chosen) if chosen.iter().any(|answer| !answer.is_empty()) => {
            answered(questions, &chosen)
        }
        Choosing::Declined | Choosing::Chosen(_) => Reply::text(
            "The user did not answer. Do not ask the same again: go on with the assumption that seems best, or end your turn.",
        )
        .note("answered", false),
    }
}

fn answered(questions: &[Choice], chosen: &[Chosen]) -> Reply {
    let pairs = questions.iter().zip(chosen);
    // What a single question asks is what its call is called.
    let seen = |(question, answer): (&Choice, &Chosen)| match questions.len() {
        1 => View::text(format!("→ {}", said(answer))),
        _ => View::text(format!("{} → {}", question.question, said(answer))),
    };
    let seen = View::List(pairs.clone().map(seen).collect());
    let line = |(question, answer): (&Choice, &Chosen)| format!("{}\n→ {}", question.question, said(answer));
    let text: Vec<String> = pairs.clone().map(line).collect();
    let data = |(question, answer): (&Choice, &Chosen)| json!({ "question": question.question, "chosen": answer.labels, "words": answer.words });
    let data: Vec<Value> = pairs.map(data).collect();
    Reply { data: Some(data.into()), ..Reply::text(text.join("\n\n")) }.drawn(seen).note("answered", true)
}

fn said(answer: &Chosen) -> String {
    let labels = answer.labels.join(", ");
    match (&answer.words, labels.is_empty()) {
        (None, true) => "(no answer to this one)".to_owned(),
        (None, false) => labels,
        (Some(words), true) => format!("in their own words: {words}"),
        (Some(words), false) => format!("{labels}; in their own words: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use haft_engine::{
        Call, Session, SessionOptions,
        policy::{Answer, Asker, Given, Inquiry},
        result::ToolResult,
    };
    use haft_testkit::Workspace;
    use haft_tool::FaultKind;

    use super::*;

    /// A person who fills in forms, one after another.
    #[derive(Default)]
    struct Person {
        given: Option<Value>,
        open: AtomicUsize,
        most_open: AtomicUsize,
    }

    impl Asker for Person {
        fn ask<'a>(&'a self, _: haft_engine::policy::Question<'a>) -> BoxFuture<'a, Answer> {
            Box::pin(async { Answer::No(None) })
        }
        fn inquire<'a>(&'a self, _: Inquiry<'a>) -> BoxFuture<'a, Given> {
            Box::pin(async move {
                let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
                self.most_open.fetch_max(open, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(100)).await;
                self.open.fetch_sub(1, Ordering::Relaxed);
                match &self.given {
                    Some(Value::Object(given)) => Given::Answers(given.clone()),
                    Some(_) => std::future::pending().await,
                    None => Given::Declined,
                }
            })
        }
    }

    fn session(person: Option<Arc<Person>>) -> (Workspace, Session) {
        let workspace = Workspace::new("");
        let engine = haft_testkit::engine(&workspace).kernels(crate::kernels());
        let engine = match person {
            Some(person) => engine.asker(person),
            None => engine,
        };
        let session = engine.build().unwrap().session(SessionOptions::at(workspace.root())).unwrap();
        (workspace, session)
    }

    fn question() -> Value {
        json!({ "questions": [
            { "question": "Which store?", "options": [{ "label": "SQLite", "description": "a file" }, { "label": "None" }] },
            { "question": "Which of them?", "multi_select": true, "options": [{ "label": "a" }, { "label": "b" }] },
            { "question": "What name?" },
        ] })
    }

    async fn ask(person: Option<Person>) -> ToolResult {
        session(person.map(Arc::new)).1.call(Call::new("1", "AskUserQuestion", question())).await
    }

    #[tokio::test(start_paused = true)]
    async fn the_model_reads_what_was_chosen_and_said() {
        let given = json!({ "answer_1": "SQLite", "words_1": "in memory", "answer_2_1": true, "answer_2_2": true, "words_3": "haft" });
        let result = ask(Some(Person { given: Some(given), ..Person::default() })).await;
        insta::assert_snapshot!(result.text(), @"
        Which store?
        → SQLite; in their own words: in memory

        Which of them?
        → a, b

        What name?
        → in their own words: haft
        ");
        assert_eq!(result.data.unwrap()[1]["chosen"], json!(["a", "b"]));
        assert_eq!(result.meta.duration_us, 0, "the time that the person took is not the call's");
    }

    #[test]
    fn the_person_sees_what_they_answered() {
        let choice = |question: &str| Choice {
            header: String::new(),
            question: question.to_owned(),
            options: Vec::new(),
            several: false,
            own_words: true,
        };
        let chosen = |label: &str| Chosen { labels: vec![label.to_owned()], words: None };
        let seen =
            |questions: &[Choice], chosen: Vec<Chosen>| reply(questions, Choosing::Chosen(chosen)).view;
        assert_eq!(
            seen(&[choice("Which colour?")], vec![chosen("blue")]),
            Some(View::List(vec![View::text("→ blue")]))
        );
        assert_eq!(
            seen(&[choice("One?"), choice("Two?")], vec![chosen("1"), chosen("2")]),
            Some(View::List(vec![View::text("One? → 1"), View::text("Two? → 2")]))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn where_nobody_answers_the_model_is_told_to_go_on() {
        let nobody = ask(None).await;
        assert!(
            !nobody.is_error() && nobody.text().starts_with("Nobody is there to answer."),
            "{}",
            nobody.text()
        );
        for given in [None, Some(json!({}))] {
            let silent = ask(Some(Person { given, ..Person::default() })).await;
            assert!(
                !silent.is_error() && silent.text().starts_with("The user did not answer."),
                "{}",
                silent.text()
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn questions_of_one_turn_wait_for_each_other() {
        let person = Arc::new(Person { given: Some(json!({ "words_1": "x" })), ..Person::default() });
        let (_workspace, session) = session(Some(person.clone()));
        let one = json!({ "questions": [{ "question": "What?" }] });
        let calls = ["1", "2", "3"].map(|id| Call::new(id, "AskUser", one.clone()));
        let results = session.turn(calls.to_vec()).await;
        assert!(results.iter().all(|result| result.text().contains("in their own words: x")));
        assert_eq!(person.most_open.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_interrupt_withdraws_the_question() {
        let person = Arc::new(Person { given: Some(json!("never")), ..Person::default() });
        let (_workspace, session) = session(Some(person));
        let asked = session.call(Call::new("1", "AskUser", question()));
        let stop = async {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            session.interrupt();
        };
        let (result, ()) = tokio::join!(asked, stop);
        assert_eq!(result.fault.map(|fault| fault.kind), Some(FaultKind::Cancelled), "{}", result.text());
    }

    #[tokio::test]
    async fn questions_that_nobody_could_answer_are_refused() {
        let (_workspace, session) = session(None);
        let check = async |questions: Value, expected: &str| {
            let result = session.call(Call::new("1", "AskUser", json!({ "questions": questions }))).await;
            assert!(result.is_error() && result.text().contains(expected), "{}", result.text());
        };
        check(json!([]), "questions").await;
        check(json!([{ "question": " " }]), "asks nothing").await;
        check(json!([{ "question": "?", "options": [{ "label": "" }] }]), "no label").await;
        check(
            json!([{ "question": "?", "options": [{ "label": "a" }, { "label": "a" }] }]),
            "offers `a` twice",
        )
        .await;
    }
}

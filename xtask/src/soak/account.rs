//! What was said, against what was done.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Mutex,
};

use super::gateway::Answer;

/// Every call by its token.
#[derive(Default)]
pub(super) struct Account(Mutex<BTreeMap<String, Said>>);

#[derive(Clone, PartialEq, Eq)]
enum Said {
    Nothing,
    Answer(Answer),
    /// It broke the protocol, or did not come.
    Broken(String),
}

impl Account {
    pub(super) fn asked(&self, token: &str) {
        self.set(token, Said::Nothing);
    }

    pub(super) fn answered(&self, token: &str, answer: Answer) {
        self.set(token, Said::Answer(answer));
    }

    pub(super) fn broken(&self, token: &str, err: &anyhow::Error) {
        self.set(token, Said::Broken(format!("{err:#}")));
    }

    fn set(&self, token: &str, said: Said) {
        self.0.lock().expect("no panics in here").insert(token.to_owned(), said);
    }

    pub(super) fn summary(&self) -> String {
        let said = self.0.lock().expect("no panics in here");
        let count = |wanted: Answer| said.values().filter(|said| **said == Said::Answer(wanted)).count();
        format!(
            "{} calls: {} done, {} not done, {} not known",
            said.len(),
            count(Answer::Done),
            count(Answer::NotDone),
            count(Answer::NotKnown)
        )
    }

    /// What does not agree with the servers' books.
    pub(super) fn check(&self, done: &[String]) -> Vec<String> {
        let mut times = HashMap::<&str, usize>::new();
        done.iter().for_each(|token| *times.entry(token).or_default() += 1);
        let said = self.0.lock().expect("no panics in here");
        let wrong = said.iter().filter_map(|(token, said)| {
            wrong(said, times.get(token.as_str()).copied().unwrap_or(0))
                .map(|what| format!("{token}: {what}"))
        });
        let unasked = times
            .keys()
            .filter(|token| !said.contains_key(**token))
            .map(|token| format!("{token}: nobody asked for it"));
        let mut problems: Vec<String> = wrong.chain(unasked).collect();
        if !said.values().any(|said| *said == Said::Answer(Answer::Done)) {
            problems.push("no call was ever carried out".to_owned());
        }
        problems
    }
}

fn wrong(said: &Said, times: usize) -> Option<String> {
    match said {
        Said::Nothing => Some("no answer".to_owned()),
        Said::Broken(how) => Some(how.clone()),
        Said::Answer(Answer::Done) if times != 1 => Some(format!("said to be done, and done {times} times")),
        Said::Answer(Answer::NotDone) if times != 0 => {
            Some(format!("said not to be done, and done {times} times"))
        }
        Said::Answer(Answer::NotKnown) if times > 1 => Some(format!("done {times} times")),
        Said::Answer(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(said: Said, times: usize, is_right: bool) {
        assert_eq!(wrong(&said, times).is_none(), is_right);
    }

    #[test]
    fn an_answer_is_true_if_the_books_say_the_same() {
        check(Said::Answer(Answer::Done), 1, true);
        check(Said::Answer(Answer::Done), 0, false);
        check(Said::Answer(Answer::Done), 2, false);
        check(Said::Answer(Answer::NotDone), 0, true);
        check(Said::Answer(Answer::NotDone), 1, false);
        check(Said::Answer(Answer::NotKnown), 0, true);
        check(Said::Answer(Answer::NotKnown), 1, true);
        check(Said::Answer(Answer::NotKnown), 2, false);
        check(Said::Nothing, 0, false);
    }

    #[test]
    fn what_nobody_asked_for_is_a_problem() {
        let account = Account::default();
        account.answered("a-1", Answer::Done);
        assert_eq!(account.check(&["a-1".to_owned()]), Vec::<String>::new());
        assert_eq!(account.check(&["a-1".to_owned(), "a-2".to_owned()]), ["a-2: nobody asked for it"]);
    }
}

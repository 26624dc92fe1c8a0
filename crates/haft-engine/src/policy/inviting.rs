//! An address that somebody outside wants the person to visit: how that is put to them where nothing else is implemented.

use haft_tool::{BoxFuture, SessionFacts};
use serde_json::{Value, json};

use super::asking::{Asker, Given, Inquiry};

/// An address that somebody outside wants the person to visit before, or while, a call goes on.
#[derive(Debug, Clone, Copy)]
pub struct Invitation<'a> {
    /// The session in whose call it is wanted, if it is wanted in one.
    pub session: Option<&'a SessionFacts>,
    /// Who wants it, as the user calls it.
    pub who: &'a str,
    /// Why, in their words.
    pub message: &'a str,
    /// The whole address, as it would be opened: http or https.
    pub url: &'a str,
    /// The host that it leads to.
    pub host: &'a str,
}

/// So much of what somebody says about an address is shown: the address matters more.
const MOST_WORDS: usize = 600;
/// An address is written in rows of so many characters, because a row that is too long would be cut.
const ROW: usize = 120;

/// Shows all of an address, and asks whether the person visits it. A yes is [`Given::Answers`], without any.
pub(super) fn put<'a, A: Asker + ?Sized>(asker: &'a A, invitation: Invitation<'a>) -> BoxFuture<'a, Given> {
    Box::pin(async move {
        let (message, schema) = (words(&invitation), form());
        let inquiry =
            Inquiry { session: invitation.session, who: invitation.who, message: &message, schema: &schema };
        match asker.inquire(inquiry).await {
            Given::Answers(answers) if answers.get(ANSWER).is_some_and(|answer| answer == YES) => {
                Given::Answers(serde_json::Map::new())
            }
            Given::Answers(_) => Given::Declined,
            given => given,
        }
    })
}

const ANSWER: &str = "answer";
const YES: &str = "yes";

fn form() -> Value {
    let answer = json!({ "type": "string", "enum": [YES, "no"], "description": "Visit this page?" });
    json!({ "type": "object", "properties": { ANSWER: answer }, "required": [ANSWER] })
}

/// The host first: it is what the person decides by.
fn words(invitation: &Invitation<'_>) -> String {
    let Invitation { message, url, host, .. } = invitation;
    let letters: Vec<char> = url.chars().collect();
    let url: Vec<String> = letters.chunks(ROW).map(|row| row.iter().collect()).collect();
    let said = match message.char_indices().nth(MOST_WORDS) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => (*message).to_owned(),
    };
    let odd = odd(invitation);
    let odd = if odd.is_empty() { odd } else { format!("\nMind: {odd}") };
    format!(
        "It wants you to visit a page of {host}:\n{}{odd}\nNobody has looked at the page, and what you do there stays \
         between you and {host}.\nIt says: {said}",
        url.join("\n")
    )
}

/// What the person should see in an address before they go there.
fn odd(invitation: &Invitation<'_>) -> String {
    let Invitation { url, host, .. } = invitation;
    let is_here = *host == "localhost" || host.starts_with("127.") || *host == "[::1]";
    let odd = [
        (
            host.split('.').any(|label| label.starts_with("xn--")),
            "its name has letters that can look like others",
        ),
        (
            url.starts_with("http:") && !is_here,
            "what you type there can be read on the way, it is not encrypted",
        ),
    ];
    odd.iter().filter(|(is_so, _)| *is_so).map(|(_, words)| *words).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, host: &str, expected: &[&str], never: &[&str]) {
        let words = words(&Invitation { session: None, who: "s", message: "sign in", url, host });
        assert!(expected.iter().all(|text| words.contains(text)), "{words}");
        assert!(!never.iter().any(|text| words.contains(text)), "{words}");
    }

    #[test]
    fn the_host_stands_first_and_the_whole_address_is_shown() {
        check(
            "https://example.com/a?b=c",
            "example.com",
            &["a page of example.com:\nhttps://example.com/a?b=c\n"],
            &["Mind"],
        );
        let long = format!("https://example.com/{}", "x".repeat(1000));
        let words = words(&Invitation {
            session: None,
            who: "s",
            message: &"m".repeat(5000),
            url: &long,
            host: "example.com",
        });
        assert!(words.replace('\n', "").contains(&long), "{words}");
        assert!(words.lines().all(|line| line.chars().count() < 700));
    }

    #[test]
    fn what_may_deceive_is_pointed_out() {
        check(
            "https://xn--pple-43d.com/",
            "xn--pple-43d.com",
            &["Mind: its name has letters"],
            &["encrypted"],
        );
        check("http://example.com/", "example.com", &["Mind: what you type"], &["letters that"]);
        check("http://127.0.0.1:3000/", "127.0.0.1", &[], &["Mind"]);
    }
}

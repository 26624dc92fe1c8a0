//! Is a description meant for the model, or against it?
//!
//! What a server says of its tools is read by a model as if it were said by whoever it works for. So everything that reaches
//! a model is looked at before a person permits a tool: names, descriptions, the texts in schemas, the server's
//! instructions. What is found is a [`Remark`]: advice for that person, with the words that gave rise to it, made visible.
//! Nothing is decided here and nothing is left out: a clever text gets past any such list, and pins and policy do not
//! depend on it. Pure: no files, no network, time in proportion to the texts.

mod remark; //     what is said about a text
mod places; //     where texts are in a definition
mod plain; //      a text as a model understands it: folded, without what cannot be seen
mod unseen; //     characters that do not show
mod hidden; //     markup and spaces that keep text out of sight
mod orders; //     sentences that give a model orders
mod encoded; //    text that only a decoder reads
mod names; //      names that pass for others

use serde_json::{Map, Value};

pub use names::Neighbours;
pub use remark::{Kind, Remark, Severity};
pub use unseen::reveal;

use places::{Place, Role, Text};

/// How many remarks are made about one tool: more help nobody.
const MOST_PER_TOOL: usize = 24;
/// How many remarks are made about one server.
const MOST: usize = 500;
/// How much of one text is looked at. What is longer is remarked.
const LONGEST: usize = 64 << 10;

/// Looks at all that a server tells models: the definitions of its tools, each as it was sent, and its instructions. The
/// worst comes first, otherwise in the order of the server.
pub fn examine(
    server: &str,
    tools: &[Map<String, Value>],
    instructions: Option<&str>,
    neighbours: &Neighbours,
) -> Vec<Remark> {
    let own = names::Own::new(server, tools);
    let mut remarks = Vec::new();
    if let Some(text) = instructions {
        let text = Text { place: Place::instructions(), role: Role::Prose, text };
        about("", vec![text], &own, neighbours, &mut remarks);
    }
    for tool in tools {
        if remarks.len() >= MOST {
            break;
        }
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        about(name, places::texts(tool), &own, neighbours, &mut remarks);
    }
    remarks.sort_by_key(|remark| std::cmp::Reverse(remark.severity));
    remarks.truncate(MOST);
    remarks
}

/// What a person is told of one tool before they permit a call of it; `None` if there is nothing to tell. Notes are left to
/// those who look for them.
pub fn warning(
    server: &str,
    tool: &Map<String, Value>,
    instructions: Option<&str>,
    neighbours: &Neighbours,
) -> Option<String> {
    let remarks = examine(server, std::slice::from_ref(tool), instructions, neighbours);
    let lines: Vec<String> =
        remarks.iter().filter(|remark| remark.severity >= Severity::Warn).map(ToString::to_string).collect();
    (!lines.is_empty())
        .then(|| format!("Look at what the server {} tells models:\n{}", reveal(server), lines.join("\n")))
}

/// Remarks about one tool, without those that say the same of the same words.
fn about(
    tool: &str,
    texts: Vec<Text<'_>>,
    own: &names::Own<'_>,
    others: &Neighbours,
    into: &mut Vec<Remark>,
) {
    let mut found: Vec<Remark> = Vec::new();
    for text in texts {
        if found.len() >= MOST_PER_TOOL {
            break;
        }
        for remark in look(&text, own, others) {
            let is_new = !found.iter().any(|known| known.kind == remark.kind && known.words == remark.words);
            if is_new && found.len() < MOST_PER_TOOL {
                found.push(Remark { tool: tool.to_owned(), ..remark });
            }
        }
    }
    into.append(&mut found);
}

/// Everything that can be said about one text.
fn look(text: &Text<'_>, own: &names::Own<'_>, others: &Neighbours) -> Vec<Remark> {
    let seen = places::start(text.text, LONGEST);
    let mut remarks = Vec::new();
    if seen.len() < text.text.len() {
        let words = format!("{} bytes, of which the first {LONGEST} were looked at", text.text.len());
        remarks.push(text.remark(Kind::TooLong, Severity::Warn, words));
    }
    let text = Text { text: seen, ..text.clone() };
    let plain = plain::Plain::of(seen);
    unseen::look(&text, &mut remarks);
    hidden::look(&text, &mut remarks);
    encoded::look(&text, &mut remarks);
    names::look(&text, &plain, own, others, &mut remarks);
    orders::look(&text, &plain, &mut remarks);
    remarks
}

#[cfg(test)]
mod tests;

//! Things to do, kept in the session: what each is, how far it is, and what it waits for.
//!
//! Pure: from a list to a list, or to what is wrong. The list never holds a circle, and nothing is done before what it waits for.

use std::fmt;

use haft_tool::{Change, Cx, Fault, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Under this the session keeps them.
pub(crate) const KEY: &str = "items";

/// More than anybody can keep in view.
const MOST: usize = 200;
pub(crate) const LONGEST_SUBJECT: usize = 200;
pub(crate) const LONGEST_DESCRIPTION: usize = 4 * 1024;

/// How far something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Pending,
    InProgress,
    Completed,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Pending => "pending",
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
        })
    }
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) subject: String,
    #[serde(default)]
    pub(crate) description: String,
    pub(crate) status: Status,
    /// Who does it, if somebody was named.
    #[serde(default)]
    pub(crate) owner: Option<String>,
    /// What must be done before.
    #[serde(default)]
    pub(crate) blocked_by: Vec<String>,
}

/// All of them, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Items {
    count: u64,
    items: Vec<Item>,
}

impl Items {
    /// Those of a session. What is no list there is none: somebody else's value is not taken for it.
    pub(crate) fn of(cx: &Cx) -> Items {
        cx.state(KEY).and_then(|value| Items::deserialize(value).ok()).unwrap_or_default()
    }

    /// A reply after which the session has these.
    pub(crate) fn kept(&self, reply: Reply) -> Reply {
        // Plain data: writing it as JSON cannot fail.
        let value = serde_json::to_value(self).unwrap_or_default();
        reply.change(Change::State(KEY.to_owned(), value))
    }

    pub(crate) fn all(&self) -> &[Item] {
        &self.items
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.id == id)
    }

    /// One more. Gives its id.
    pub(crate) fn add(
        &mut self,
        subject: String,
        description: String,
        blocked_by: Vec<String>,
    ) -> Result<String, Fault> {
        if self.items.len() >= MOST {
            return Err(Fault::rejected(format!(
                "there are {MOST} items already, which is the most; delete what is completed (TaskUpdate with `delete`)"
            )));
        }
        for other in &blocked_by {
            self.find(other)?;
        }
        self.count += 1;
        let id = format!("item-{}", self.count);
        let item = Item {
            id: id.clone(),
            subject,
            description,
            status: Status::Pending,
            owner: None,
            blocked_by: Vec::new(),
        };
        self.items.push(item);
        self.wait(&id, &blocked_by)?;
        Ok(id)
    }

    /// It waits for these, besides what it waits for already.
    pub(crate) fn wait(&mut self, id: &str, before: &[String]) -> Result<(), Fault> {
        for other in before {
            self.find(other)?;
            if other == id || self.comes_before(id, other) {
                return Err(Fault::rejected(format!(
                    "{id} cannot wait for {other}, which waits for it: leave one of the two out"
                )));
            }
            let item = self.find(id)?;
            if !item.blocked_by.contains(other) {
                item.blocked_by.push(other.clone());
            }
        }
        Ok(())
    }

    /// It waits for these no longer.
    pub(crate) fn free(&mut self, id: &str, of: &[String]) -> Result<(), Fault> {
        self.find(id)?.blocked_by.retain(|other| !of.contains(other));
        Ok(())
    }

    pub(crate) fn set_status(&mut self, id: &str, status: Status) -> Result<(), Fault> {
        let waits_for: Vec<String> =
            self.open_before(id).map(|item| format!("{} ({})", item.id, item.status)).collect();
        if status != Status::Pending && !waits_for.is_empty() {
            return Err(Fault::rejected(format!(
                "{id} waits for {}: complete that first, or let it go by `unblock`",
                waits_for.join(", ")
            )));
        }
        self.find(id)?.status = status;
        Ok(())
    }

    /// It is not to be done any more, and nothing waits for it.
    pub(crate) fn delete(&mut self, id: &str) -> Result<(), Fault> {
        self.find(id)?;
        self.items.retain(|item| item.id != id);
        self.items.iter_mut().for_each(|item| item.blocked_by.retain(|other| other != id));
        Ok(())
    }

    pub(crate) fn find(&mut self, id: &str) -> Result<&mut Item, Fault> {
        let place = self.items.iter().position(|item| item.id == id);
        match place {
            Some(place) => Ok(&mut self.items[place]),
            None => Err(self.unknown(id)),
        }
    }

    /// That there is none of this id, and which there are.
    pub(crate) fn unknown(&self, id: &str) -> Fault {
        let there = match (self.items.first(), self.items.last()) {
            (Some(first), Some(last)) if self.items.len() > 1 => {
                format!("there are {}, from {} to {}", self.items.len(), first.id, last.id)
            }
            (Some(only), _) => format!("there is {}", only.id),
            _ => "there are none".to_owned(),
        };
        let id: String = id.chars().take(80).collect();
        Fault::rejected(format!("there is no item {id:?}; {there}"))
    }

    /// What it waits for and is not done.
    pub(crate) fn open_before(&self, id: &str) -> impl Iterator<Item = &Item> {
        let before = self.get(id).map_or(&[][..], |item| &item.blocked_by);
        before.iter().filter_map(|id| self.get(id)).filter(|item| item.status != Status::Completed)
    }

    /// Whether `later` waits for `id`, or for something that does. There is no circle, so this ends.
    fn comes_before(&self, id: &str, later: &str) -> bool {
        let mut open = vec![later];
        let mut seen = std::collections::HashSet::new();
        while let Some(next) = open.pop() {
            if next == id {
                return true;
            }
            if seen.insert(next) {
                open.extend(
                    self.get(next).into_iter().flat_map(|item| item.blocked_by.iter().map(String::as_str)),
                );
            }
        }
        false
    }

    /// One line for each: `item-2 [pending] Write the docs (waits for item-1)`.
    pub(crate) fn line(&self, item: &Item) -> String {
        let waits: Vec<&str> = self.open_before(&item.id).map(|item| item.id.as_str()).collect();
        let waits =
            if waits.is_empty() { String::new() } else { format!(" (waits for {})", waits.join(", ")) };
        let owner = item.owner.as_ref().map_or(String::new(), |owner| format!(" @{owner}"));
        format!("{} [{}] {}{owner}{waits}", item.id, item.status, item.subject)
    }
}

/// A subject is one line that can be read at a glance.
pub(crate) fn check_texts(subject: Option<&str>, description: Option<&str>) -> Result<(), Fault> {
    if let Some(subject) = subject {
        if subject.trim().is_empty() {
            return Err(Fault::rejected("`subject` is empty; say in a line what is to be done"));
        }
        if subject.len() > LONGEST_SUBJECT {
            return Err(Fault::rejected(format!(
                "`subject` has {} bytes, and {LONGEST_SUBJECT} are the most; put the rest into `description`",
                subject.len()
            )));
        }
    }
    match description.map(str::len) {
        Some(length) if length > LONGEST_DESCRIPTION => Err(Fault::rejected(format!(
            "`description` has {length} bytes, and {LONGEST_DESCRIPTION} are the most; put the rest into a file"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn three() -> Items {
        let mut items = Items::default();
        for subject in ["one", "two", "three"] {
            items.add(subject.to_owned(), String::new(), Vec::new()).unwrap();
        }
        items
    }

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn nothing_is_begun_before_what_it_waits_for() {
        let mut items = three();
        items.wait("item-3", &ids(&["item-1", "item-2"])).unwrap();
        let refused = items.set_status("item-3", Status::InProgress).unwrap_err();
        assert_eq!(
            refused.message(),
            "item-3 waits for item-1 (pending), item-2 (pending): complete that first, or let it go by `unblock`"
        );
        items.set_status("item-1", Status::Completed).unwrap();
        assert_eq!(items.line(&items.all()[2]), "item-3 [pending] three (waits for item-2)");
        items.delete("item-2").unwrap();
        items.set_status("item-3", Status::Completed).unwrap();
    }

    #[test]
    fn what_would_go_round_in_a_circle_is_refused() {
        let mut items = three();
        items.wait("item-2", &ids(&["item-1"])).unwrap();
        items.wait("item-3", &ids(&["item-2"])).unwrap();
        for (id, before) in [("item-1", "item-3"), ("item-1", "item-1")] {
            assert!(items.wait(id, &ids(&[before])).unwrap_err().message().contains("cannot wait for"));
        }
        assert_eq!(
            items.find("item-9").unwrap_err().message(),
            "there is no item \"item-9\"; there are 3, from item-1 to item-3"
        );
    }

    proptest! {
        #[test]
        fn there_is_never_a_circle(waits in prop::collection::vec((1..8_u8, 1..8_u8), 0..40)) {
            let mut items = Items::default();
            for _ in 0..7 {
                items.add("x".to_owned(), String::new(), Vec::new()).unwrap();
            }
            for (id, before) in waits {
                let _ = items.wait(&format!("item-{id}"), &[format!("item-{before}")]);
            }
            // What waits for nothing open can be completed, until all is.
            for _ in 0..7 {
                let free = items.all().iter().find(|item| item.status == Status::Pending && items.open_before(&item.id).count() == 0);
                let free = free.map(|item| item.id.clone()).expect("something waits for nothing");
                items.set_status(&free, Status::Completed).unwrap();
            }
        }
    }
}

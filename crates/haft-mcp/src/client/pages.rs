//! Lists that come in pages.
//!
//! A list is bounded by the server's limits, and ends at a cursor that is empty or was there before: servers have been seen
//! that never come to an end. An entry that nobody could use is left out, what is wrong with others is put right, and both is
//! said; the rest of the list is never lost for it.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{Limits, Listing};
use crate::wire::marked;

/// The pages of one list.
pub(super) struct Pages {
    key: String,
    cursor: Option<Value>,
    seen: HashSet<String>,
    names: HashSet<String>,
    pages_left: usize,
    listed: usize,
    /// Whether it has as many entries as are kept.
    is_full: bool,
    /// Whether arguments may be said in headers: a tool that marks them wrongly must not be used then.
    says_in_headers: bool,
    listing: Listing,
}

/// So many remarks are kept of a list: a server that does everything wrong does it a thousand times.
const MOST_REMARKS: usize = 50;

impl Pages {
    pub(super) fn new(key: &str, limits: &Limits) -> Pages {
        Pages {
            key: key.to_owned(),
            cursor: Some(Value::Null),
            seen: HashSet::new(),
            names: HashSet::new(),
            pages_left: limits.pages,
            listed: limits.listed,
            is_full: false,
            says_in_headers: false,
            listing: Listing::default(),
        }
    }

    /// For a server to which arguments are said in headers.
    pub(super) fn saying_in_headers(self, says: bool) -> Pages {
        Pages { says_in_headers: says, ..self }
    }

    /// The parameters of the request for the next page, if there is one.
    pub(super) fn next(&mut self) -> Option<Map<String, Value>> {
        let cursor = self.cursor.take()?;
        if self.pages_left == 0 {
            self.headline("the list has more pages than are read".to_owned());
            return None;
        }
        self.pages_left -= 1;
        let mut params = Map::new();
        if !cursor.is_null() {
            params.insert("cursor".to_owned(), cursor);
        }
        Some(params)
    }

    /// Takes a page.
    pub(super) fn take(&mut self, page: Value) {
        let Value::Object(mut page) = page else { return };
        self.listing.is_private |= page.get("cacheScope").is_some_and(|scope| scope == "private");
        match page.remove(&self.key) {
            Some(Value::Array(entries)) => self.keep(entries),
            None | Some(Value::Null) => {}
            Some(_) => self.remark(format!("`{}` is not a list", self.key)),
        }
        self.cursor = page.remove("nextCursor").filter(|cursor| !self.is_full && self.goes_on(cursor));
    }

    pub(super) fn listing(self) -> Listing {
        self.listing
    }

    fn keep(&mut self, entries: Vec<Value>) {
        for entry in entries {
            if self.listing.entries.len() >= self.listed {
                self.headline(format!(
                    "the list has more than {} entries; the rest is left out",
                    self.listed
                ));
                self.is_full = true;
                return;
            }
            if let Some(entry) = self.usable(entry) {
                self.listing.entries.push(entry);
            }
        }
    }

    fn usable(&mut self, entry: Value) -> Option<Map<String, Value>> {
        let called_by = match self.key.as_str() {
            "resources" => "uri",
            "resourceTemplates" => "uriTemplate",
            _ => "name",
        };
        let Value::Object(mut entry) = entry else {
            self.remark(format!("an entry of `{}` is no object; it is left out", self.key));
            return None;
        };
        let name = entry.get(called_by).and_then(Value::as_str).filter(|name| !name.trim().is_empty());
        let Some(name) = name.map(str::to_owned) else {
            self.remark(format!("an entry of `{}` has no {called_by}; it is left out", self.key));
            return None;
        };
        if !self.names.insert(name.clone()) {
            self.remark(format!("`{name}` is listed twice; the first counts"));
            return None;
        }
        let wrong_mark = entry.get("inputSchema").map(marked).and_then(Result::err);
        if let Some(what) = wrong_mark.filter(|_| self.says_in_headers && self.key == "tools") {
            self.remark(format!("`{name}` is left out: {what}"));
            return None;
        }
        if self.key == "tools" {
            mend(&mut entry).into_iter().for_each(|what| self.remark(format!("`{name}`: {what}")));
        }
        Some(entry)
    }

    fn goes_on(&mut self, cursor: &Value) -> bool {
        match cursor {
            Value::Null => false,
            Value::String(cursor) if cursor.is_empty() => false,
            other if self.seen.insert(other.to_string()) => true,
            _ => {
                self.headline("the list leads back to a page that was read before; it ends there".to_owned());
                false
            }
        }
    }

    /// What concerns the whole list comes first, however many entries are bad.
    fn headline(&mut self, what: String) {
        self.listing.remarks.insert(0, what);
    }

    fn remark(&mut self, what: String) {
        if self.listing.remarks.len() < MOST_REMARKS && !self.listing.remarks.contains(&what) {
            self.listing.remarks.push(what);
        }
    }
}

/// Puts right what would cost a strict client the whole list, and says what that was.
fn mend(tool: &mut Map<String, Value>) -> Vec<String> {
    let mut remarks = Vec::new();
    let empty: Vec<String> = tool
        .iter()
        .filter(|(key, value)| value.is_null() && *key != "inputSchema")
        .map(|(key, _)| key.clone())
        .collect();
    for key in empty {
        tool.remove(&key);
    }
    if !tool.get("inputSchema").is_some_and(Value::is_object) {
        tool.insert("inputSchema".to_owned(), json!({ "type": "object" }));
        remarks.push("it says nothing usable about its input; any object is taken".to_owned());
    }
    for key in ["title", "description"] {
        if tool.get(key).is_some_and(|words| !words.is_string()) {
            tool.remove(key);
            remarks.push(format!("its {key} is no text"));
        }
    }
    if tool.get("outputSchema").is_some_and(|schema| !schema.is_object()) {
        tool.remove("outputSchema");
        remarks.push("its outputSchema is no object".to_owned());
    }
    remarks.extend(mend_hints(tool));
    remarks
}

fn mend_hints(tool: &mut Map<String, Value>) -> Option<String> {
    let hints = tool.get_mut("annotations")?;
    let Some(hints) = hints.as_object_mut() else {
        tool.remove("annotations");
        return Some("its annotations are no object".to_owned());
    };
    let is_wrong = |key: &str, value: &Value| key.ends_with("Hint") && !value.is_boolean();
    let wrong: Vec<String> =
        hints.iter().filter(|(key, value)| is_wrong(key, value)).map(|(key, _)| key.clone()).collect();
    wrong.iter().for_each(|key| drop(hints.remove(key)));
    (!wrong.is_empty()).then(|| format!("{} is neither true nor false", wrong.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        key: &str,
        limits: &Limits,
        mut answer: impl FnMut(&Map<String, Value>) -> Value,
    ) -> (Vec<Value>, Vec<String>) {
        let mut pages = Pages::new(key, limits);
        while let Some(params) = pages.next() {
            pages.take(answer(&params));
        }
        let listing = pages.listing();
        (listing.entries.into_iter().map(Value::Object).collect(), listing.remarks)
    }

    #[track_caller]
    fn check(tools: Value, expected: Value, remarks: &[&str]) {
        let (entries, said) = read("tools", &Limits::default(), |_| json!({ "tools": tools }));
        assert_eq!(Value::from(entries), expected);
        assert_eq!(said, remarks);
    }

    #[test]
    fn one_bad_entry_does_not_cost_the_list() {
        let good = json!({ "name": "a", "inputSchema": { "type": "object" }, "x": 1 });
        check(
            json!([good, 3, {}, { "name": " " }]),
            json!([good]),
            &[
                "an entry of `tools` is no object; it is left out",
                "an entry of `tools` has no name; it is left out",
            ],
        );
        check(json!([good, good]), json!([good]), &["`a` is listed twice; the first counts"]);
        check(json!({ "a": 1 }), json!([]), &["`tools` is not a list"]);
        check(Value::Null, json!([]), &[]);
    }

    #[test]
    fn a_tool_is_put_right_and_that_is_said() {
        let mended = json!([{ "name": "a", "inputSchema": { "type": "object" } }]);
        let without = "`a`: it says nothing usable about its input; any object is taken";
        check(json!([{ "name": "a" }]), mended.clone(), &[without]);
        check(json!([{ "name": "a", "inputSchema": null, "description": null }]), mended.clone(), &[without]);
        check(
            json!([{ "name": "a", "inputSchema": { "properties": {} }, "annotations": { "readOnlyHint": "yes", "title": "A" } }]),
            json!([{ "name": "a", "inputSchema": { "properties": {} }, "annotations": { "title": "A" } }]),
            &["`a`: readOnlyHint is neither true nor false"],
        );
    }

    #[test]
    fn a_list_ends_whatever_its_cursors_say() {
        let limits = Limits { pages: 3, listed: 5, ..Limits::default() };
        let mut count = 0;
        let mut page = |cursor: Value| {
            count += 1;
            json!({ "resources": [{ "uri": format!("r:{count}") }], "nextCursor": cursor })
        };
        assert_eq!(read("resources", &limits, |_| page(Value::Null)).0.len(), 1);
        assert_eq!(read("resources", &limits, |_| page("".into())).0.len(), 1);
        assert_eq!(read("resources", &limits, |_| page("same".into())).0.len(), 2);
        let mut next = 0;
        let endless = read("resources", &limits, |_| {
            next += 1;
            page(next.into())
        });
        assert_eq!(
            (endless.0.len(), endless.1),
            (3, vec!["the list has more pages than are read".to_owned()])
        );
    }

    #[test]
    fn a_list_is_cut_at_its_limit() {
        let limits = Limits { listed: 2, ..Limits::default() };
        let (entries, remarks) = read(
            "prompts",
            &limits,
            |_| json!({ "prompts": [{ "name": "a" }, { "name": "b" }, { "name": "c" }], "nextCursor": "x" }),
        );
        assert_eq!(entries.len(), 2);
        assert_eq!(remarks[0], "the list has more than 2 entries; the rest is left out");
    }
}

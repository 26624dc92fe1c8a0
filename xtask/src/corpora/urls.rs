//! `urls.jsonl`: may this be fetched, and who is contacted on the way?
//!
//! Every case is a call of the real tool in a session, on a network that is a script. What a call leaves open, because a
//! server pointed to another host, is asked as a call of its own, as a model would: the first that is not allowed decides.

mod script; // the network of a case

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    path::PathBuf,
};

use anyhow::{Result, bail};
use haft_engine::{policy::Verdict, result::ToolResult};
use haft_tool::FaultKind;
use haft_tools::{WebOptions, web_fetch_on};
use serde::Deserialize;
use serde_json::{Value, json};

use self::script::{Events, Names, Redirect, Script};
use super::{
    case::{Answer, Case},
    session::Session,
};
use crate::haft::Haft;

/// What else holds in a case.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Context {
    /// What names are, for ever
    dns: HashMap<String, Vec<IpAddr>>,
    /// or look-up by look-up.
    dns_sequence: HashMap<String, VecDeque<Vec<IpAddr>>>,
    redirects: Vec<Redirect>,
    /// Whether the server points on for ever.
    redirects_repeat: bool,
    must_not_connect: Vec<IpAddr>,
}

/// A model that follows from host to host is stopped by somebody before that.
const MOST_CALLS: usize = 20;

pub(super) fn judge(_: &Haft, case: &Case) -> Result<Answer> {
    answer(case)
}

fn answer(case: &Case) -> Result<Answer> {
    if case.kind != "verdict" {
        bail!("no case of the kind {} is known", case.kind);
    }
    let context: Context =
        if case.context.is_null() { Context::default() } else { Context::deserialize(&case.context)? };
    let events = Events::default();
    let script = Script::new(
        Names { dns: context.dns, dns_sequence: context.dns_sequence },
        context.redirects,
        context.redirects_repeat,
        events.clone(),
    );
    let tool = web_fetch_on(script, WebOptions::default());
    let session = Session::with_tool(tool, PathBuf::from("/w/app"), PathBuf::from("/home/u"), &case.rules)?;
    let answer = fetch(&session, case.input.clone());
    let contacted = events.contacted();
    let forbidden = contacted.iter().find(|address| context.must_not_connect.contains(address));
    // Whatever the verdict: no place that is not public is contacted but by its own name.
    let private =
        contacted.iter().find(|address| !haft_tool::is_public(**address) && !is_named(case, **address));
    match forbidden.or(private) {
        Some(address) => Ok(Answer::Broke(format!("{address} was contacted"))),
        None => Ok(answer),
    }
}

/// Fetches as a model would, call by call.
fn fetch(session: &Session, mut url: String) -> Answer {
    for _ in 0..MOST_CALLS {
        let input = json!({ "url": url });
        let explained = match session.explain("WebFetch", input.clone()) {
            Ok(explained) => explained,
            Err(refused) => return Answer::said("deny", refused.text()),
        };
        if explained.decision.verdict != Verdict::Allow {
            return Answer::said(explained.decision.verdict.to_string(), explained.decision.reason());
        }
        let result = session.call("WebFetch", input);
        match elsewhere(&result) {
            Some(target) => url = target,
            None => return verdict(&result),
        }
    }
    Answer::said("deny", "it leads from host to host")
}

/// Where a call says that another one may go on.
fn elsewhere(result: &ToolResult) -> Option<String> {
    let action = result.actions.first().filter(|_| result.fault.is_some())?;
    action.input.get("url").and_then(Value::as_str).map(str::to_owned)
}

fn verdict(result: &ToolResult) -> Answer {
    match result.fault.map(|fault| fault.kind) {
        None => Answer::said("allow", "fetched"),
        // A chain without end is no answer either way; the fetch was ended.
        Some(FaultKind::Denied | FaultKind::RejectedInput | FaultKind::Failed) => {
            Answer::said("deny", result.text())
        }
        Some(kind) => Answer::said(format!("{kind:?}"), result.text()),
    }
}

/// Whether a rule of the case names this address, or the machine itself.
fn is_named(case: &Case, address: IpAddr) -> bool {
    let rules =
        case.rules.get("allow").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let names = [address.to_string(), format!("[{address}]"), "localhost".to_owned()];
    rules.into_iter().any(|rule| names.iter().any(|name| rule == format!("WebFetch(domain:{name})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, rules: Value, context: Value, expected: &str) {
        let line = json!({
            "id": "x-1", "group": "g", "kind": "verdict", "input": url, "rules": rules, "context": context,
            "expect": expected, "why": ""
        });
        let case: Case = serde_json::from_value(line).unwrap();
        match answer(&case).unwrap() {
            Answer::Said { word, why } => assert_eq!(word, expected, "{url}: {why}"),
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn rules_are_heard_before_anything_is_sent() {
        check("https://a.test/", json!({ "allow": ["WebFetch(domain:a.test)"] }), Value::Null, "allow");
        check("https://b.test/", json!({ "allow": ["WebFetch(domain:a.test)"] }), Value::Null, "ask");
        check("https://a.test/", json!({ "deny": ["WebFetch(domain:a.test)"] }), Value::Null, "deny");
        check("https://u@a.test/", json!({ "allow": ["WebFetch"] }), Value::Null, "deny");
    }

    #[test]
    fn what_a_name_leads_to_counts_at_every_hop() {
        let allow = json!({ "allow": ["WebFetch(domain:a.test)"] });
        check("https://a.test/", allow.clone(), json!({ "dns": { "a.test": ["10.1.2.3"] } }), "deny");
        let sequence = json!({
            "dns_sequence": { "a.test": [["1.1.1.1"], ["10.1.2.3"]] }, "must_not_connect": ["10.1.2.3"]
        });
        check("https://a.test/", allow.clone(), sequence.clone(), "allow");
        let mut twice = sequence;
        twice["redirects"] = json!([{ "status": 302, "location": "/b" }]);
        check("https://a.test/", allow, twice, "deny");
    }

    #[test]
    fn another_host_is_judged_as_a_call_of_its_own() {
        let to = |location: &str| json!({ "redirects": [{ "status": 302, "location": location }] });
        let allow = json!({ "allow": ["WebFetch(domain:a.test)"] });
        check("https://a.test/", allow.clone(), to("https://b.test/"), "ask");
        check("https://a.test/", allow.clone(), to("http://127.0.0.1/"), "deny");
        check("https://a.test/", json!({ "allow": ["WebFetch"] }), to("https://b.test/"), "allow");
        check(
            "https://a.test/",
            json!({ "allow": ["WebFetch"], "deny": ["WebFetch(domain:b.test)"] }),
            to("//b.test"),
            "deny",
        );
        let mut for_ever = to("/again");
        for_ever["redirects_repeat"] = json!(true);
        check("https://a.test/", allow, for_ever, "deny");
    }
}

//! What is known of a server without asking it, and how it comes to be known.

use serde_json::{Map, Value};

use crate::client::{Connection, Era, Listing, Refused};

/// What is known of a server without asking it.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Known {
    /// Its shape of the protocol: the newer one, if it has both.
    pub era: Option<Era>,
    /// `serverInfo`, as it was sent.
    pub info: Map<String, Value>,
    /// Its capabilities.
    pub capabilities: Map<String, Value>,
    /// What it tells models.
    pub instructions: Option<String>,
    /// Definitions of tools, each as it was sent, sorted by name.
    pub tools: Vec<Map<String, Value>>,
    /// Definitions of prompts.
    pub prompts: Vec<Map<String, Value>>,
    /// Definitions of resources.
    pub resources: Vec<Map<String, Value>>,
    /// Definitions of resource templates.
    pub templates: Vec<Map<String, Value>>,
    /// Whether the server said that a list is for its caller alone. Such lists are not kept on disk.
    pub is_private: bool,
    /// What was repaired or left out.
    pub remarks: Vec<String>,
}

/// The code of JSON-RPC for a method that a server does not have.
const NO_SUCH_METHOD: i64 = -32601;
/// Remarks beyond this say nothing new.
const MOST_REMARKS: usize = 50;

impl Known {
    /// Asks a server for all its lists. What cannot be had of the lesser ones is what was known before, with a remark; without
    /// the list of tools nothing is learnt.
    pub(super) async fn learn(connection: &Connection, before: &Known) -> Result<Known, Refused> {
        let about = connection.about();
        let has = |capability: &str| about.capabilities.contains_key(capability);
        let (prompts, resources) = (has("prompts"), has("resources"));
        let (tools, prompts, resources, templates) = futures::join!(
            // Asked for in any case: servers forget to declare it.
            connection.list("tools/list", "tools"),
            list_if(prompts, connection, "prompts/list", "prompts"),
            list_if(resources, connection, "resources/list", "resources"),
            list_if(resources, connection, "resources/templates/list", "resourceTemplates"),
        );
        let is_private = [&tools, &prompts, &resources, &templates]
            .into_iter()
            .any(|listing| listing.as_ref().is_ok_and(|listing| listing.is_private));
        let mut remarks = Vec::new();
        let known = Known {
            is_private,
            era: Some(about.era),
            info: about.info.clone(),
            capabilities: about.capabilities.clone(),
            instructions: about.instructions.clone(),
            tools: sorted(optional(tools)?, "name", &mut remarks),
            prompts: sorted(or_before(prompts, "prompts", &before.prompts), "name", &mut remarks),
            resources: sorted(or_before(resources, "resources", &before.resources), "uri", &mut remarks),
            templates: sorted(
                or_before(templates, "resource templates", &before.templates),
                "uriTemplate",
                &mut remarks,
            ),
            remarks: Vec::new(),
        };
        remarks.truncate(MOST_REMARKS);
        Ok(Known { remarks, ..known })
    }
}

async fn list_if(wanted: bool, connection: &Connection, method: &str, key: &str) -> Result<Listing, Refused> {
    if wanted { connection.list(method, key).await } else { Ok(Listing::default()) }
}

/// A list that a server does not have is empty.
fn optional(listing: Result<Listing, Refused>) -> Result<Listing, Refused> {
    match listing {
        Err(refused) if refused.code == NO_SUCH_METHOD => Ok(Listing::default()),
        listing => listing,
    }
}

fn or_before(listing: Result<Listing, Refused>, what: &str, before: &[Map<String, Value>]) -> Listing {
    optional(listing).unwrap_or_else(|refused| {
        let remark = format!("its {what} could not be listed: {refused}; those from before are kept");
        Listing { entries: before.to_vec(), remarks: vec![remark], ..Listing::default() }
    })
}

/// In one order, whatever the server's is today: the same definitions are the same bytes.
fn sorted(listing: Listing, key: &str, remarks: &mut Vec<String>) -> Vec<Map<String, Value>> {
    let Listing { mut entries, remarks: more, .. } = listing;
    remarks.extend(more);
    entries.sort_by_cached_key(|entry| entry.get(key).and_then(Value::as_str).map(str::to_owned));
    entries
}

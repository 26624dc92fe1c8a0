//! Tokens for the `auth/*` scenarios: an authorizer, and a person who says yes at once.

use std::{env, error::Error, io, sync::Arc};

use haft_mcp::{
    auth::{Authorizer, Grant, Identity, TokenStore, Visitor},
    client::Tokens,
};
use haft_tool::BoxFuture;
use reqwest::{Client, header::LOCATION, redirect};
use serde_json::Value;

/// Where the suite says that a document about the client is.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const BACK: &str = "http://127.0.0.1:3000/callback";

/// Who has tokens for the server at `url`.
pub(crate) fn tokens(url: &str, context: &Value) -> Result<Arc<dyn Tokens>, Box<dyn Error>> {
    let person = Yes(Client::builder().redirect(redirect::Policy::none()).build()?);
    let authorizer = Authorizer::new("server", url, identity(context), TokenStore::in_memory())?;
    Ok(Arc::new(authorizer.with_visitor(Arc::new(person))))
}

/// What the scenario says of the client.
fn identity(context: &Value) -> Identity {
    let text = |name: &str| context.get(name).and_then(Value::as_str).map(str::to_owned);
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let is_machine = scenario.starts_with("auth/client-credentials");
    Identity {
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        client_metadata_url: Some(DOCUMENT.to_owned()),
        grant: if is_machine { Grant::ClientCredentials } else { Grant::Person },
        ..Identity::default()
    }
}

/// Somebody who says yes at once: the suite's authorization server asks nobody.
struct Yes(Client);

impl Visitor for Yes {
    fn redirect_uri(&self) -> String {
        BACK.to_owned()
    }

    fn visit<'a>(&'a self, address: &'a str) -> BoxFuture<'a, io::Result<String>> {
        Box::pin(async move {
            let answer = self.0.get(address).send().await.map_err(io::Error::other)?;
            let back = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            back.map(str::to_owned).ok_or_else(|| io::Error::other("it sent nobody back"))
        })
    }
}

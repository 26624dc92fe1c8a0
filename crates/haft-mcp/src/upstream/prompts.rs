//! A server's prompts, for a person who picks one: what it has is in [`Known`](super::Known).

use haft_tool::Fault;
use serde_json::{Map, Value};

use super::{Principal, Upstream};
use crate::client::RequestOptions;

impl Upstream {
    /// What a prompt says with these arguments: the protocol's `messages`, and what stands beside them. Starts the server if it
    /// does not run.
    pub async fn prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, Fault> {
        let lease = self.connect(&Principal::owner(), None, self.own_desk()).await?;
        let params =
            Map::from_iter([("name".to_owned(), name.into()), ("arguments".to_owned(), arguments.into())]);
        let options = RequestOptions { desk: Some(self.own_desk()), ..RequestOptions::default() };
        let asked = lease.request("prompts/get", params, &options).await;
        let server = &self.server().name;
        asked.map_err(|refused| {
            Fault::failed(format!("the server `{server}` has no such prompt to give: {refused}"))
        })
    }
}

//! `ReadMcpResource`: one of the things that a server has to read.

use std::sync::Arc;

use haft_engine::pool::mangle;
use haft_tool::{Cx, Effects, Fault, Reply, Spec, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Map;

use super::{Upstreams, connecting::Errand, reply, tool::fault};
use crate::Passage;

/// Reads a resource of an MCP server.
///
/// ListMcpResources shows which there are. The URI is the server's own: it is not fetched from the internet, and it is no
/// path of this machine.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadMcpResourceInput {
    /// The server that has it.
    server: String,
    /// Its URI, as ListMcpResources shows it.
    uri: String,
}

pub(super) struct ReadMcpResource(pub(super) Arc<Upstreams>);

impl Tool for ReadMcpResource {
    type Input = ReadMcpResourceInput;
    const SPEC: Spec =
        Spec::new("ReadMcpResource").toolset("mcp").search_hint("resource uri server document");

    fn validate(&self, input: &ReadMcpResourceInput) -> Result<(), Fault> {
        self.0.check(&input.server)
    }

    /// As with its tools, what a server does is the server's word.
    fn effects(&self, input: &ReadMcpResourceInput) -> Effects {
        Effects::unknown().counting_as(mangle(&input.server, Self::SPEC.name()))
    }

    fn describe(&self, input: &ReadMcpResourceInput) -> String {
        format!("read {} of the server {}", input.uri, input.server)
    }

    async fn call(&self, input: ReadMcpResourceInput, cx: &Cx) -> Result<Reply, Fault> {
        self.0.check(&input.server)?;
        let Some(upstream) = self.0.get(&input.server) else {
            return Err(Fault::failed(format!("the server `{}` is gone", input.server)));
        };
        let params = Map::from_iter([("uri".to_owned(), input.uri.into())]);
        // Reading twice is reading: the protocol has no other meaning for it.
        let errand = Errand::of_call(upstream, cx, true);
        let answer = upstream.request(&errand, "resources/read", params).await;
        let answer = answer.map_err(|trouble| fault(&input.server, trouble))?;
        let reply = reply::of_resource(upstream, &answer);
        if let Some(passage) = Passage::current().filter(|passage| passage.is_for(cx.call_id())) {
            passage.keep_answer(answer);
        }
        Ok(reply)
    }
}

//! How a question reaches the client.
//!
//! A legacy client is sent a request, and the call waits for the answer. A modern one gets the questions as the result of its
//! call, and calls again with the answers; what the server has to remember in between travels with it, sealed.

use std::collections::BTreeMap;

use rmcp::{
    ErrorData, RoleServer,
    model::{CustomRequest, ProtocolVersion, RequestStateCodec, ServerRequest},
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use crate::questions::{self, Abilities, Next};

/// How it ended this time.
pub(crate) enum Outcome {
    /// With a result.
    Done(Value),
    /// With questions.
    Asks(Value),
}

/// Seals what a client carries for us, and knows it again.
pub(crate) struct Codec(RequestStateCodec);

impl Codec {
    pub(crate) fn new() -> Codec {
        // It guards nothing: anybody may know the key of a fixture.
        let codec = RequestStateCodec::try_new(*b"the key of a server that has no secret");
        Codec(codec.expect("the key is long enough"))
    }

    fn seal(&self, answers: &Map<String, Value>) -> String {
        self.0.seal(Value::from(answers.clone()).to_string().as_bytes())
    }

    fn open(&self, sealed: &str) -> Result<Map<String, Value>, ErrorData> {
        let refused = |err: String| ErrorData::invalid_params(format!("requestState: {err}"), None);
        let bytes = self.0.open(sealed).map_err(|err| refused(err.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|err| refused(err.to_string()))
    }
}

/// A call of something that may ask back.
pub(crate) struct Asked<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) responses: Option<BTreeMap<String, Value>>,
    pub(crate) state: Option<&'a str>,
}

impl Asked<'_> {
    /// `None`: there is nothing of this name.
    pub(crate) async fn outcome(
        self,
        codec: &Codec,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<Outcome>, ErrorData> {
        if is_modern(context) { self.one_round(codec, context) } else { self.all_rounds(context).await }
    }

    fn one_round(
        self,
        codec: &Codec,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<Outcome>, ErrorData> {
        let mut answers = self.state.map(|state| codec.open(state)).transpose()?.unwrap_or_default();
        answers.extend(self.responses.unwrap_or_default());
        let next = questions::next(self.name, &self.arguments, &answers, &abilities(context));
        Ok(next.map(|next| match next {
            Next::Done(result) => Outcome::Done(result),
            Next::Ask { wishes, remembered } => {
                let mut question = json!({ "resultType": "input_required", "inputRequests": wishes });
                if remembered {
                    question["requestState"] = codec.seal(&answers).into();
                }
                Outcome::Asks(question)
            }
        }))
    }

    async fn all_rounds(self, context: &RequestContext<RoleServer>) -> Result<Option<Outcome>, ErrorData> {
        let mut answers = Map::new();
        loop {
            match questions::next(self.name, &self.arguments, &answers, &abilities(context)) {
                None => return Ok(None),
                Some(Next::Done(result)) => return Ok(Some(Outcome::Done(result))),
                Some(Next::Ask { wishes, .. }) => {
                    for (key, wish) in wishes {
                        answers.insert(key, send(wish, context).await?);
                    }
                }
            }
        }
    }
}

/// Asks a legacy client.
async fn send(wish: Value, context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    let method = wish["method"].as_str().unwrap_or_default().to_owned();
    let request = CustomRequest::new(method, Some(wish["params"].clone()));
    let failed = |err: String| ErrorData::internal_error(format!("the client did not answer: {err}"), None);
    let answer = context
        .peer
        .send_request(ServerRequest::CustomRequest(request))
        .await
        .map_err(|err| failed(err.to_string()))?;
    serde_json::to_value(answer).map_err(|err| failed(err.to_string()))
}

pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    // Revisions are dates: their order is that of their text.
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

pub(crate) fn abilities(context: &RequestContext<RoleServer>) -> Abilities {
    let declared = context.client_capabilities().unwrap_or_default();
    Abilities { elicitation: declared.elicitation.is_some(), sampling: declared.sampling.is_some() }
}

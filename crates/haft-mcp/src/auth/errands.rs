//! The HTTP client of the flow: small answers, soon, from addresses within reach, and from where they were asked for.

use std::{sync::OnceLock, time::Duration};

use axum::http::{self, header::LOCATION};
use reqwest::{Client, Method, redirect};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use url::Url;

use super::reach::{Reach, shown};

/// How long one request may take, whatever happens in between.
const PATIENCE: Duration = Duration::from_secs(20);
/// Larger answers are none: metadata and tokens are a few kilobytes.
const LARGEST: usize = 512 << 10;
/// How many redirects are followed, all within one origin.
const HOPS: usize = 3;

/// Runs the requests of the flow.
#[derive(Debug)]
pub(super) struct Errands {
    /// Made when it is first needed: most servers want no token, and nobody should pay for TLS then.
    client: OnceLock<Client>,
    reach: Reach,
}

type Response = http::Response<Vec<u8>>;

impl Errands {
    pub(super) fn new(reach: Reach) -> Errands {
        Errands { client: OnceLock::new(), reach }
    }

    fn client(&self) -> Result<&Client, reqwest::Error> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Whoever installed a provider before has made the same choice.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
            .timeout(PATIENCE)
            .redirect(redirect::Policy::none())
            .referer(false)
            // A proxy would resolve names out of our sight.
            .no_proxy()
            .dns_resolver(self.reach)
            .build()?;
        Ok(self.client.get_or_init(|| client))
    }

    async fn run(&self, request: OAuthHttpRequest) -> Result<Response, OAuthHttpClientError> {
        let OAuthHttpRequest { request, redirect_policy, .. } = request;
        let mut request = reqwest::Request::try_from(request)?;
        let may_follow =
            redirect_policy == OAuthHttpRedirectPolicy::Follow && request.method() == Method::GET;
        for _ in 0..=HOPS {
            let again = if may_follow { request.try_clone() } else { None };
            let response = self.once(request).await?;
            let (Some(mut again), Some(next)) = (again, redirected(&response)) else { return Ok(response) };
            *again.url_mut() = same_origin(again.url(), &next)?;
            request = again;
        }
        Err("too many redirects".into())
    }

    async fn once(&self, request: reqwest::Request) -> Result<Response, OAuthHttpClientError> {
        if let Some(objection) = self.reach.objection(request.url()) {
            return Err(objection.into());
        }
        let mut answer = self.client()?.execute(request).await?;
        let mut response = http::Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            response = response.header(name, value);
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            if body.len() + chunk.len() > LARGEST {
                return Err(format!("the answer is larger than {LARGEST} bytes").into());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(response.body(body)?)
    }
}

fn redirected(response: &Response) -> Option<String> {
    let location = response.status().is_redirection().then(|| response.headers().get(LOCATION))??;
    location.to_str().ok().map(str::to_owned)
}

fn same_origin(from: &Url, to: &str) -> Result<Url, OAuthHttpClientError> {
    let to = from.join(to)?;
    match to.origin() == from.origin() {
        true => Ok(to),
        false => Err(format!("{} redirects to {}, which is another origin", shown(from), shown(&to)).into()),
    }
}

impl OAuthHttpClient for Errands {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let outcome = tokio::time::timeout(PATIENCE, self.run(request)).await;
            outcome.unwrap_or_else(|_| Err("no answer in time".into()))
        })
    }
}

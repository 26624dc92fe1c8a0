//! A challenge, and the token that answers it.

use std::{
    collections::{HashSet, VecDeque},
    fmt, io,
    sync::{Arc, PoisonError},
};

use haft_tool::BoxFuture;
use rmcp::transport::auth::WWWAuthenticateParams;
use thiserror::Error;
use tokio::sync::Mutex;
use url::Url;

use super::{Grant, Identity, TokenStore, Visitor, errands::Errands, flow::Flow, reach::Reach, tokens::Kept};
use crate::{
    client::{Challenge, Tokens},
    lint::reveal,
};

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unauthorized {
    /// A person must say yes first.
    #[error("{server} wants to know who asks: run `haft login {server}{}`", more(.scopes))]
    LoginNeeded {
        /// What the user calls the server.
        server: String,
        /// What the server wants besides what was granted.
        scopes: Vec<String>,
    },
    /// It did not work.
    #[error("no token: {0}")]
    Failed(String),
}

/// What to type besides. The server names its scopes: those that a shell could take for something else are not repeated.
fn more(scopes: &[String]) -> String {
    let is_plain = |scope: &&String| {
        scope.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '.' | '_' | '-' | '/'))
    };
    let scopes: Vec<&String> = scopes.iter().filter(is_plain).collect();
    scopes.iter().map(|scope| format!(" --scope {scope}")).collect()
}

/// A failure in words, which may be those of strangers: on one line, nothing hidden, and not too long.
pub(super) fn failed(words: impl fmt::Display) -> Unauthorized {
    let words = reveal(&words.to_string()).split_whitespace().collect::<Vec<_>>().join(" ");
    Unauthorized::Failed(match words.char_indices().nth(400) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words,
    })
}

/// Gets and keeps the tokens for one server.
pub struct Authorizer {
    server: String,
    url: Url,
    identity: Identity,
    tokens: TokenStore,
    visitor: Option<Arc<dyn Visitor>>,
    reach: Reach,
    errands: Arc<Errands>,
    /// Held while a challenge is answered: many requests are refused at once, and one answer is for all.
    answering: Mutex<Answered>,
    /// The tokens that the server may have seen, the newest first.
    sent: std::sync::Mutex<VecDeque<String>>,
}

#[derive(Default)]
struct Answered {
    /// What the server has asked for besides, so that it cannot ask for ever.
    wanted: HashSet<String>,
}

/// The status of a server that knows who asks, and wants more.
const FORBIDDEN: u16 = 403;

/// How many times a server may want more than was granted.
const MOST_WANTED: usize = 8;

impl Authorizer {
    /// For the server that the user calls `server`, at `url`. Nobody is there to be asked, until a visitor is set.
    pub fn new(
        server: impl Into<String>,
        url: &str,
        identity: Identity,
        tokens: TokenStore,
    ) -> Result<Authorizer, Unauthorized> {
        let mut url = Url::parse(url).map_err(|err| failed(format!("the server's address: {err}")))?;
        url.set_fragment(None);
        let reach = Reach::of(&url, identity.allow_private);
        let (answering, sent) = (Mutex::default(), std::sync::Mutex::default());
        let (server, errands) = (server.into(), Arc::new(Errands::new(reach)));
        Ok(Authorizer { server, url, identity, tokens, visitor: None, reach, errands, answering, sent })
    }

    /// With somebody who can be sent to the authorization server.
    pub fn with_visitor(mut self, visitor: Arc<dyn Visitor>) -> Authorizer {
        self.visitor = Some(visitor);
        self
    }

    /// Whether a token for this server may go there: the same scheme, host and port.
    pub fn is_for(&self, address: &str) -> bool {
        Url::parse(address).is_ok_and(|address| address.origin() == self.url.origin())
    }

    /// The token to send, renewed if it is about to end. `None`: none is kept, and perhaps none is needed.
    pub async fn token(&self) -> Result<Option<String>, Unauthorized> {
        match self.load().await? {
            Some(kept) if kept.has_ended() => {
                let _one = self.answering.lock().await;
                // Without a token the server says what it wants, and that is answered.
                let renewed = self.renewed(None, None).await?;
                Ok(renewed.and_then(|kept| kept.access_token()).map(|token| self.sent(token)))
            }
            kept => Ok(kept.and_then(|kept| kept.access_token()).map(|token| self.sent(token))),
        }
    }

    /// Another token than the one that was refused.
    pub async fn answer(&self, challenge: Challenge<'_>) -> Result<String, Unauthorized> {
        self.check_address()?;
        let mut answered = self.answering.lock().await;
        let kept = self.load().await?;
        if let Some(newer) = newer(kept.as_ref(), challenge.refused) {
            return Ok(newer);
        }
        let kept = match challenge.status == FORBIDDEN {
            true => self.extended(kept, challenge, &mut answered).await?,
            false => self.replaced(kept, challenge).await?,
        };
        kept.access_token().ok_or_else(|| failed("the authorization server gave no token"))
    }

    /// Logs in anew, whatever is kept; with these scopes besides those that were granted.
    pub async fn login(&self, scopes: &[String]) -> Result<(), Unauthorized> {
        self.check_address()?;
        let _one = self.answering.lock().await;
        let kept = self.load().await?;
        let scopes = if scopes.is_empty() { Vec::new() } else { union(granted(kept.as_ref()), scopes) };
        self.obtain(kept, None, scopes).await.map(drop)
    }

    /// Forgets the tokens for this server; says whether there were any.
    pub fn logout(&self) -> io::Result<bool> {
        self.tokens.remove(self.url.as_str())
    }

    /// Whether there are tokens for this server.
    pub fn is_logged_in(&self) -> io::Result<bool> {
        Ok(self.tokens.load(self.url.as_str())?.is_some_and(|kept| kept.access_token().is_some()))
    }

    /// The token as it is sent, remembered so that it is known when the server repeats it.
    fn sent(&self, token: String) -> String {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if !sent.contains(&token) {
            sent.push_front(token.clone());
            sent.truncate(REMEMBERED);
        }
        token
    }

    /// After 401: renewed, if that was not tried yet; otherwise new.
    async fn replaced(&self, kept: Option<Kept>, challenge: Challenge<'_>) -> Result<Kept, Unauthorized> {
        if challenge.before == 0
            && let Some(renewed) = self.renewed(header(challenge), challenge.refused).await?
        {
            return Ok(renewed);
        }
        self.obtain(kept, header(challenge), Vec::new()).await
    }

    /// After 403: with what was granted and what is wanted now. Whoever was given what they wanted and refuses still wants
    /// something else.
    async fn extended(
        &self,
        kept: Option<Kept>,
        challenge: Challenge<'_>,
        answered: &mut Answered,
    ) -> Result<Kept, Unauthorized> {
        let said = WWWAuthenticateParams::parse(challenge.header, &self.url);
        let Some(scope) = said.scope.filter(|_| said.error.as_deref() != Some("invalid_token")) else {
            return Err(failed(format!("{} refuses, and does not say what it wants", self.server)));
        };
        if answered.wanted.len() >= MOST_WANTED || !answered.wanted.insert(scope.clone()) {
            let words = format!("{} refuses although it was asked for what it wants ({scope})", self.server);
            return Err(failed(words));
        }
        let wanted: Vec<String> = scope.split_whitespace().map(str::to_owned).collect();
        let scopes = union(granted(kept.as_ref()), &wanted);
        self.obtain(kept, header(challenge), scopes).await
    }

    /// New tokens for the kept refresh token; `None` if there is none that is taken. One process does it, the others get what it got.
    async fn renewed(
        &self,
        challenge: Option<&str>,
        refused: Option<&str>,
    ) -> Result<Option<Kept>, Unauthorized> {
        let _lock = self.locked().await?;
        let Some(kept) = self.load().await? else { return Ok(None) };
        let is_news = match refused {
            Some(_) => newer(Some(&kept), refused).is_some(),
            None => !kept.has_ended(),
        };
        if is_news {
            return Ok(Some(kept));
        }
        if kept.refresh_token().is_none() {
            return Ok(None);
        }
        let flow = self.discover(challenge).await?;
        if !flow.gave(&kept) {
            return Ok(None);
        }
        match flow.renew(&kept).await? {
            Some(renewed) => self.save(renewed).await.map(Some),
            None => Ok(None),
        }
    }

    /// New tokens from a person, or for our own secret. Empty `scopes`: what the user has set, or what the server says.
    async fn obtain(
        &self,
        kept: Option<Kept>,
        challenge: Option<&str>,
        scopes: Vec<String>,
    ) -> Result<Kept, Unauthorized> {
        let scopes = if scopes.is_empty() { self.identity.scopes.clone() } else { scopes };
        if self.identity.grant == Grant::ClientCredentials {
            let got = self.discover(challenge).await?.present(&self.identity, scopes).await?;
            return self.save(got).await;
        }
        let Some(visitor) = &self.visitor else {
            let scopes: Vec<String> =
                scopes.into_iter().filter(|scope| !granted(kept.as_ref()).contains(scope)).collect();
            return Err(Unauthorized::LoginNeeded { server: self.server.clone(), scopes });
        };
        let flow = self.discover(challenge).await?;
        // A registration is for the authorization server where it was made.
        let known = kept.filter(|kept| flow.gave(kept)).map(|kept| kept.client);
        let got = flow.ask(&self.identity, known, scopes, &**visitor).await?;
        self.save(got).await
    }

    async fn discover(&self, challenge: Option<&str>) -> Result<Flow, Unauthorized> {
        Flow::discover(&self.url, self.reach, Arc::clone(&self.errands), challenge).await
    }

    /// A token is sent with every request: not in the clear, but on this machine or the user's own network.
    fn check_address(&self) -> Result<(), Unauthorized> {
        self.reach.objection(&self.url).map_or(Ok(()), |objection| Err(failed(objection)))
    }

    async fn load(&self) -> Result<Option<Kept>, Unauthorized> {
        self.with_tokens(|tokens, resource| tokens.load(resource)).await
    }

    async fn save(&self, kept: Kept) -> Result<Kept, Unauthorized> {
        self.with_tokens(|tokens, _| tokens.save(kept.clone()).map(|()| kept)).await
    }

    async fn locked(&self) -> Result<Option<std::fs::File>, Unauthorized> {
        self.with_tokens(|tokens, resource| tokens.lock(resource)).await
    }

    /// Files are not waited for on a thread that serves others.
    async fn with_tokens<T: Send + 'static>(
        &self,
        work: impl FnOnce(&TokenStore, &str) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Unauthorized> {
        let (tokens, resource) = (self.tokens.clone(), self.url.to_string());
        let done = tokio::task::spawn_blocking(move || work(&tokens, &resource)).await;
        done.map_err(io::Error::other).flatten().map_err(|err| failed(format!("the kept tokens: {err}")))
    }
}

impl Tokens for Authorizer {
    fn token(&self) -> BoxFuture<'_, Option<String>> {
        // Why there is none is said when the server is not content with that.
        Box::pin(async { Authorizer::token(self).await.ok().flatten() })
    }

    fn challenged<'a>(&'a self, challenge: Challenge<'a>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.answer(challenge).await.map(drop).map_err(|err| err.to_string()) })
    }

    fn hide(&self, text: &mut String) {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        for token in sent.iter().filter(|token| token.len() >= SHORTEST) {
            if text.contains(token.as_str()) {
                *text = text.replace(token.as_str(), "[redacted: token]");
            }
        }
    }
}

/// What a challenge says; servers may say nothing.
fn header(challenge: Challenge<'_>) -> Option<&str> {
    Some(challenge.header).filter(|header| !header.is_empty())
}

/// How many tokens are remembered: older ones have ended long ago.
const REMEMBERED: usize = 8;
/// Shorter tokens would be found in every text.
const SHORTEST: usize = 8;

/// The kept token, if it is another one than the one that was refused.
fn newer(kept: Option<&Kept>, refused: Option<&str>) -> Option<String> {
    let token = kept?.access_token()?;
    (refused != Some(token.as_str()) && !kept?.has_ended()).then_some(token)
}

fn granted(kept: Option<&Kept>) -> Vec<String> {
    kept.map(|kept| kept.credentials.granted_scopes.clone()).unwrap_or_default()
}

fn union(mut scopes: Vec<String>, more: &[String]) -> Vec<String> {
    for scope in more {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    scopes
}

/// Without what is secret.
impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer").field("server", &self.server).finish_non_exhaustive()
    }
}

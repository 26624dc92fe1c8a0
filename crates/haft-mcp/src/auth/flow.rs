//! One run of the protocol: from what a server says of its authorization server to a token.

use std::{sync::Arc, time::Duration};

use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, ClientCredentialsConfig, CredentialStore,
    InMemoryCredentialStore, OAuthClientConfig,
};
use url::Url;

use super::{
    Identity, Visitor,
    authorizer::{Unauthorized, failed},
    errands::Errands,
    reach::Reach,
    tokens::{Client, Kept},
    visit::PATIENCE,
};

/// How we call ourselves where we have to register.
const NAME: &str = "haft";
/// All of discovery: many requests, each of which has its own limit.
const DISCOVERY: Duration = Duration::from_secs(60);

/// A run for one server.
pub(super) struct Flow {
    url: Url,
    reach: Reach,
    manager: AuthorizationManager,
    issuer: Option<String>,
    has_client_documents: bool,
    /// Where the protocol leaves what it got.
    gains: InMemoryCredentialStore,
}

impl Flow {
    /// Finds the server's authorization server, beginning with what its challenge says.
    pub(super) async fn discover(
        url: &Url,
        reach: Reach,
        errands: Arc<Errands>,
        challenge: Option<&str>,
    ) -> Result<Flow, Unauthorized> {
        let mut manager =
            AuthorizationManager::new_with_oauth_http_client(url.clone(), errands).await.map_err(wrong)?;
        let gains = InMemoryCredentialStore::new();
        manager.set_credential_store(gains.clone());
        let found = tokio::time::timeout(DISCOVERY, manager.resolve_metadata_from_challenge(challenge)).await;
        let metadata = found.map_err(|_| failed("its authorization server was not found in time"))?;
        let metadata = metadata.map_err(wrong)?.metadata;
        let issuer = metadata.issuer.clone();
        let supported = metadata.additional_fields.get("client_id_metadata_document_supported");
        let has_client_documents = supported.and_then(|value| value.as_bool()).unwrap_or(false);
        manager.set_metadata(metadata);
        Ok(Flow { url: url.clone(), reach, manager, issuer, has_client_documents, gains })
    }

    /// Whether tokens are from the authorization server that was found. Another one must not see them.
    pub(super) fn gave(&self, kept: &Kept) -> bool {
        kept.credentials.issuer == self.issuer
    }

    /// New tokens for an old refresh token; `None` if it is not taken any more.
    pub(super) async fn renew(mut self, kept: &Kept) -> Result<Option<Kept>, Unauthorized> {
        self.configure(&kept.client)?;
        self.gains.save(kept.credentials.clone()).await.map_err(wrong)?;
        match self.manager.refresh_token().await {
            Ok(_) => self.gained(kept.client.clone()).await.map(Some),
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(None),
            Err(err) => Err(wrong(err)),
        }
    }

    /// Sends a person to the authorization server. `scopes`: instead of what the server says.
    pub(super) async fn ask(
        mut self,
        identity: &Identity,
        known: Option<Client>,
        scopes: Vec<String>,
        visitor: &dyn Visitor,
    ) -> Result<Kept, Unauthorized> {
        let scopes = if scopes.is_empty() { self.manager.select_initial_scopes(&[]).await } else { scopes };
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let client = self.client(identity, known, &visitor.redirect_uri(), &scopes).await?;
        self.configure(&client)?;
        let address = self.manager.get_authorization_url(&scopes).await.map_err(wrong)?;
        self.check(&address)?;
        let back = tokio::time::timeout(PATIENCE, visitor.visit(&address)).await;
        let back = back.map_err(|_| failed("nobody came back from the authorization server in time"))?;
        let callback = callback(&back.map_err(failed)?)?;
        let exchange = self.manager.exchange_code_for_token_with_issuer(
            &callback.code,
            &callback.csrf_token,
            callback.issuer.as_deref(),
        );
        exchange.await.map_err(wrong)?;
        self.gained(client).await
    }

    /// A token for our own id and secret.
    pub(super) async fn present(
        mut self,
        identity: &Identity,
        scopes: Vec<String>,
    ) -> Result<Kept, Unauthorized> {
        let (Some(id), Some(secret)) = (identity.client_id.clone(), identity.client_secret.clone()) else {
            return Err(failed("client credentials need both `client_id` and `client_secret`"));
        };
        let scopes = if scopes.is_empty() { self.manager.select_initial_scopes(&[]).await } else { scopes };
        let client = Client { id: id.clone(), secret: Some(secret.clone()), redirect: self.url.to_string() };
        let resource = Some(self.resource().await?);
        let credentials =
            ClientCredentialsConfig::ClientSecret { client_id: id, client_secret: secret, scopes, resource };
        self.manager.validate_client_credentials_metadata(&credentials).map_err(wrong)?;
        self.manager.configure_client_credentials(&credentials).map_err(wrong)?;
        self.manager.exchange_client_credentials(&credentials).await.map_err(wrong)?;
        self.gained(client).await
    }

    /// What the token is for, as the server calls itself. It is known only to the address that people would be sent to.
    async fn resource(&mut self) -> Result<String, Unauthorized> {
        self.manager.configure_client_id("unused").map_err(wrong)?;
        let address = self.manager.get_authorization_url(&[]).await.map_err(wrong)?;
        let address = Url::parse(&address).map_err(failed)?;
        let resource = address.query_pairs().find(|(name, _)| name == "resource");
        Ok(resource.map_or_else(|| self.url.to_string(), |(_, value)| value.into_owned()))
    }

    /// Who we are: as the user says, by a published document, as we are known already, or newly registered.
    async fn client(
        &mut self,
        identity: &Identity,
        known: Option<Client>,
        redirect: &str,
        scopes: &[&str],
    ) -> Result<Client, Unauthorized> {
        let redirect = redirect.to_owned();
        if let Some(id) = identity.client_id.clone() {
            return Ok(Client { id, secret: identity.client_secret.clone(), redirect });
        }
        if let Some(document) = identity.client_metadata_url.clone().filter(|_| self.has_client_documents) {
            return Ok(Client { id: document, secret: None, redirect });
        }
        if let Some(known) = known.filter(|known| known.redirect == redirect) {
            return Ok(known);
        }
        let registered = self.manager.register_client(NAME, &redirect, scopes).await.map_err(unregistered)?;
        Ok(Client { id: registered.client_id, secret: registered.client_secret, redirect })
    }

    fn configure(&mut self, client: &Client) -> Result<(), Unauthorized> {
        let mut config = OAuthClientConfig::new(&client.id, &client.redirect);
        config.client_secret.clone_from(&client.secret);
        self.manager.configure_client(config).map_err(wrong)
    }

    /// Where a person is sent is named by strangers: no program may be hidden behind it, and no machine of the user's.
    fn check(&self, address: &str) -> Result<(), Unauthorized> {
        let address = Url::parse(address).map_err(failed)?;
        self.reach.objection(&address).map_or(Ok(()), |objection| Err(failed(objection)))
    }

    async fn gained(self, client: Client) -> Result<Kept, Unauthorized> {
        let credentials = self.gains.load().await.map_err(wrong)?;
        let credentials = credentials.ok_or_else(|| failed("the authorization server gave no token"))?;
        Ok(Kept::new(self.url.as_str(), client, credentials))
    }
}

/// What somebody came back with: a code, or why there is none.
fn callback(back: &str) -> Result<AuthorizationCallback, Unauthorized> {
    let address = Url::parse(back).map_err(failed)?;
    let find = |wanted: &str| {
        address.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
    };
    if let Some(error) = find("error") {
        let more = find("error_description").map(|words| format!(" ({words})")).unwrap_or_default();
        return Err(failed(format!("the authorization server refused: {error}{more}")));
    }
    AuthorizationCallback::from_redirect_url(back).map_err(wrong)
}

fn unregistered(err: AuthError) -> Unauthorized {
    failed(format!("{err}. Register haft there by hand and set `client_id` under [mcp.servers.NAME.auth]"))
}

fn wrong(err: AuthError) -> Unauthorized {
    failed(err)
}

//! Who we are to an authorization server, as far as the user has said so.

use std::fmt;

/// How a token is got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grant {
    /// A person says yes at the authorization server.
    #[default]
    Person,
    /// The client's own id and secret are enough: for machines.
    ClientCredentials,
}

/// What is known of ourselves. Nothing, by default: then we register ourselves, where that is offered.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// The id under which we are known.
    pub client_id: Option<String>,
    /// The secret that goes with it.
    pub client_secret: Option<String>,
    /// Where a document about us is published; it is our id at authorization servers that read such documents.
    pub client_metadata_url: Option<String>,
    /// What to ask for, instead of what the server says.
    pub scopes: Vec<String>,
    /// How a token is got.
    pub grant: Grant,
    /// Whether authorization servers may be at private addresses.
    pub allow_private: bool,
}

/// Without the secret.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { client_id, client_secret, client_metadata_url, scopes, grant, allow_private } = self;
        f.debug_struct("Identity")
            .field("client_id", client_id)
            .field("client_secret", &client_secret.as_ref().map(|_| "…"))
            .field("client_metadata_url", client_metadata_url)
            .field("scopes", scopes)
            .field("grant", grant)
            .field("allow_private", allow_private)
            .finish()
    }
}

//! Tokens for servers that want to know who asks: an OAuth 2.1 client.
//!
//! A server says that it wants a token when it is asked without one (401), or that a token is for too little (403); an
//! [`Authorizer`] answers such a [`Challenge`](crate::client::Challenge): with a token that is kept, with a new one for an old
//! refresh token, or by
//! sending a person to the authorization server ([`Visitor`]). The protocol itself (discovery, registration, PKCE, the checks
//! of the issuer) is rmcp's; here is what it must not decide: which addresses are contacted (`errands.rs`), where
//! tokens are kept ([`TokenStore`]), who is sent where, and that a token goes to nobody but the server that it is for.
//!
//! Nothing here writes a token anywhere but into its file: errors and `Debug` have none.

mod reach; //       which addresses may be contacted
mod errands; //     the HTTP client of the flow
mod tokens; //      where tokens are kept
mod visit; //       the person at the authorization server
mod identity; //    who we are to an authorization server
mod authorizer; //  a challenge, and the token that answers it
mod flow; //        from discovery to a token

pub use authorizer::{Authorizer, Unauthorized};
pub use identity::{Grant, Identity};
pub use tokens::TokenStore;
pub use visit::{Loopback, Visitor};

//! One connection to one server.
//!
//! A [`Server`] says how it is reached, a [`Connection`] is what comes of it: requests go out as JSON and come back as JSON,
//! whatever the transport and whichever era the server is of. What the server asks or tells in between goes to a [`Desk`].

mod server; //      how a server is reached
mod desk; //        where its questions and its news arrive
mod connection; //  requests and answers
mod handshake; //   the first words
mod peer; //        which requests wait, and who hears what comes
mod later; //       what comes when an answer is long there
mod wishes; //      what a server wants to know
mod visits; //      what a server wants somebody to visit first
mod tasks; //       work that goes on after the answer
mod older_tasks; // the same in the older era
mod pages; //       lists that come in pages

pub use crate::wire::depth;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub use crate::wire::soup;
pub use connection::{About, ConnectError, Connection, Era, Listening, Listing, Refused, RequestOptions};
pub use desk::{Desk, News, NobodysDesk, Wish};
pub(crate) use later::VISITED;
pub use server::{Bridge, Challenge, Limits, Selection, Server, Tokens, Transport};
pub(crate) use tasks::knows_tasks;
pub(crate) use visits::shows_addresses;

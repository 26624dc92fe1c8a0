//! Takes secrets out of text, so that what is shown, sent and kept does not hold them.
//!
//! Two kinds of secrets are found: those whose *value* is known (variables of the environment, settings) also in their
//! usual encodings, and those whose *form* gives them away (`ghp_…`, `password=…`, `https://user:pass@…`, a private key).
//! What only looks like one stays: placeholders, references to variables, paths, code, hashes.
//!
//! It is a crate because people use it alone, and because it keeps `regex` away from the contract.
//! Not here: reading the environment, files, settings. Whoever has them passes them in.
//!
//! ```
//! use haft_redact::Redactor;
//!
//! let redactor = Redactor::builder().secret("tr0ub4dor&3").build();
//! let redacted = redactor.redact("login with tr0ub4dor&3 at postgres://app:Zq7-Wm3-Kp9@db/app");
//! assert_eq!(
//!     redacted.text,
//!     "login with [redacted: known secret] at postgres://app:[redacted: password]@db/app"
//! );
//! assert_eq!(redacted.found.count(), 2);
//! ```
//!
//! How it works: text is cut into blocks of whole lines (`block`, `stream`). One pass over a block finds where something
//! *could* be (`scan`, by all beginnings and key words at once); at each such place the matcher of that kind looks
//! at its line and says from where to where the secret goes. No matcher looks over the end of its line, but for private
//! keys; that is what makes a stream give the same text as the whole, however it is cut.

mod redactor; //  the front door: what is known, and text in, text out
mod found; //     what was found, and what stands in its place
mod hidden; //    where in a text are they?
mod marks; //     what stands in its place, found again
mod fragments; // parts of values that were hidden elsewhere
mod stream; //    text that comes in pieces
mod json; //      values with strings in them
mod block; //     whole lines in, text without secrets out
mod scan; //      where could something be?
mod grams; //     many short patterns at once
mod kinds; //     the table of tokens that are known by their beginning
mod form; //      what follows the beginning of a token
mod token; //     is it one of these?
mod assigned; //  `password = value`, `--token value`, `<password>value</password>`
mod names; //     is this the name of a secret?
mod value; //     does this look like the value of one?
mod words; //     does this read as names, or is it random?
mod web; //       user and password in an address, Authorization, Cookie
mod login; //     a user and a password that a call or a program is told
mod terminal; //  what is typed: `-p` options, .netrc, .pgpass, SQL
mod pem; //       private keys, over many lines
mod body; //      the inside of private keys, when their beginning is not in sight
mod table; //     a name above, and its values below
mod veiled; //    tokens that are written in another way
mod known; //     values that are known, and how else they are written

pub use found::Found;
pub use fragments::Fragments;
pub use marks::{Mark, marks};
pub use names::is_secret_name;
pub use redactor::{Builder, Redacted, Redactor};
pub use stream::Stream;

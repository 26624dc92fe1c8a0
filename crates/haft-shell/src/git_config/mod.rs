//! Settings of git, by key: which changes are harmless, and which can run or redirect something.
//!
//! Git changes `.git/config` in ordinary work: `git checkout -b x origin/y`, `git remote add`, `git push -u`. The same file
//! names programs (`core.fsmonitor`, `alias.*`). So a change is judged key by key, by a list of what is harmless.
//! A key that is not listed is powerful, and so is a file that cannot be read.
//!
//! The functions are pure: bytes in, judgements out; only [`named_places`] reads files. The reader agrees with git's own (`config.c`), which tests compare
//! with the installed one. What it refuses more than git: bytes that are zero, and files over [`FILE_BYTES_LIMIT`].

mod compare; //  two files → the keys that differ
mod harmless; // the list of harmless keys and values
mod named; //    the places that settings name as code
mod read; //     bytes → keys and values, as git reads them
mod revert; //   takes back the powerful changes only
mod url; //      whether an address makes git run a program

#[cfg(test)]
mod tests;

pub use compare::{KeyChange, compare, compare_in};
pub use harmless::{is_harmless, is_harmless_removal};
pub use named::named_places;
pub use read::{Entry, FILE_BYTES_LIMIT, Unreadable, normalize_key, read};
pub use revert::revert;
pub use url::is_harmless_url;

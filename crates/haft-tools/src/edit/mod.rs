//! `Edit`: replaces a passage of a text file.
//!
//! Text in, text out: nothing here opens a file or knows a tool. Read `matching` first, it has the order in which a
//! passage is looked for. Whether it is found is never a matter of how similar it is: each step forgives one kind of
//! difference that cannot change what is meant, and only if one place is left.

mod matching; //    where does the passage stand, and what replaces it?
mod request; //     what did the model mean to copy? (line numbers, escapes, blank lines around)
mod view; //        the file with some differences taken out, and the way back
mod merge; //       the new passage, with the file's bytes where the model changed nothing
mod indent; //      the new lines in the file's own indentation
mod typography; //  the same character written in two ways
mod nearest; //     what is there instead?

#[cfg(test)]
mod tests;

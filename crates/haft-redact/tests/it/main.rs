//! What comes out of the front door.

mod assigning; // every way in which a name gets its value
mod keys; //     private keys behind margins
mod forms; //    what is taken out, and what stays
mod streams; //  pieces and wholes, once and twice
mod hostile; //  time, whatever the text is made of
mod places; //  fallbacks, arguments behind a user, what is piped
mod shapes; //   what programs print, and what looks like it

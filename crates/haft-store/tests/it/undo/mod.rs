//! Calls of the real tools are taken back, and made again.

mod room; //     where it happens
mod cases; //    what is taken back
mod refused; //  what is not
mod random; //   whatever is done

//! The dialects as their APIs see them: golden files, the vendors' own types, and whatever bytes there are.

mod table; //       the results and tools that all tests share
mod calls; //       what is read from a model's message
mod golden; //      what goes back, for people to read
mod properties; //  what holds for any JSON
mod wire; //        what the vendors' SDKs say to it
mod streams; //     what is read from answers while they come
mod chunks; //      what holds for any bytes, cut anywhere
mod requests; //    what is sent, and what of it stays the same
mod back; //        what goes back to whoever said it, and in which form
mod client; //      HTTP, with a scripted model
mod real; //        HTTP, with a real one

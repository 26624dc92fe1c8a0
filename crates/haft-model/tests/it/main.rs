//! The dialects as their APIs see them: golden files, the vendors' own types, and whatever JSON there is.

mod table; //       the results and tools that all tests share
mod calls; //       what is read from a model's message
mod golden; //      what goes back, for people to read
mod properties; //  what holds for any JSON
mod wire; //        what the vendors' SDKs say to it

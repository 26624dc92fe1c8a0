//! What a collector gets of a program that runs calls.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod collector; //  a collector that keeps what it is sent
mod library; //    spans and metrics of turns
mod lasting; //    collectors that are not there, or do not answer

//! haft as a server: clients of both eras, in front of haft's own tools and of servers of both eras.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod kit; //      a door, and a client that writes line by line
mod own; //      haft's own tools
mod asking; //   the person at the client
mod behind; //   servers behind the door
mod hearing; //  who hears of changes
mod tasks; //    work that outlives its request
mod visits; //   pages that servers want visited
mod http; //     clients by HTTP
mod life; //     when sessions begin and end
mod observing; // who hears of requests
mod identity; // two tokens, and what each of them has

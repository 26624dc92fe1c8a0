//! haft-mcp from outside.

mod auth; //     tokens for servers that want to know who asks
mod bridges; //  a server in this process, written line by line
mod client; //   requests, answers, and everything in between
mod tasks; //    servers that answer with a task
mod older_tasks; // the same in the older era
mod visits; //   servers that send somebody to a page
mod quirks; //   servers that misbehave
mod upstream; // servers over time
mod real; //     servers from the registries
mod web; //      a web server in this process
mod http; //     HTTP and WebSockets
mod door; //     haft as a server

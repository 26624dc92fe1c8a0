//! A server that has what the conformance suite asks for, in both eras of the protocol.
//!
//! It is what haft's door and gateway are put in front of: what fails behind them and not here is haft's fault.
//! `--listen ADDRESS` serves streamable HTTP and prints where; with `--door` haft's own door is in front of it. Without either,
//! stdin and stdout are the wire.

#![expect(clippy::print_stdout, reason = "whoever starts it reads the address there")]

mod definitions; // what it lists
mod contents; //    what it returns
mod questions; //   what it asks back
mod rounds; //      how a question reaches a client of either era
mod work; //        what takes time
mod fixture; //     the server
mod behind_door; // the server behind haft's door

use std::{error::Error, sync::Arc};

use rmcp::{
    ServiceExt,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tokio::net::TcpListener;

use fixture::Fixture;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => runtime.block_on(stdio()),
        ["--listen", address] => runtime.block_on(async { listen(bind(address).await?).await }),
        ["--door", "--listen", address] => {
            runtime.block_on(async { behind_door::listen(bind(address).await?).await })
        }
        _ => Err("usage: conformance_server [[--door] --listen ADDRESS]".into()),
    }
}

async fn stdio() -> Result<(), Box<dyn Error>> {
    let wire = (tokio::io::stdin(), tokio::io::stdout());
    Fixture::new().serve(wire).await?.waiting().await?;
    Ok(())
}

async fn bind(address: &str) -> Result<TcpListener, Box<dyn Error>> {
    let listener = TcpListener::bind(address).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    Ok(listener)
}

async fn listen(listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let fixture = Fixture::new();
    let config = StreamableHttpServerConfig::default().with_allowed_origins([
        "http://localhost:*",
        "http://127.0.0.1:*",
        "http://[::1]:*",
    ]);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(fixture.clone()), sessions, config);
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}

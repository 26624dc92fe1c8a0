//! The same server behind haft's door, in one process: what differs from the bare server is the door's doing.

use std::{error::Error, sync::Arc};

use haft_engine::{Engine, SessionOptions, policy::Mode};
use haft_mcp::{
    client::{Bridge, Server, Transport},
    server::{Door, DoorOptions, Elicitor, HttpOptions},
    upstream::{Options, Upstreams},
};
use rmcp::ServiceExt;
use tokio::{io::DuplexStream, net::TcpListener};

use crate::fixture::Fixture;

/// Serves it until the process ends.
pub(crate) async fn listen(listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let upstreams = Upstreams::new(vec![behind(Fixture::new())], Options::default());
    let mut builder = Engine::builder().asker(Elicitor).tools(upstreams.resource_tools());
    for source in upstreams.sources() {
        builder = builder.source(source);
    }
    // Nobody is asked: it is the protocol that is tested, not the policy.
    let session = SessionOptions { mode: Mode::Bypass, ..SessionOptions::at(std::env::temp_dir()) };
    let options = DoorOptions {
        engine: builder.build()?,
        session,
        upstreams: Some(upstreams),
        only: Some("up".to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        observer: None,
    };
    Ok(Door::new(options).listen(listener, HttpOptions::default()).await?)
}

fn behind(fixture: Fixture) -> Server {
    let bridge = Bridge::new(move || connect(fixture.clone()));
    Server { may_sample: true, ..Server::new("up", Transport::Bridge(bridge)) }
}

/// Each connection is a session of its own.
fn connect(fixture: Fixture) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let fixture = Arc::new(fixture);
    tokio::spawn(async move {
        // A connection that breaks is seen at the other end.
        if let Ok(running) = fixture.serve(theirs).await {
            let _ = running.waiting().await;
        }
    });
    ours
}

//! From one side to the other.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    thread,
    time::Duration,
};

/// A connection on which nobody has said anything for so long is over.
const SILENCE: Duration = Duration::from_secs(600);

/// Passes on what each side says, until both have ended or one is lost.
pub(super) fn both_ways(client: TcpStream, server: TcpStream) -> io::Result<()> {
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_nodelay(true)?;
    }
    let (from_client, to_client) = (client.try_clone()?, client);
    let (from_server, to_server) = (server.try_clone()?, server);
    let there = thread::Builder::new().name("haft-proxy-relay".to_owned());
    let there = there.spawn(move || one_way(from_client, to_server))?;
    one_way(from_server, to_client);
    let _ = there.join();
    Ok(())
}

fn one_way(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 << 10];
    loop {
        match from.read(&mut buffer) {
            // An end is passed on; the other direction may have more to say.
            Ok(0) => return drop(to.shutdown(Shutdown::Write)),
            Ok(count) if to.write_all(&buffer[..count]).is_ok() => {}
            _ => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

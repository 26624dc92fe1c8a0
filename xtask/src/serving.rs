//! Servers as processes: started on a free port, spoken to at the address that they print, ended with the value.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Sender},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};

use crate::haft::Haft;

/// A process that serves at an address. It is killed when this is dropped.
pub(crate) struct Serving {
    /// As the process printed it.
    pub(crate) address: String,
    child: Child,
}

/// How long a server may take until it listens. Python on a busy machine takes long.
const PATIENCE: Duration = Duration::from_secs(120);

impl Serving {
    /// Starts it and waits until it says where it serves, on stdout or on stderr.
    pub(crate) fn start(command: &mut Command) -> Result<Serving> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let (tx, rx) = mpsc::channel();
        listen(child.stdout.take(), &tx);
        listen(child.stderr.take(), &tx);
        drop(tx);
        let mut serving = Serving { address: String::new(), child };
        serving.address =
            rx.recv_timeout(PATIENCE).with_context(|| format!("{command:?} did not say where it serves"))?;
        Ok(serving)
    }

    /// Starts one that serves at a port which it is given, and does not say so in words that we know.
    pub(crate) fn start_at(command: &mut Command, port: u16, address: String) -> Result<Serving> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("{command:?}"))?;
        let serving = Serving { address, child };
        wait_for(port).with_context(|| format!("{command:?} does not listen"))?;
        Ok(serving)
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // One that has ended already is as dead as it can be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads to the end, so that nobody waits for us, and passes on the addresses.
fn listen(stream: Option<impl Read + Send + 'static>, tx: &Sender<String>) {
    let (Some(stream), tx) = (stream, tx.clone()) else { return };
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if let Some(address) = address_in(&line) {
                // Only the first one is waited for.
                let _ = tx.send(address.to_owned());
            }
        }
    });
}

fn address_in(line: &str) -> Option<&str> {
    let start = line.find("http://")?;
    let word = line[start..].split(|c: char| c.is_whitespace() || c == ';' || c == ',').next()?;
    Some(word.trim_end_matches('.'))
}

fn wait_for(port: u16) -> Result<()> {
    let step = Duration::from_millis(50);
    let mut last = None;
    for _ in 0..PATIENCE.as_millis() / step.as_millis() {
        match std::net::TcpStream::connect(("127.0.0.1", port)) {
            Ok(_) => return Ok(()),
            Err(err) => last = Some(err),
        }
        thread::sleep(step);
    }
    Err(last.context("no time to try")?.into())
}

/// A port that nobody has at this moment. Somebody may take it before we do: who starts a server there sees that.
pub(crate) fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// haft as a gateway in front of one server, as if clients spoke to that.
pub(crate) fn gateway(haft: &Haft, home: &Path, upstream: &str) -> Result<Serving> {
    let settings = home.join(".config/haft");
    fs::create_dir_all(&settings)?;
    fs::write(
        settings.join("haft.toml"),
        format!("[mcp.servers.up]\nurl = {upstream:?}\nsampling = true\n"),
    )?;
    let words = ["mcp", "--mode", "bypass", "--only", "up", "--listen", "127.0.0.1:0", "--no-token"];
    Serving::start(&mut haft.command(home, &words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_what_servers_say() {
        for (line, expected) in [
            ("http://127.0.0.1:80/mcp", Some("http://127.0.0.1:80/mcp")),
            ("serving http://127.0.0.1:80/mcp; the token is in x", Some("http://127.0.0.1:80/mcp")),
            ("Listening on http://localhost:80/sse.", Some("http://localhost:80/sse")),
            ("started", None),
        ] {
            assert_eq!(address_in(line), expected, "{line}");
        }
    }
}

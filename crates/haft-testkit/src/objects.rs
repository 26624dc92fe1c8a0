//! An S3-compatible object store for tests: moto's server, on a port of this machine.

use std::{
    env,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::OnceLock,
    time::Duration,
};

use crate::service::{Service, directory, until};

/// A server that is gone when it is dropped, or when the tests end.
#[derive(Debug)]
pub struct Objects {
    service: Service,
    port: u16,
}

impl Objects {
    /// One server for all tests of a binary. Where it cannot be had, the reason is printed and the test has nothing to do.
    pub fn shared() -> Option<&'static Objects> {
        static SHARED: OnceLock<Result<Objects, String>> = OnceLock::new();
        SHARED.get_or_init(Objects::start).as_ref().map_err(|why| skipped(why)).ok()
    }

    /// A server of one's own, to be halted.
    pub fn own() -> Option<Objects> {
        Objects::start().map_err(|why| skipped(&why)).ok()
    }

    fn start() -> Result<Objects, String> {
        let program =
            program().ok_or("there is no moto_server here; `pip install moto[server]` brings it")?;
        let port = free_port().map_err(|err| err.to_string())?;
        let directory = directory(None).map_err(|err| err.to_string())?;
        let words = [&*program.to_string_lossy(), "-H", "127.0.0.1", "-p", &port.to_string()];
        let service = Service::start(&directory, None, "KILL", &words).map_err(|err| err.to_string())?;
        let objects = Objects { service, port };
        if !until(|| objects.asked("GET", "/").is_some()) {
            return Err(format!("the server does not start: {}", objects.service.log()));
        }
        Ok(objects)
    }

    /// Where it listens.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What a process needs to know to use it.
    pub fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", self.endpoint()),
            ("AWS_ALLOW_HTTP", "true".into()),
            ("AWS_ACCESS_KEY_ID", "haft-test".into()),
            ("AWS_SECRET_ACCESS_KEY", "haft-test-secret".into()),
            ("AWS_DEFAULT_REGION", "us-east-1".into()),
        ]
    }

    /// Makes a bucket.
    pub fn bucket(&self, name: &str) {
        let answer = self.asked("PUT", &format!("/{name}")).unwrap_or_default();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Ends the server at once. What it held is gone.
    pub fn halt(&self) {
        self.service.halt();
    }

    /// A request without a client: the server asks for no signature.
    fn asked(&self, method: &str, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        (!answer.is_empty()).then(|| String::from_utf8_lossy(&answer).into_owned())
    }
}

#[expect(clippy::print_stderr, reason = "whoever reads a test's output learns what was not tested")]
fn skipped(why: &str) {
    eprintln!("skipped: no S3-compatible server: {why}");
}

pub(crate) fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Where `.ci/run` puts it, or on the path.
fn program() -> Option<PathBuf> {
    let kept = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/haft/moto/bin"));
    let on_path = env::var_os("PATH").unwrap_or_default();
    let places = kept.into_iter().chain(env::split_paths(&on_path));
    places.map(|place| place.join("moto_server")).find(|program| program.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_buckets_and_leaves_nothing() {
        let Some(server) = Objects::own() else { return };
        let directory = server.service.directory.clone();
        server.bucket("results");
        assert!(server.asked("GET", "/results").is_some_and(|answer| answer.contains("ListBucketResult")));
        drop(server);
        assert!(!directory.exists());
    }
}

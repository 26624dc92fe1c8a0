//! Servers of a few lines for what cannot run here: a Docker engine, a package registry, a person's own development server.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    os::unix::net::UnixListener,
    path::Path,
    thread,
};

use anyhow::Result;
use serde_json::{Value, json};

/// An answer: its type and its bytes.
type Page = (&'static str, Vec<u8>);

/// Serves `/` as a development server would, and a registry with one package. Gives the port.
pub(super) fn serve_http(tarball: &[u8]) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let tarball = tarball.to_vec();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tarball = tarball.clone();
            thread::spawn(move || serve(&stream, &stream, |path| registry_page(path, port, &tarball)));
        }
    });
    Ok(port)
}

fn registry_page(path: &str, port: u16, tarball: &[u8]) -> Option<Page> {
    match path {
        "/" => Some(("text/plain", b"the development server\n".to_vec())),
        "/greet" => {
            let place = format!("http://127.0.0.1:{port}/greet/-/greet-1.0.0.tgz");
            let version = json!({ "name": "greet", "version": "1.0.0", "main": "index.js", "dist": { "tarball": place } });
            Some(page(&json!({
                "name": "greet", "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": version }
            })))
        }
        "/greet/-/greet-1.0.0.tgz" => Some(("application/octet-stream", tarball.to_vec())),
        _ => None,
    }
}

/// Serves what `docker version`, `docker ps` and `docker images` ask an engine.
pub(super) fn serve_docker(socket: &Path) -> Result<()> {
    let listener = UnixListener::bind(socket)?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(&stream, &stream, docker_page));
        }
    });
    Ok(())
}

fn docker_page(path: &str) -> Option<Page> {
    let path = path.split('?').next()?;
    let rest = path.strip_prefix("/v1.").and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    match rest.unwrap_or(path) {
        "/_ping" => Some(("text/plain", b"OK".to_vec())),
        "/version" => Some(page(&json!({
            "Version": "28.0.0", "ApiVersion": "1.48", "MinAPIVersion": "1.24", "Os": "linux", "Arch": "amd64"
        }))),
        "/containers/json" => Some(page(&json!([{
            "Id": "0123456789abcdef", "Names": ["/web"], "Image": "web:1", "ImageID": "sha256:0", "Command": "serve",
            "Created": 1_700_000_000, "Ports": [], "Labels": {}, "State": "running", "Status": "Up 1 minute"
        }]))),
        "/images/json" => Some(page(&json!([{
            "Id": "sha256:0123456789abcdef", "RepoTags": ["web:1"], "Created": 1_700_000_000, "Size": 1000,
            "Containers": -1, "SharedSize": -1, "ParentId": "", "RepoDigests": [], "Labels": {}
        }]))),
        _ => None,
    }
}

fn page(value: &Value) -> Page {
    ("application/json", value.to_string().into_bytes())
}

/// One request after the other, until the client goes.
fn serve(reader: impl Read, mut writer: impl Write, pages: impl Fn(&str) -> Option<Page>) {
    let mut reader = BufReader::new(reader);
    while let Some((method, path)) = request(&mut reader) {
        let (status, (kind, body)) = match pages(&path) {
            Some(page) => ("200 OK", page),
            None => ("404 Not Found", ("application/json", b"{\"message\":\"page not found\"}".to_vec())),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nApi-Version: 1.48\r\nOstype: linux\r\n\r\n",
            body.len()
        );
        let body = if method == "HEAD" { Vec::new() } else { body };
        if writer.write_all(&[head.into_bytes(), body].concat()).is_err() {
            return;
        }
    }
}

fn request(reader: &mut impl BufRead) -> Option<(String, String)> {
    let mut first = String::new();
    if reader.read_line(&mut first).ok()? == 0 {
        return None;
    }
    let mut words = first.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut line = String::new();
    while reader.read_line(&mut line).ok()? > 2 {
        line.clear();
    }
    Some((method, path))
}

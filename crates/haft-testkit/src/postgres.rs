//! A PostgreSQL server for tests: the real one, on a socket in a temporary directory.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    objects::free_port,
    service::{Service, User, directory, until},
};

/// A server that is gone when it is dropped, or when the tests end.
#[derive(Debug)]
pub struct Postgres {
    service: Service,
    programs: PathBuf,
    port: String,
    databases: AtomicUsize,
}

impl Postgres {
    /// One server for all tests of a binary. Where it cannot be had, the reason is printed and the test has nothing to do.
    pub fn shared() -> Option<&'static Postgres> {
        static SHARED: OnceLock<Result<Postgres, String>> = OnceLock::new();
        SHARED.get_or_init(|| Postgres::start(None)).as_ref().map_err(|why| skipped(why)).ok()
    }

    /// A server of one's own, to be halted.
    pub fn own() -> Option<Postgres> {
        Postgres::start(None).map_err(|why| skipped(&why)).ok()
    }

    /// A server that speaks TLS on a port of this machine, with a certificate for `localhost` that nobody has signed. Gives
    /// the address of a database, and the file with the certificate.
    pub fn sealed() -> Option<(Postgres, String, PathBuf)> {
        let port = free_port().map_err(|err| skipped(&err.to_string())).ok()?;
        let server = Postgres::start(Some(port)).map_err(|why| skipped(&why)).ok()?;
        let database = server.database();
        let name = database.trim_start_matches("postgres:///").split('?').next().unwrap_or_default();
        let certificate = server.service.directory.join("server.crt");
        Some((server, format!("postgres://haft@localhost:{port}/{name}"), certificate))
    }

    fn start(sealed: Option<u16>) -> Result<Postgres, String> {
        let programs = programs().ok_or("there is no initdb here; `apt-get install postgresql` brings it")?;
        let user = User::but_not_root("postgres");
        let directory = directory(user).map_err(|err| format!("no directory for a server: {err}"))?;
        let data = directory.join("data");
        let mut initdb = Command::new(programs.join("initdb"));
        initdb.args(["--username=haft", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"]);
        let made = User::run(user, initdb.arg(&data).current_dir(&directory)).output();
        let made = made.map_err(|err| format!("initdb cannot be run: {err}"))?;
        if !made.status.success() {
            let _ = fs::remove_dir_all(&directory);
            return Err(format!("initdb fails: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let server = programs.join("postgres");
        let (server, data, socket) =
            (server.to_string_lossy(), data.to_string_lossy(), directory.to_string_lossy());
        let port = sealed.unwrap_or(5432).to_string();
        let sealing = match sealed {
            Some(_) => Some(certify(&directory, user)?),
            None => None,
        };
        // A crash of the server loses nothing of what is written; only one of the machine would.
        let figures = ["-c", "fsync=off", "-c", "max_connections=300", "-p", &port];
        let figures: Vec<&str> = match &sealing {
            None => [&figures[..], &["-c", "listen_addresses="]].concat(),
            Some(sealing) => {
                let sealing = sealing.iter().flat_map(|setting| ["-c", setting]);
                figures.into_iter().chain(sealing).collect()
            }
        };
        let words = [&[&*server, "-D", &*data, "-k", &*socket], &figures[..]].concat();
        // "Immediate shutdown": nothing is put in order, as in a crash.
        let service = Service::start(&directory, user, "QUIT", &words).map_err(|err| err.to_string())?;
        let postgres = Postgres { service, programs, port, databases: AtomicUsize::new(0) };
        if !until(|| postgres.is_ready()) {
            return Err(format!("the server does not start: {}", postgres.service.log()));
        }
        Ok(postgres)
    }

    /// The address of a database that nobody else uses.
    pub fn database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let socket = self.service.directory.display();
        let made = Command::new(self.programs.join("createdb"))
            .args(["-U", "haft", "-h", &socket.to_string(), "-p", &self.port, &name])
            .output()
            .expect("createdb stands beside initdb");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        format!("postgres:///{name}?user=haft&host={socket}")
    }

    /// Ends the server at once, as a crash would.
    pub fn halt(&self) {
        self.service.halt();
    }

    /// Starts it again; it answers when this returns.
    pub fn resume(&self) {
        self.service.resume();
        assert!(until(|| self.is_ready()), "the server does not start again: {}", self.service.log());
    }

    /// The server writes its state into the eighth line of a file.
    fn is_ready(&self) -> bool {
        let state = fs::read_to_string(self.service.directory.join("data/postmaster.pid"));
        state.is_ok_and(|text| text.lines().nth(7).is_some_and(|line| line.trim() == "ready"))
    }
}

/// A key and a certificate; the settings that make a server use them.
fn certify(directory: &Path, user: Option<User>) -> Result<[String; 4], String> {
    let (key, certificate) = (directory.join("server.key"), directory.join("server.crt"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]);
    openssl.args([
        "-addext",
        "subjectAltName=DNS:localhost",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
    ]);
    openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate).current_dir(directory);
    let made = User::run(user, &mut openssl).output().map_err(|err| format!("no openssl: {err}"))?;
    if !made.status.success() {
        return Err(format!("openssl fails: {}", String::from_utf8_lossy(&made.stderr)));
    }
    let setting = |name: &str, path: &Path| format!("{name}={}", path.display());
    Ok([
        "listen_addresses=localhost".to_owned(),
        "ssl=on".to_owned(),
        setting("ssl_key_file", &key),
        setting("ssl_cert_file", &certificate),
    ])
}

#[expect(clippy::print_stderr, reason = "whoever reads a test's output learns what was not tested")]
fn skipped(why: &str) {
    eprintln!("skipped: no PostgreSQL: {why}");
}

/// The newest of what the distribution has, or what is on the path.
fn programs() -> Option<PathBuf> {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = installed
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    let newest = versions.pop().map(|(_, path)| path);
    let on_path = std::env::var_os("PATH")?;
    newest.into_iter().chain(std::env::split_paths(&on_path)).find(|path| is_there(path))
}

fn is_there(path: &Path) -> bool {
    ["initdb", "postgres", "createdb"].iter().all(|name| path.join(name).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_starts_crashes_comes_back_and_leaves_nothing() {
        let Some(server) = Postgres::own() else { return };
        let directory = server.service.directory.clone();
        assert_ne!(server.database(), server.database());
        server.halt();
        server.resume();
        server.database();
        drop(server);
        assert!(!directory.exists());
    }
}

//! The way to the server: a few connections, made when they are needed and made anew when they are lost.
//!
//! Everything that is asked has a limit in time, so that a server which does not answer costs seconds and never a hang.
//! What is asked here must be such that twice is once: after a line broke, nobody knows whether the server had done it.

use std::{cell::Cell, io, str::FromStr, time::Duration};

use deadpool_postgres::{
    Client, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType,
};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{
    Config, Error,
    config::{Host, SslMode},
    error::SqlState,
};

use super::tls::Tls;
use crate::book::BookError;

/// Connections of one process. Calls wait for each other only for the moment of a statement.
const MOST_CONNECTIONS: usize = 4;

/// What one attempt may take: to connect, and to be answered.
const CONNECTING: Duration = Duration::from_secs(5);
const ANSWERING: Duration = Duration::from_secs(15);

/// How long a server that went away is waited for: a restart takes less. One that was never there may not exist, and one that
/// was waited for in vain is not waited for again at once.
const PATIENCE: Duration = Duration::from_secs(10);
const FIRST_PATIENCE: Duration = Duration::from_secs(3);
const LOST_FOR: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(25);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Connections to one database.
pub(super) struct Link {
    pool: Pool,
    /// The address without a secret.
    shown: String,
    /// Whether it ever answered, and when it was last waited for in vain.
    reached: Cell<bool>,
    lost: Cell<Option<Instant>>,
}

/// Why something was not done.
#[derive(Debug)]
pub(super) struct Trouble {
    kind: Kind,
    error: BookError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The line broke or never was. Another attempt may do.
    Line,
    /// The server would not take just this, however often it is tried.
    Data,
    /// The server said no for another reason.
    Refused,
}

impl Trouble {
    /// Whether the fault is in what was written.
    pub(super) fn is_data(&self) -> bool {
        self.kind == Kind::Data
    }
}

impl From<Trouble> for BookError {
    fn from(trouble: Trouble) -> BookError {
        trouble.error
    }
}

impl Link {
    /// Reads an address. Nobody is contacted yet.
    pub(super) fn to(address: &str) -> io::Result<Link> {
        let config = config(address)?;
        let shown = shown(&config);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config, Tls::new()?, recycling);
        let pool = Pool::builder(manager)
            .max_size(MOST_CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(ANSWERING))
            .create_timeout(Some(CONNECTING))
            .recycle_timeout(Some(CONNECTING))
            .build()
            .map_err(io::Error::other)?;
        Ok(Link { pool, shown, reached: Cell::new(false), lost: Cell::new(None) })
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Asks the server, again if the line broke meanwhile. `work` must be such that twice is once.
    pub(super) async fn ask<T>(
        &self,
        work: impl AsyncFn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Trouble> {
        let (start, patience, mut pause) = (Instant::now(), self.patience(), FIRST_PAUSE);
        loop {
            match self.ask_once(&work).await {
                Err(trouble) if trouble.kind == Kind::Line && start.elapsed() + pause < patience => {
                    sleep(pause).await;
                }
                Err(trouble) if trouble.kind == Kind::Line => {
                    self.lost.set(Some(Instant::now()));
                    return Err(trouble);
                }
                outcome => {
                    self.lost.set(None);
                    self.reached.set(true);
                    return outcome;
                }
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn patience(&self) -> Duration {
        match self.lost.get() {
            Some(at) if at.elapsed() < LOST_FOR => Duration::ZERO,
            _ if self.reached.get() => PATIENCE,
            _ => FIRST_PATIENCE,
        }
    }

    /// Asks once, for those who would rather know that nobody answers.
    pub(super) async fn ask_once<T>(
        &self,
        work: &impl AsyncFn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Trouble> {
        let mut client = self.pool.get().await.map_err(|err| self.unconnected(err))?;
        match timeout(ANSWERING, work(&mut client)).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(err)) => {
                if is_line(&err) {
                    drop(Client::take(client));
                }
                Err(self.trouble(&err))
            }
            Err(_) => {
                // Whatever it still does, it does not do it for us.
                drop(Client::take(client));
                Err(self.line(&format!("no answer within {} s", ANSWERING.as_secs())))
            }
        }
    }

    fn unconnected(&self, err: PoolError) -> Trouble {
        match err {
            PoolError::Backend(err) => self.trouble(&err),
            PoolError::Timeout(TimeoutType::Wait) => self.line("all connections are busy"),
            PoolError::Timeout(_) => self.line(&format!("no answer within {} s", CONNECTING.as_secs())),
            err => self.line(&err.to_string()),
        }
    }

    fn line(&self, why: &str) -> Trouble {
        let error = BookError::Other(format!("{} does not answer: {why}", self.shown));
        Trouble { kind: Kind::Line, error }
    }

    fn trouble(&self, err: &Error) -> Trouble {
        if is_line(err) {
            return self.line(&words(err));
        }
        let (kind, shown) = (if is_data(err) { Kind::Data } else { Kind::Refused }, self.shown.clone());
        let error = match err.code() {
            Some(&SqlState::DISK_FULL) => BookError::Full(shown),
            Some(&SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::INSUFFICIENT_PRIVILEGE) => {
                BookError::ReadOnly(shown, words(err))
            }
            _ => BookError::Other(format!("{shown}: {}", words(err))),
        };
        Trouble { kind, error }
    }
}

/// Whether the server finds fault with values: their form, their size, what they must not be.
fn is_data(err: &Error) -> bool {
    let class = err.code().map(|code| code.code().get(..2).unwrap_or_default().to_owned());
    class.is_some_and(|class| ["22", "23", "54"].contains(&class.as_str()))
}

/// An address as a URL or as `key=value` words. Passwords do not travel in the clear unless somebody says so.
fn config(address: &str) -> io::Result<Config> {
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
    // What is wrong is said without the address, which may hold a password.
    let mut config = Config::from_str(address).map_err(|err| {
        wrong(format!("the address of the PostgreSQL server cannot be read: {}", words(&err)))
    })?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(wrong("the address of the PostgreSQL server names no host".to_owned()));
    }
    if config.get_ssl_mode() == SslMode::Prefer && !config.get_hosts().iter().all(is_near) {
        config.ssl_mode(SslMode::Require);
    }
    config.connect_timeout(CONNECTING).keepalives_idle(Duration::from_secs(30));
    config.tcp_user_timeout(ANSWERING);
    if config.get_application_name().is_none() {
        config.application_name("haft");
    }
    Ok(config)
}

/// Whether a line to it stays on this machine.
fn is_near(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

fn shown(config: &Config) -> String {
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or("postgres");
    format!("PostgreSQL ({database} at {})", hosts.join(", "))
}

/// Whether it is about the line, or about a server that stops, starts or has too many guests: things that pass.
fn is_line(err: &Error) -> bool {
    let Some(code) = err.code() else {
        // Without a word of the server: closed, reset, or never there. A certificate that is not good stays so.
        return !is_untrusted(err);
    };
    let passing = [
        &SqlState::ADMIN_SHUTDOWN,
        &SqlState::CRASH_SHUTDOWN,
        &SqlState::CANNOT_CONNECT_NOW,
        &SqlState::TOO_MANY_CONNECTIONS,
        &SqlState::T_R_SERIALIZATION_FAILURE,
        &SqlState::T_R_DEADLOCK_DETECTED,
    ];
    passing.contains(&code) || code.code().starts_with("08")
}

fn is_untrusted(err: &Error) -> bool {
    let mut source = std::error::Error::source(err);
    while let Some(inner) = source {
        if inner.is::<rustls::Error>() {
            return true;
        }
        let io = inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if io.is_some_and(|inner| inner.is::<rustls::Error>()) {
            return true;
        }
        source = inner.source();
    }
    false
}

/// What went wrong, with its reason: the library's own words leave that to the source.
fn words(err: &Error) -> String {
    match (err.as_db_error(), std::error::Error::source(err)) {
        (Some(said), _) => said.message().to_owned(),
        (None, Some(source)) => format!("{err}: {source}"),
        (None, None) => err.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let link = |address: &str| Link::to(address).map(|link| link.shown().to_owned());
        let shown = link("postgres://me:s3cret@db.example:5433/haft").unwrap();
        assert_eq!(shown, "PostgreSQL (haft at db.example)");
        let shown = link("postgres:///haft?host=/run/pg&user=me").unwrap();
        assert_eq!(shown, "PostgreSQL (haft at /run/pg)");
    }

    #[test]
    fn a_wrong_address_is_said_without_its_password() {
        for address in
            ["postgres://me:s3cret@[/haft", "postgres://me:s3cret@h/x?sslmode=maybe", "postgres://"]
        {
            let said = config(address).unwrap_err().to_string();
            assert!(said.starts_with("the address of the PostgreSQL server"), "{said}");
            assert!(!said.contains("s3cret"), "{said}");
        }
    }

    #[test]
    fn a_line_that_leaves_the_machine_is_sealed_unless_somebody_says_otherwise() {
        let mode = |address: &str| config(address).unwrap().get_ssl_mode();
        assert_eq!(mode("postgres://db.example/haft"), SslMode::Require);
        assert_eq!(mode("postgres://db.example/haft?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://localhost/haft"), SslMode::Prefer);
        assert_eq!(mode("postgres://[::1]/haft"), SslMode::Prefer);
        assert_eq!(mode("postgres://localhost,db.example/haft"), SslMode::Require);
        assert_eq!(mode("postgres:///haft?host=/run/pg"), SslMode::Prefer);
    }
}

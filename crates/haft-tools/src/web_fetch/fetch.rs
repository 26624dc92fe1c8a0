//! From an address to what a server answers, hop by hop.
//!
//! Every hop is checked like the first: the address as such, whether its host is the one that was permitted, and what the
//! name leads to. Only what passed is connected to.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use haft_shell::is_own;
use haft_tool::{Fault, Refusal, is_public};

use super::{
    address::Address,
    network::{Answer, Network},
};

/// How often a server may point elsewhere.
pub(super) const MOST_HOPS: usize = 10;

/// A fetch that was permitted for one host.
pub(super) struct Fetch<'a> {
    pub(super) network: &'a dyn Network,
    /// Whether a rule names a host, written out.
    pub(super) is_named: &'a (dyn Fn(&str) -> bool + Sync),
}

/// Where a fetch ends.
pub(super) enum Arrival {
    /// At an answer that points nowhere.
    Here(Address, Answer),
    /// At a host that nobody permitted.
    Elsewhere { status: u16, to: Address },
}

impl Fetch<'_> {
    /// Follows where the server points to, as long as that is the host that was permitted.
    pub(super) async fn follow(&self, start: &Address) -> Result<Arrival, Fault> {
        let mut here = start.clone();
        for _ in 0..=MOST_HOPS {
            let addresses = self.checked(&here).await?;
            let answer = self.network.get(here.url(), &addresses).await;
            let answer = answer.map_err(|err| unreachable(&here, err))?;
            let Some(location) = location(&here, &answer)? else {
                return Ok(Arrival::Here(here, answer));
            };
            let there = here.join(&location).map_err(|unfit| points_nowhere(&here, &unfit.to_string()))?;
            if there.host() != start.host() {
                self.may_be_asked_for(&here, &there)?;
                return Ok(Arrival::Elsewhere { status: answer.status, to: there });
            }
            if here.is_encrypted() && !there.is_encrypted() {
                return Err(unencrypted(&here, &there));
            }
            here = there;
        }
        Err(Fault::failed(format!(
            "{start} points elsewhere more than {MOST_HOPS} times in a row; its end was not reached"
        )))
    }

    /// Whether a call of its own could fetch what another host has. Where none could, it ends here.
    fn may_be_asked_for(&self, here: &Address, there: &Address) -> Result<(), Fault> {
        if there.is_private_by_name() && !(self.is_named)(there.host()) {
            let what = format!(
                "this address is not fetched: {} is not on the open internet.\n{ONLY_NAMED}",
                there.host()
            );
            return Err(points_nowhere(here, &what));
        }
        Ok(())
    }

    /// The addresses that may be connected to.
    async fn checked(&self, here: &Address) -> Result<Vec<SocketAddr>, Fault> {
        let found = match here.literal() {
            Some(address) => vec![address],
            None if here.is_private_by_name() && !(self.is_named)(here.host()) => {
                return Err(private(here.host(), None));
            }
            None => self.look_up(here).await?,
        };
        let is_named = (self.is_named)(here.host());
        let is_open = |address: &SocketAddr| is_public(address.ip()) && !is_own(*address);
        let mut addresses: Vec<SocketAddr> = found.iter().map(|ip| (*ip, here.port()).into()).collect();
        addresses.retain(|address| is_open(address) || (is_named && here.means(address.ip())));
        match found.first() {
            Some(first) if addresses.is_empty() => Err(private(here.host(), Some(*first))),
            _ => Ok(addresses),
        }
    }

    async fn look_up(&self, here: &Address) -> Result<Vec<IpAddr>, Fault> {
        let found = self.network.look_up(here.host()).await;
        let found = found.map_err(|err| unknown(here, &err.to_string()).with_source(err))?;
        if found.is_empty() {
            return Err(unknown(here, "it has no address"));
        }
        Ok(found)
    }
}

/// Where an answer points to, if it does.
fn location(here: &Address, answer: &Answer) -> Result<Option<String>, Fault> {
    if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) || !answer.has_header("location") {
        return Ok(None);
    }
    let location = answer.header("location").map(str::to_owned);
    location.map(Some).ok_or_else(|| points_nowhere(here, "this address is not fetched: it is no text."))
}

const ONLY_NAMED: &str = "Only a rule of the person that names the address itself, like WebFetch(domain:127.0.0.1), opens such a place.";

fn private(host: &str, at: Option<IpAddr>) -> Fault {
    let leads = match at {
        Some(address) if address.to_string() == host.trim_matches(['[', ']']) => String::new(),
        Some(address) => format!(" leads to {address}, which"),
        None => String::new(),
    };
    let message = format!("nothing was sent: {host}{leads} is not on the open internet.\n{ONLY_NAMED}");
    Fault::denied(Refusal::Boundary, message)
}

fn points_nowhere(here: &Address, why: &str) -> Fault {
    Fault::denied(
        Refusal::Boundary,
        format!("{here} points to another address, which was not followed: {why}"),
    )
}

fn unencrypted(here: &Address, there: &Address) -> Fault {
    let message = format!(
        "{here} points to {there}, which was not followed: it would go on without encryption.\n\
         Fetch that address by a call of its own if you need it."
    );
    Fault::denied(Refusal::Boundary, message)
}

fn unknown(here: &Address, why: &str) -> Fault {
    Fault::failed(format!("the host {} was not found: {why}; check its spelling", here.host()))
}

/// What passes by itself is tried again by the engine.
pub(super) fn unreachable(here: &Address, err: io::Error) -> Fault {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable,
        UnexpectedEof,
    };
    let message = format!("{here} could not be fetched: {err}");
    let passes = matches!(
        err.kind(),
        ConnectionAborted
            | ConnectionRefused
            | ConnectionReset
            | HostUnreachable
            | NetworkUnreachable
            | UnexpectedEof
    );
    let fault = if passes { Fault::unavailable(message) } else { Fault::failed(message) };
    fault.with_source(err)
}

//! Names, and the loopback addresses that stand for them inside.

use std::{collections::HashMap, fs, net::Ipv4Addr, sync::OnceLock};

/// Names of one sandbox with the addresses that stand for them.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    addresses: HashMap<String, Ipv4Addr>,
    names: HashMap<Ipv4Addr, String>,
}

/// The first of the addresses: all of 127.64.0.0/10 belongs to the loopback, and programs use none of it by themselves.
const FIRST: u32 = u32::from_be_bytes([127, 64, 0, 1]);
/// How many names are given one: a pattern covers any number of them.
const NAME_LIMIT: usize = 1024;

impl NameTable {
    pub(super) fn address_of(&self, name: &str) -> Option<Ipv4Addr> {
        self.addresses.get(name).copied()
    }

    pub(super) fn name_of(&self, address: Ipv4Addr) -> Option<&str> {
        self.names.get(&address).map(String::as_str)
    }

    /// Gives a name an address. None if too many have one.
    pub(super) fn add(&mut self, name: &str) -> Option<Ipv4Addr> {
        let count = self.names.len();
        let address = Ipv4Addr::from_bits(FIRST + count as u32);
        (count < NAME_LIMIT).then(|| {
            self.addresses.insert(name.to_owned(), address);
            self.names.insert(address, name.to_owned());
            address
        })
    }
}

/// Whether a name is that of the machine itself, for everything that runs on it.
pub(super) fn is_this_machine(name: &str) -> bool {
    static OWN: OnceLock<String> = OnceLock::new();
    let own = OWN.get_or_init(|| {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        name.trim().to_ascii_lowercase()
    });
    name == "localhost" || name.ends_with(".localhost") || name == own
}

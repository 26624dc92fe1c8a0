//! The ports on which a network's loopback is listened to, as the kernel's tables tell.

use std::{collections::BTreeSet, fs};

/// The ports in a table of `/proc/net/tcp` or `/proc/net/tcp6` on which a listener takes connections to 127.0.0.1 or `::1`.
pub(crate) fn listening_ports(table: &str) -> BTreeSet<u16> {
    table.lines().skip(1).filter_map(listening_port).collect()
}

/// The ports of the machine's own loopback.
pub(crate) fn machine_ports() -> BTreeSet<u16> {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(fs::read_to_string);
    tables.iter().flatten().flat_map(|table| listening_ports(table)).collect()
}

fn listening_port(line: &str) -> Option<u16> {
    const LISTEN: &str = "0A";
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (address, port) = fields.next()?.split_once(':')?;
    let state = fields.nth(1)?;
    (state == LISTEN && is_loopback(address)).then(|| u16::from_str_radix(port, 16).ok())?
}

/// Whether connections to the loopback come to a listener at this address: words of four bytes, each in the machine's order.
fn is_loopback(address: &str) -> bool {
    let words: Option<Vec<[u8; 4]>> = address
        .as_bytes()
        .chunks(8)
        .map(|word| u32::from_str_radix(str::from_utf8(word).ok()?, 16).ok().map(u32::to_ne_bytes))
        .collect();
    const MAPPED: [u8; 4] = [0, 0, 0xff, 0xff];
    const NONE: [u8; 4] = [0; 4];
    let own = [127, 0, 0, 1];
    match words.as_deref() {
        Some([word]) | Some([NONE, NONE, MAPPED, word]) => *word == own || *word == NONE,
        Some([NONE, NONE, NONE, word]) => *word == NONE || *word == [0, 0, 0, 1],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_of_the_loopback_are_told_and_others_are_not() {
        let table = "  sl  local_address rem_address   st\n\
             0: 0100007F:1538 00000000:0000 0A 0\n\
             1: 00000000:0016 00000000:0000 0A 0\n\
             2: 3500007F:0035 00000000:0000 0A 0\n\
             3: 0100007F:1539 0100007F:1538 01 0\n\
             4: 0200000A:0050 00000000:0000 0A 0\n\
             5: 00000000000000000000000001000000:0BB8 00000000000000000000000000000000:0000 0A 0\n\
             6: 00000000000000000000000000000000:0BB9 00000000000000000000000000000000:0000 0A 0\n\
             7: 000080FE00000000000000000000000A:0BBA 00000000000000000000000000000000:0000 0A 0\n\
             nonsense\n";
        if cfg!(target_endian = "little") {
            assert_eq!(listening_ports(table).into_iter().collect::<Vec<_>>(), [22, 3000, 3001, 5432]);
        }
    }

    #[test]
    fn a_listener_of_ours_is_in_the_tables() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(machine_ports().contains(&listener.local_addr().unwrap().port()));
    }
}

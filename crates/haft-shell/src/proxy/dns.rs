//! DNS messages: one question in, one answer out. A server for programs that do not use the proxy.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A question that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DnsQuestion<'a> {
    /// The name in lower case, without a final dot.
    pub(super) name: String,
    pub(super) kind: u16,
    message: &'a [u8],
    end: usize,
}

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DnsAnswer {
    Address4(Ipv4Addr),
    Address6(Ipv6Addr),
    /// The name is there, and has nothing of this kind.
    Nothing,
    /// There is no such name.
    NoName,
    /// It cannot be told now.
    Failure,
}

pub(super) const KIND_A: u16 = 1;
pub(super) const KIND_AAAA: u16 = 28;
const CLASS_INTERNET: u16 = 1;

const HEADER_BYTES: usize = 12;
const NAME_LIMIT_BYTES: usize = 255;
const TTL_SECONDS: u32 = 60;

impl<'a> DnsQuestion<'a> {
    /// Reads a message that is a plain question about one name.
    pub(super) fn parse(message: &'a [u8]) -> Option<DnsQuestion<'a>> {
        let header = message.get(..HEADER_BYTES)?;
        let is_question = header[2] & 0xf8 == 0;
        if !is_question || header[4..6] != [0, 1] {
            return None;
        }
        let (name, at) = name(message)?;
        let numbers = message.get(at..at + 4)?;
        let class = u16::from_be_bytes([numbers[2], numbers[3]]);
        let kind = u16::from_be_bytes([numbers[0], numbers[1]]);
        (class == CLASS_INTERNET).then_some(DnsQuestion { name, kind, message, end: at + 4 })
    }

    /// The whole message of an answer.
    pub(super) fn answered(&self, answer: DnsAnswer) -> Vec<u8> {
        const NO_ERROR: u8 = 0;
        let code = match answer {
            DnsAnswer::NoName => 3,
            DnsAnswer::Failure => 2,
            _ => NO_ERROR,
        };
        let record = match answer {
            DnsAnswer::Address4(address) => Some((KIND_A, address.octets().to_vec())),
            DnsAnswer::Address6(address) => Some((KIND_AAAA, address.octets().to_vec())),
            _ => None,
        };
        let mut message = self.message[..2].to_vec();
        // An answer with authority, recursion as it was asked for, and available.
        message.extend([0x84 | (self.message[2] & 1), 0x80 | code, 0, 1, 0, u8::from(record.is_some())]);
        message.extend([0, 0, 0, 0]);
        message.extend_from_slice(&self.message[HEADER_BYTES..self.end]);
        if let Some((kind, address)) = record {
            // The name is the one that was asked for.
            message.extend([0xc0, HEADER_BYTES as u8]);
            message.extend(kind.to_be_bytes());
            message.extend(CLASS_INTERNET.to_be_bytes());
            message.extend(TTL_SECONDS.to_be_bytes());
            message.extend((address.len() as u16).to_be_bytes());
            message.extend(address);
        }
        message
    }
}

/// The name that is asked for, and where it ends. A question has no pointers in it.
fn name(message: &[u8]) -> Option<(String, usize)> {
    let (mut name, mut at) = (String::new(), HEADER_BYTES);
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            return Some((name, at));
        }
        let label = message.get(at..at + length).filter(|_| length < 64)?;
        if !label.is_ascii() || label.contains(&b'.') || name.len() + length > NAME_LIMIT_BYTES {
            return None;
        }
        if !name.is_empty() {
            name.push('.');
        }
        name.extend(label.iter().map(|byte| char::from(byte.to_ascii_lowercase())));
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn question(name: &[u8], kind: u16) -> Vec<u8> {
        let head = [&[7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], name].concat();
        [&head[..], &kind.to_be_bytes(), &[0, 1]].concat()
    }

    #[test]
    fn a_question_is_answered_with_its_number_and_its_name() {
        let message = question(b"\x02Db\x04test\0", KIND_A);
        let read = DnsQuestion::parse(&message).unwrap();
        assert_eq!((&*read.name, read.kind), ("db.test", KIND_A));
        let answer = read.answered(DnsAnswer::Address4([127, 64, 0, 1].into()));
        assert_eq!(answer[..8], [7, 9, 0x85, 0x80, 0, 1, 0, 1]);
        assert_eq!(answer[answer.len() - 6..], [0, 4, 127, 64, 0, 1]);
        assert_eq!(read.answered(DnsAnswer::NoName)[3], 0x83);
    }

    #[test]
    fn a_message_that_is_no_plain_question_is_not_answered() {
        let good = question(b"\x02db\0", KIND_A);
        let with = |at: usize, byte: u8| {
            let mut message = good.clone();
            message[at] = byte;
            message
        };
        for message in [with(2, 0x80), with(5, 2), with(12, 0xc0), with(13, 0xff), with(13, b'.')] {
            assert_eq!(DnsQuestion::parse(&message), None);
        }
        assert_eq!(DnsQuestion::parse(&good[..good.len() - 1]), None);
    }

    proptest! {
        #[test]
        fn no_message_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Some(read) = DnsQuestion::parse(&bytes) {
                read.answered(DnsAnswer::Address6(Ipv6Addr::LOCALHOST));
            }
        }
    }
}

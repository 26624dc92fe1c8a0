//! What is refused before it is unpacked.
//!
//! The reader of PDF files unpacks whatever a file packs, into memory. A packed stream is at most about a thousand times
//! as large when it is unpacked; packed twice it is a million times. So nothing may be packed twice, and large streams
//! are unpacked once to nowhere to see how large they become. This looks at bytes alone: what the structure of the
//! file means is the reader's business.

use flate2::{Decompress, FlushDecompress, Status};
use memchr::memmem;

use super::{Patience, Refused};

/// The most that one stream may unpack to: more than a page of colour at 600 dots an inch.
const MOST_UNPACKED: u64 = 128 * 1024 * 1024;
/// Of a file below this no stream can become larger, whatever packs it.
const SMALL: usize = 48 * 1024;
/// Each byte of a run-length code is at most so many.
const RUN: u64 = 64;

pub(super) fn check(bytes: &[u8], patience: Patience<'_>) -> Result<(), Refused> {
    names(bytes)?;
    if bytes.len() <= SMALL {
        return Ok(());
    }
    let has = |word: &[u8]| memmem::find(bytes, word).is_some();
    if has(b"RunLengthDecode") && bytes.len() as u64 * RUN > MOST_UNPACKED {
        return Err(Refused::Bomb("it is too large for the way it is packed"));
    }
    let has_lzw = has(b"LZWDecode");
    for at in memmem::find_iter(bytes, b"stream") {
        patience.check()?;
        let data = stream(&bytes[at + b"stream".len()..]);
        if unpacks_beyond(data, has_lzw, MOST_UNPACKED) {
            return Err(Refused::Bomb("a part of it unpacks to more than 128 MB"));
        }
    }
    Ok(())
}

/// The data after the word `stream` and its line end.
fn stream(rest: &[u8]) -> &[u8] {
    let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
    rest.strip_prefix(b"\n").unwrap_or(rest)
}

/// Every list of filters in the file unpacks once at most, and nothing is encrypted: what is inside could not be seen.
fn names(bytes: &[u8]) -> Result<(), Refused> {
    if hides_names(bytes) {
        return Err(Refused::Bomb("it hides how it is packed"));
    }
    if memmem::find(bytes, b"/Encrypt").is_some_and(|at| !is_inside_word(bytes, at + b"/Encrypt".len())) {
        return Err(Refused::Encrypted);
    }
    for at in memmem::find_iter(bytes, b"/Filter") {
        let value = &bytes[at + b"/Filter".len()..];
        if is_inside_word(value, 0) {
            continue;
        }
        if !is_plain(value.trim_ascii_start()) {
            return Err(Refused::Bomb("it is packed several times over"));
        }
    }
    Ok(())
}

/// Whether a word goes on here.
fn is_inside_word(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'#')
}

/// A filter, or a list of filters of which at most one unpacks much.
fn is_plain(value: &[u8]) -> bool {
    match value.first() {
        Some(b'/') => true,
        Some(b'[') => {
            let list = &value[..memchr::memchr(b']', value).unwrap_or(value.len())];
            let is_harmless = list.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
            let packers = UNPACKERS.iter().map(|name| memmem::find_iter(list, name).count()).sum::<usize>();
            is_harmless && packers <= 1 && !list.contains(&b'%') && !has_reference(&list[1..])
        }
        Some(b'n') => value.starts_with(b"null"),
        _ => false,
    }
}

/// A list with references to names elsewhere: what they say is not to be seen here.
fn has_reference(list: &[u8]) -> bool {
    let mut words = list.split(u8::is_ascii_whitespace);
    words.any(|word| word.first().is_some_and(u8::is_ascii_digit))
}

/// The names of filters whose result is much larger.
const UNPACKERS: &[&[u8]] =
    &[b"/Fl", b"/LZW", b"/RunLength", b"/RL", b"/JBIG2", b"/JPX", b"/CCF", b"/CCITT", b"/DCT"];

/// Names may be written with escapes. Nobody does that to those that matter here, unless to hide them.
fn hides_names(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'#', bytes).any(|at| {
        let before = at.saturating_sub(LONGEST_NAME);
        let Some(slash) = memchr::memrchr(b'/', &bytes[before..at]) else { return false };
        let start = before + slash + 1;
        // Between a name and something else that has the sign there is a blank or a bracket.
        let is_in_name = bytes[start..at].iter().all(u8::is_ascii_alphanumeric);
        let name = unescaped(&bytes[start..bytes.len().min(start + LONGEST_NAME)]);
        is_in_name && HIDDEN.iter().any(|hidden| at - start < hidden.len() && name.starts_with(hidden))
    })
}

/// With every letter escaped.
const LONGEST_NAME: usize = 3 * 16;
const HIDDEN: &[&[u8]] = &[b"Filter", b"Encrypt", b"FlateDecode", b"LZWDecode", b"RunLengthDecode"];

fn unescaped(name: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::new();
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        match (first, digit(after.first()), digit(after.get(1))) {
            (b'#', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

fn unpacks_beyond(data: &[u8], may_be_lzw: bool, most: u64) -> bool {
    let is_beyond = |size: u64| size > most;
    is_beyond(inflated(data, true, most))
        || is_beyond(inflated(data, false, most))
        || (may_be_lzw && is_beyond(expanded(data, most)))
}

/// How large a deflated stream is, up to a little more than is allowed.
fn inflated(data: &[u8], has_header: bool, most: u64) -> u64 {
    let mut inflate = Decompress::new(has_header);
    let mut nowhere = vec![0; 64 * 1024];
    while inflate.total_out() <= most {
        let (read, written) = (inflate.total_in(), inflate.total_out());
        let Some(rest) = usize::try_from(read).ok().and_then(|read| data.get(read..)) else { break };
        match inflate.decompress(rest, &mut nowhere, FlushDecompress::None) {
            Ok(Status::Ok) if (inflate.total_in(), inflate.total_out()) != (read, written) => {}
            _ => break,
        }
    }
    inflate.total_out()
}

/// The same for LZW: only the lengths of the words are kept.
fn expanded(data: &[u8], most: u64) -> u64 {
    const CLEAR: usize = 256;
    const END: usize = 257;
    let mut lengths: Vec<u64> = Vec::with_capacity(4096);
    let (mut total, mut before, mut bits, mut count, mut width) = (0u64, None::<u64>, 0u32, 0u32, 9u32);
    for byte in data {
        bits = (bits << 8) | u32::from(*byte);
        count += 8;
        if count < width {
            continue;
        }
        count -= width;
        let code = (bits >> count) as usize & ((1 << width) - 1);
        bits &= (1 << count) - 1;
        if code == END || total > most {
            break;
        }
        if code == CLEAR {
            (before, width) = (None, 9);
            lengths.clear();
            continue;
        }
        let length = match code.checked_sub(258) {
            None => 1,
            Some(word) => match lengths.get(word).copied().or(before.map(|before| before + 1)) {
                Some(length) => length,
                None => break,
            },
        };
        if let Some(before) = before.filter(|_| lengths.len() < 4096 - 258) {
            lengths.push(before + 1);
        }
        (total, before) = (total + length, Some(length));
        // One early or not, the width is that of the next code.
        width = (usize::BITS - (lengths.len() + 259).leading_zeros()).clamp(9, 12);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 300_000;

    fn deflated(size: usize) -> Vec<u8> {
        let mut packed = Vec::with_capacity(size);
        let mut packer = flate2::Compress::new(flate2::Compression::fast(), true);
        packer.compress_vec(&vec![b' '; size], &mut packed, flate2::FlushCompress::Finish).unwrap();
        packed
    }

    #[test]
    fn only_names_that_matter_are_suspicious_when_they_are_escaped() {
        for hidden in [&b"<</F#69lter/X>>"[..], b"/#46#6c#61#74#65#44#65#63#6f#64#65"] {
            assert_eq!(names(hidden), Err(Refused::Bomb("it hides how it is packed")));
        }
        for plain in
            [&b"/Filter/FlateDecode>>stream\n#46"[..], b"/ABCDEF+Some#20Font", b"/FlateDecode #20", b"#"]
        {
            assert_eq!(names(plain), Ok(()), "{}", String::from_utf8_lossy(plain));
        }
    }

    #[test]
    fn the_size_of_a_stream_is_found_without_keeping_it() {
        assert!(!unpacks_beyond(&deflated(200_000), false, MOST));
        assert!(unpacks_beyond(&deflated(400_000), false, MOST));
        assert!(unpacks_beyond(&deflated(400_000)[2..], false, MOST), "without a header too");
        assert_eq!(inflated(&deflated(200_000), true, MOST), 200_000);
        assert!(!unpacks_beyond(b"no packed stream at all", true, MOST));
    }

    #[test]
    fn the_size_of_an_lzw_stream_is_that_of_its_words() {
        // The example of the standard: 45 45 45 45 45 65 45 45 45 66.
        assert_eq!(expanded(&[0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01], MOST), 10);
        // Ever longer words of the same letter.
        let codes: Vec<usize> = [256, 65].into_iter().chain(258..4096).collect();
        let (mut bits, mut count, mut packed) = (0u64, 0u32, Vec::new());
        for (written, code) in codes.iter().enumerate() {
            let width = match written + 257 {
                0..=511 => 9,
                512..=1023 => 10,
                1024..=2047 => 11,
                _ => 12,
            };
            (bits, count) = (bits << width | *code as u64, count + width);
            while count >= 8 {
                count -= 8;
                packed.push((bits >> count) as u8);
                bits &= (1 << count) - 1;
            }
        }
        assert!(packed.len() < 6_000 && unpacks_beyond(&packed, true, 5_000_000));
    }
}

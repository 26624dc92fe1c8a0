//! Lines that somebody else writes, one at a time and of bounded length.

use std::io::{self, BufRead, Read};

/// A longer line is not read into memory.
const LONGEST_LINE: u64 = 16 << 20;

/// The next line, without its end. One that is too long is cut: its beginning is no JSON, which is then what is said.
pub(crate) fn next_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    if lines.take(LONGEST_LINE).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    let is_whole = line.last() == Some(&b'\n');
    if is_whole {
        line.pop();
    } else if line.len() as u64 == LONGEST_LINE {
        skip_line(lines)?;
    }
    Ok(true)
}

fn skip_line(lines: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = lines.fill_buf()?;
        let (used, is_end) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        lines.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

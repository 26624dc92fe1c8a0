//! The program's own code in memory.
//!
//! The kernel maps code in blocks of sixteen pages, so a start that goes through settings, pools and schemas leaves most of a
//! large program mapped for as long as it runs, though what serves a call is a tenth of it. Constants and the tables that the
//! loader read once are the same.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Takes the program's code and constants out of this process's memory. What is used again is mapped again, from the file or from the
/// system's cache, in microseconds. For a process that goes on for long after its start. Gives the bytes that were covered.
pub fn let_go_of_code() -> io::Result<usize> {
    let program = fs::read_link("/proc/self/exe")?;
    let maps = fs::read_to_string("/proc/self/maps")?;
    let ranges: Vec<(usize, usize)> = maps.lines().filter_map(|line| unwritten(line, &program)).collect();
    ranges.into_iter().try_fold(0, |sum, (start, end)| {
        // SAFETY: the range is of this program, mapped from its file and never written to: every page of it is in the file,
        // so that it comes back as it was.
        #[expect(unsafe_code, reason = "a plain system call")]
        let done = unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(sum + (end - start)) }
    })
}

/// The range of a line of `/proc/self/maps`, if it is of this program and nobody ever wrote to it: then it is as in the file.
/// That is so of code, and of what the file begins with. Further down stand pages that can only be read, too, to which the loader
/// has written addresses before it closed them.
fn unwritten(line: &str, program: &Path) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (range, access, offset) = (words.next()?, words.next()?, words.next()?);
    let address = |text: &str| usize::from_str_radix(text, 16).ok();
    let is_as_in_the_file = access == "r-xp" || (access == "r--p" && address(offset)? == 0);
    // The device and the inode come before the name, which may have spaces in it.
    let name: Vec<&str> = words.skip(2).collect();
    let is_ours = PathBuf::from(name.join(" ")) == program;
    let (start, end) = range.split_once('-')?;
    (is_ours && is_as_in_the_file).then_some((address(start)?, address(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_of_the_program_itself_nobody_has_written_to_is_let_go() {
        let program = Path::new("/opt/a b/haft");
        let unwritten = |line: &str| unwritten(line, program);
        assert_eq!(unwritten("1000-3000 r-xp 00001000 fe:00 77    /opt/a b/haft"), Some((0x1000, 0x3000)));
        assert_eq!(unwritten("1000-3000 r--p 00000000 fe:00 77    /opt/a b/haft"), Some((0x1000, 0x3000)));
        for other in [
            "1000-3000 r--p 00001000 fe:00 77    /opt/a b/haft",
            "1000-3000 rwxp 00001000 fe:00 77    /opt/a b/haft",
            "1000-3000 r-xp 00001000 fe:00 78    /usr/lib/libc.so.6",
            "1000-3000 r-xp 00000000 00:00 0     [vdso]",
            "1000-3000 r-xp 00000000 00:00 0",
            "",
        ] {
            assert_eq!(unwritten(other), None, "{other}");
        }
    }

    #[test]
    fn a_program_goes_on_without_its_code_in_memory() {
        let resident = || {
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("RssFile:")).unwrap().to_owned();
            line.split_ascii_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
        };
        // Other tests, in this process as well, have their code mapped again at once.
        let is_less = || {
            let before = resident();
            assert!(let_go_of_code().unwrap() > 0);
            resident() < before
        };
        assert!((0..100).any(|_| is_less()));
    }
}

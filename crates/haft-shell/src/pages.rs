//! The program's own code in memory.
//!
//! The kernel maps code in blocks of sixteen pages, so a start that goes through settings, pools and schemas leaves most of a
//! large program mapped for as long as it runs, though what serves a call is a tenth of it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Takes the program's code out of this process's memory. What is used again is mapped again, from the file or from the
/// system's cache, in microseconds. For a process that goes on for long after its start. Gives the bytes that were covered.
pub fn let_go_of_code() -> io::Result<usize> {
    let program = fs::read_link("/proc/self/exe")?;
    let maps = fs::read_to_string("/proc/self/maps")?;
    let ranges: Vec<(usize, usize)> = maps.lines().filter_map(|line| code(line, &program)).collect();
    ranges.into_iter().try_fold(0, |sum, (start, end)| {
        // SAFETY: the range is code of this program, mapped from its file and never writable: every page of it is in the
        // file, so that it comes back as it was.
        #[expect(unsafe_code, reason = "a plain system call")]
        let done = unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(sum + (end - start)) }
    })
}

/// The range of a line of `/proc/self/maps`, if it is code of this program that nobody can write to: what can be written to
/// may differ from the file.
fn code(line: &str, program: &Path) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (range, access) = (words.next()?, words.next()?);
    // The place in the file, its device and its inode come before its name, which may have spaces in it.
    let name: Vec<&str> = words.skip(3).collect();
    let is_ours = PathBuf::from(name.join(" ")) == program;
    let (start, end) = range.split_once('-')?;
    let address = |text: &str| usize::from_str_radix(text, 16).ok();
    (is_ours && access == "r-xp").then_some((address(start)?, address(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_the_program_itself_that_nobody_can_write_to_is_let_go() {
        let program = Path::new("/opt/a b/haft");
        let code = |line: &str| code(line, program);
        assert_eq!(code("1000-3000 r-xp 00001000 fe:00 77    /opt/a b/haft"), Some((0x1000, 0x3000)));
        for other in [
            "1000-3000 r--p 00001000 fe:00 77    /opt/a b/haft",
            "1000-3000 rwxp 00001000 fe:00 77    /opt/a b/haft",
            "1000-3000 r-xp 00001000 fe:00 78    /usr/lib/libc.so.6",
            "1000-3000 r-xp 00000000 00:00 0     [vdso]",
            "1000-3000 r-xp 00000000 00:00 0",
            "",
        ] {
            assert_eq!(code(other), None, "{other}");
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

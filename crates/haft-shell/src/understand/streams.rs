//! What one program of a pipeline hands to the next, where that is names of files.
//!
//! `find src -print0 | xargs -0 grep x` reads what `grep x src/**` would: what find prints begins with its root. Nothing
//! else is followed here, and only for programs that look; for all others what comes in is not known.
//!
//! Without a zero byte between the names, a blank in one makes two words of it, which may be anything. As words of the
//! directory they are judged, options included; a path elsewhere among them is kept from the process by its confinement.

use std::rc::Rc;

use haft_tool::{Access, Class};

use crate::programs::{self, Arg};

/// Names of files that a program prints.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// Patterns that they fit.
    pub(super) fit: Rc<[Arg]>,
    /// Whether a zero byte ends each.
    zero: bool,
}

/// A root that is longer is not copied about.
const LONGEST_ROOT: usize = 256;

impl Names {
    fn new(fit: Vec<Arg>, zero: bool) -> Names {
        Names { fit: fit.into(), zero }
    }

    /// The names that this command prints, if it prints nothing else.
    pub(super) fn printed_by(argv: &[Arg]) -> Option<Names> {
        let (Arg::Known(program), words) = argv.split_first()? else { return None };
        match program.as_str() {
            "find" => found(words),
            "ls" => listed(words),
            "git" => tracked(words),
            "grep" | "egrep" | "fgrep" => searched(words),
            "rg" => files_of_rg(words),
            "seq" => Some(Names::new(Vec::new(), false)),
            _ => None,
        }
    }

    /// What is left of them after this command, if it passes lines on as they are.
    pub(super) fn through(self, argv: &[Arg]) -> Option<Names> {
        let (Arg::Known(program), words) = argv.split_first()? else { return None };
        let words = known(words)?;
        let by_zero = words.iter().any(|word| made_of(word, "bdfghiMnrRsuVEFGPavwxzZ") && word.contains('z'));
        let patterns = words.iter().filter(|word| !word.starts_with('-')).count();
        let passes = match program.as_str() {
            "cat" => return words.is_empty().then_some(self),
            "sort" => words.iter().all(|word| made_of(word, "bdfghiMnrRsuVz")),
            "uniq" => words.iter().all(|word| made_of(word, "diuz")),
            "head" | "tail" => words.iter().all(|word| is_count(word)),
            "tac" | "shuf" => words.is_empty(),
            "grep" | "egrep" | "fgrep" => {
                let is_pattern = |word: &&str| !word.starts_with('-');
                patterns == 1 && words.iter().all(|word| is_pattern(word) || made_of(word, "EFGPaivwxzZ"))
            }
            _ => false,
        };
        (passes && by_zero == self.zero).then_some(self)
    }

    /// The words that xargs adds, given its own options. `None` if it makes other words of the names.
    pub(super) fn added(&self, options: &[&str]) -> Option<Vec<Arg>> {
        let splits_at_zero =
            options.iter().any(|option| matches!(*option, "-0" | "--null" | "-d\\0" | "-0r" | "-r0"));
        if splits_at_zero != self.zero {
            return None;
        }
        let mut words = self.fit.to_vec();
        if !self.zero {
            words.insert(0, Arg::Glob("*".to_owned()));
        }
        Some(words)
    }
}

/// The options of xargs, in front of what it runs. `None` if one of them says where the words come from or what becomes of
/// them in a way that is not followed.
pub(super) fn options_of_xargs(argv: &[Arg]) -> Option<Vec<&str>> {
    let mut words = argv.iter().skip(1);
    let mut options = Vec::new();
    loop {
        let Arg::Known(word) = words.next()? else { return None };
        match word.as_str() {
            "-n" | "-L" | "-P" | "-I" | "-s" | "--max-args" | "--max-procs" | "--max-lines" => {
                words.next()?;
            }
            // Lines are what the names stand in without a zero byte.
            "-d" if matches!(words.next()?, Arg::Known(at) if at == "\\n" || at == "\n") => {}
            "-0" | "--null" | "-r" | "-t" | "-i" | "-x" | "-0r" | "-r0" | "--no-run-if-empty"
            | "--verbose" | "-1" => {
                options.push(word.as_str());
            }
            _ if begins_with_any(word, &["-n", "-L", "-P", "-I", "-i", "--max-", "--replace"]) => {}
            _ if word.starts_with('-') => return None,
            _ => return Some(options),
        }
    }
}

/// Whether a command with patterns in the place of what comes in does nothing but look at what fits them.
pub(super) fn only_looks(argv: &[Arg]) -> bool {
    let facts = programs::look_at(argv);
    // git reads more than what it is given.
    let is_git = matches!(argv.first(), Some(Arg::Known(name)) if name.contains("git"));
    !is_git
        && facts.class == Class::ReadOnly
        && facts.doubt.is_none()
        && facts.runs.is_empty()
        && facts.unless.is_none()
        && facts.touches.iter().all(|touch| touch.access == Access::Read)
}

/// `find a b -name x -print0`: with links followed, or with other words printed, it is not known.
fn found(words: &[Arg]) -> Option<Names> {
    let begins =
        |arg: &Arg| matches!(arg, Arg::Known(word) if word.starts_with('-') || word == "(" || word == "!");
    let roots: Vec<&Arg> = words.iter().take_while(|arg| !begins(arg)).collect();
    let known = known_or_pattern(&words[roots.len()..])?;
    const OTHERS: [&str; 9] = ["-L", "-H", "-follow", "-ls", "-printf", "-exec", "-execdir", "-ok", "-okdir"];
    if known
        .iter()
        .any(|word| OTHERS.contains(word) || word.starts_with("-fprint") || word.starts_with("-fls"))
    {
        return None;
    }
    let zero = known.contains(&"-print0");
    if zero && known.contains(&"-print") {
        return None;
    }
    let below = if roots.is_empty() {
        vec![below(".")?]
    } else {
        roots.into_iter().map(below_arg).collect::<Option<_>>()?
    };
    Some(Names::new(below, zero))
}

/// `ls -t src`: names in there, or what was named.
fn listed(words: &[Arg]) -> Option<Names> {
    let options =
        words.iter().filter_map(|arg| if let Arg::Known(word) = arg { Some(word.as_str()) } else { None });
    let mut options = options.filter(|word| word.starts_with('-'));
    if !options.all(|word| made_of(word, "1aABcdDfgGhHLoqrStuUvX")) {
        return None;
    }
    let mut fit = vec![Arg::Glob("*".to_owned())];
    for word in words {
        match word {
            Arg::Known(option) if option.starts_with('-') => {}
            Arg::Known(name) => fit.push(Arg::Known(name.clone())),
            Arg::Glob(_) => fit.push(word.clone()),
            Arg::Unknown { .. } => return None,
        }
    }
    Some(Names::new(fit, false))
}

/// `git ls-files '*.rs'`, and others that print names of the repository below the directory.
fn tracked(words: &[Arg]) -> Option<Names> {
    let (Arg::Known(subcommand), rest) = words.split_first()? else { return None };
    let words = known_or_pattern(rest)?;
    let prints_names = match subcommand.as_str() {
        "ls-files" => words.iter().all(|word| {
            !word.starts_with('-')
                || made_of(word, "cdmoz")
                || matches!(*word, "--cached" | "--modified" | "--others" | "--exclude-standard" | "--")
        }),
        "diff" => {
            words.contains(&"--name-only")
                && words.iter().all(|word| {
                    !word.starts_with('-') || matches!(*word, "--name-only" | "--cached" | "--staged" | "-z")
                })
        }
        "grep" => {
            words.iter().any(|word| matches!(*word, "-l" | "--name-only" | "--files-with-matches"))
                && words.iter().all(|word| !word.starts_with('-') || made_of(word, "lziwEFGP"))
        }
        _ => false,
    };
    let goes_up = words.iter().any(|word| word.contains(".."));
    let zero = words.iter().any(|word| made_of(word, "cdmozlziwEFGP") && word.contains('z'));
    (prints_names && !goes_up).then(|| Names::new(vec![Arg::Glob("**".to_owned())], zero))
}

/// `grep -rl x src`
fn searched(words: &[Arg]) -> Option<Names> {
    let known = known_or_pattern(words)?;
    let is_option = |word: &&str| word.starts_with('-');
    let lists = known.iter().any(|word| made_of(word, "rlLiwxEFGPsIZz") && word.contains(['l', 'L']));
    let plain = known.iter().filter(|word| is_option(word)).all(|word| {
        made_of(word, "rlLiwxEFGPsIZ") || word.starts_with("--include=") || word.starts_with("--exclude")
    });
    let zero = known.iter().any(|word| made_of(word, "rlLiwxEFGPsIZ") && word.contains('Z'));
    let operands: Vec<&Arg> =
        words.iter().filter(|arg| !matches!(arg, Arg::Known(word) if word.starts_with('-'))).collect();
    let roots = operands.get(1..)?;
    let fit = if roots.is_empty() {
        vec![Arg::Glob("**".to_owned())]
    } else {
        roots.iter().map(|root| below_arg(root)).collect::<Option<_>>()?
    };
    (lists && plain).then(|| Names::new(fit, zero))
}

/// `rg --files src`, `rg -l x src`
fn files_of_rg(words: &[Arg]) -> Option<Names> {
    let known = known_or_pattern(words)?;
    let all = known.contains(&"--files");
    let lists = all || known.iter().any(|word| matches!(*word, "-l" | "--files-with-matches"));
    let plain = known.iter().filter(|word| word.starts_with('-')).all(|word| {
        matches!(
            *word,
            "--files" | "-l" | "--files-with-matches" | "-i" | "-w" | "-F" | "-0" | "--null" | "--hidden"
        )
    });
    let zero = known.iter().any(|word| matches!(*word, "-0" | "--null"));
    let operands: Vec<&Arg> =
        words.iter().filter(|arg| !matches!(arg, Arg::Known(word) if word.starts_with('-'))).collect();
    let roots = operands.get(usize::from(!all)..)?;
    let fit = if roots.is_empty() {
        vec![Arg::Glob("**".to_owned())]
    } else {
        roots.iter().map(|root| below_arg(root)).collect::<Option<_>>()?
    };
    (lists && plain).then(|| Names::new(fit, zero))
}

/// All that lies below a root, as a pattern.
fn below(root: &str) -> Option<Arg> {
    let is_plain = root.len() <= LONGEST_ROOT && !root.contains(['*', '?', '[', ']', '\\']);
    is_plain.then(|| Arg::Glob(format!("{}/**", root.trim_end_matches('/'))))
}

fn below_arg(root: &Arg) -> Option<Arg> {
    match root {
        Arg::Known(root) => below(root),
        // A name that fits may be a directory with more below it; its pattern is as wide as the directory that it is in.
        Arg::Glob(pattern) => Some(Arg::Glob(format!("{pattern}/**"))),
        Arg::Unknown { .. } => None,
    }
}

fn known(words: &[Arg]) -> Option<Vec<&str>> {
    words.iter().map(|arg| if let Arg::Known(word) = arg { Some(word.as_str()) } else { None }).collect()
}

fn known_or_pattern(words: &[Arg]) -> Option<Vec<&str>> {
    words.iter().map(text_of).collect()
}

fn text_of(arg: &Arg) -> Option<&str> {
    match arg {
        Arg::Known(word) | Arg::Glob(word) => Some(word),
        Arg::Unknown { .. } => None,
    }
}

/// `-abc`, made of these letters alone.
fn made_of(word: &str, letters: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|letter| letters.contains(letter)))
}

/// `-5`, `-n5`, `-n 5`, `-z`
fn is_count(word: &str) -> bool {
    let digits = word.trim_start_matches("-z").trim_start_matches("-n").trim_start_matches(['-', '+']);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn begins_with_any(word: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| word.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use haft_tool::{Effects, PathBase};
    use proptest::{prelude::*, sample::select};

    use super::super::understand;

    fn effects(line: &str) -> Effects {
        understand(line, &PathBase { cwd: "/w/app".into(), home: Some("/home/u".into()), workspace: None })
            .effects()
    }

    #[track_caller]
    fn reads(line: &str, expected: &[&str]) {
        let effects = effects(line);
        assert!(effects.is_read_only(), "{line}: {:?}", effects.doubts());
        let paths: Vec<String> =
            effects.paths().iter().map(|effect| effect.path.display().to_string()).collect();
        assert_eq!(paths, expected, "{line}");
    }

    #[test]
    fn names_below_a_root_are_read_there() {
        reads("find . -print0 | xargs -0 cat", &["/w/app", "/w/app"]);
        reads(
            "find src lib -name x -print0 | xargs -0 wc -l",
            &["/w/app/src", "/w/app/lib", "/w/app/src", "/w/app/lib"],
        );
        reads(
            "find src -print0 | sort -z | head -z -n 3 | xargs -0 -I{} cat {}",
            &["/w/app/src", "/w/app/src"],
        );
        reads("git ls-files -z | xargs -0 wc -l", &["/w/app", "/w/app"]);
        reads("grep -rl a src | xargs wc -l", &["/w/app/src", "/w/app", "/w/app/src", "/w/app"]);
        reads("ls /etc | xargs basename -a", &["/etc"]);
        reads("find src -print0 | grep -vzZ x | xargs -0 ls", &["/w/app/src", "/w/app/src"]);
    }

    #[test]
    fn words_that_the_line_names_are_those_words() {
        reads("echo a b | xargs cat", &["/w/app/a", "/w/app/b"]);
        reads("echo /etc/x | xargs cat", &["/etc/x"]);
        reads("seq 3 | xargs echo", &[]);
    }

    #[test]
    fn what_is_not_only_looked_at_is_not_known() {
        for line in [
            "cat list | xargs cat",
            "find -L . | xargs cat",
            "find . -printf '/%p' | xargs cat",
            "find . -exec cat {} + | xargs cat",
            "find . | xargs rm",
            "find . | xargs sort",
            "find . | xargs rg x",
            "find . | xargs git log",
            "find . -print0 | xargs cat",
            "find . | xargs -0 cat",
            "find . | sed s,^,/, | xargs cat",
            "find . | grep -o x | xargs cat",
            "find . | head -c 9 | xargs -a list cat",
            "find . | xargs -d x cat",
            "(find .) | xargs cat",
            "find . < list | xargs -I{} cat /{}",
            "find \"$x\" | xargs cat",
            "ls | xargs md5sum -c",
            "echo \"a'b\" | xargs cat",
        ] {
            assert!(!effects(line).is_read_only(), "{line}");
        }
    }

    proptest! {
        /// Whatever is put between a list of names and what reads them, the names are below their root or not known.
        #[test]
        fn what_changes_names_leaves_none_that_are_known(
            between in select(vec!["sed s,a,/,", "awk '{print $2}'", "tr . /", "cut -d/ -f2", "rev", "tail -c 5", "grep -o x", "grep -rh x f", "sort -o x", "paste -sd,", "xargs dirname", "cat list -", "uniq -c", "nl", "head -c 3", "cat - list"]),
            zero in any::<bool>(),
        ) {
            let (print, null) = if zero { ("-print0", "-0") } else { ("", "") };
            let effects = effects(&format!("find src {print} | {between} | xargs {null} cat"));
            prop_assert!(!effects.is_read_only());
        }
    }
}

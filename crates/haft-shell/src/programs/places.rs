//! Places that a program writes to because it knows them: `git config` and its settings, `npm login` and its keys.
//!
//! People check the text; its head says what each word means. A line that cannot be read is left out; a test
//! sees to it that there is none.

use std::{collections::HashMap, sync::LazyLock};

use super::{Arg, git_settings, host};

const TEXT: &str = include_str!("places.txt");

/// A place that a program knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownPlace {
    /// Below the home.
    Home(&'static str),
    /// Below the directory that all worktrees of a repository share.
    Git(&'static str),
    /// The same, where only settings change that run and redirect nothing.
    HarmlessGit(&'static str),
    /// As a word of the command would name it.
    Path(Arg),
}

impl KnownPlace {
    fn mark_harmless_settings(&mut self) {
        if let KnownPlace::Git(place @ ("config" | "config.worktree")) = *self {
            *self = KnownPlace::HarmlessGit(place);
        }
    }
}

/// What is known of a program with its subcommands.
#[derive(Debug, Default)]
struct Entry {
    /// The words after the program's name.
    words: Vec<&'static str>,
    places: Vec<&'static str>,
    options: Vec<(Vec<&'static str>, Vec<&'static str>)>,
}

/// The places that a command with these words writes to, if it writes.
pub(super) fn known_places(name: &str, args: &[Arg]) -> Vec<KnownPlace> {
    static TABLE: LazyLock<HashMap<&'static str, Vec<Entry>>> = LazyLock::new(|| read(TEXT).0);
    let Some(entries) = TABLE.get(name) else { return Vec::new() };
    let fits = |entry: &'static Entry| Some((entry, after_words(&entry.words, args)?));
    let longest = entries.iter().filter_map(fits).max_by_key(|(entry, _)| entry.words.len());
    let Some((entry, from)) = longest else { return Vec::new() };
    let mut places = entry.places(args, from);
    if name == "git" && git_settings::are_harmless(&entry.words, &args[from..]) {
        places.iter_mut().for_each(KnownPlace::mark_harmless_settings);
    }
    places
}

/// Where the words after the subcommand begin. Options may stand before it, each perhaps with a value.
fn after_words(words: &[&str], args: &[Arg]) -> Option<usize> {
    let mut wanted = words.iter();
    let mut next = wanted.next();
    let mut after_option = false;
    for (at, arg) in args.iter().enumerate() {
        let Some(word) = next else { return Some(at) };
        match arg {
            Arg::Known(text) if text == word => {
                next = wanted.next();
                after_option = false;
            }
            Arg::Known(text) if text.starts_with('-') => after_option = true,
            _ if after_option => after_option = false,
            _ => return None,
        }
    }
    next.is_none().then_some(args.len())
}

impl Entry {
    fn places(&'static self, args: &[Arg], from: usize) -> Vec<KnownPlace> {
        let mut used = self.options.iter().flat_map(|(names, places)| {
            names.iter().filter_map(move |name| Some((places, value_of(name, args)?)))
        });
        let Some(first) = used.next() else {
            return self.places.iter().flat_map(|place| known(place, &args[from..], None)).collect();
        };
        let used: Vec<_> = std::iter::once(first).chain(used).collect();
        if used.iter().any(|(places, _)| places.is_empty()) {
            return Vec::new();
        }
        let places = used.iter().flat_map(|(places, value)| {
            places.iter().flat_map(|place| known(place, &args[from..], value.as_ref()))
        });
        places.collect()
    }
}

/// Whether an option is among the words, and what stands behind it.
fn value_of(name: &str, args: &[Arg]) -> Option<Option<Arg>> {
    let words =
        args.iter().enumerate().take_while(|(_, arg)| !matches!(arg, Arg::Known(text) if text == "--"));
    for (at, arg) in words {
        let (Arg::Known(text) | Arg::Unknown { prefix: text, .. }) = arg else { continue };
        let next = || args.get(at + 1).cloned();
        let is_open = matches!(arg, Arg::Unknown { .. });
        let attached = |value: &str| match is_open {
            true => Arg::Unknown { prefix: value.to_owned(), splits: false },
            false => Arg::Known(value.to_owned()),
        };
        if text == name && !is_open {
            return Some(next());
        }
        if name.starts_with("--") {
            match text.split_once('=') {
                Some((option, value)) if option == name => return Some(Some(attached(value))),
                // A long option may be shortened: `--glob`, `--fil x`.
                None if !is_open && text.len() > 3 && name.starts_with(text.as_str()) => return Some(next()),
                Some((option, value)) if option.len() > 3 && name.starts_with(option) => {
                    return Some(Some(attached(value)));
                }
                _ => continue,
            }
        }
        // `-lf x`, `-fx`
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else {
            continue;
        };
        let letter = name.trim_start_matches('-');
        if name.len() == 2
            && let Some((_, rest)) = letters.split_once(letter)
        {
            return Some(if rest.is_empty() && !is_open { next() } else { Some(attached(rest)) });
        }
    }
    None
}

/// The places that a word of the text stands for, for these operands.
fn known(place: &'static str, args: &[Arg], value: Option<&Arg>) -> Vec<KnownPlace> {
    let named: Vec<Arg> = match place {
        "@" => value.cloned().into_iter().collect(),
        "@1" => git_settings::worktree_directory(args).cloned().into_iter().collect(),
        "@*" => args.iter().filter(|arg| is_operand(arg)).cloned().collect(),
        _ => {
            return vec![match (place.strip_prefix("~/"), place.strip_prefix(".git/")) {
                (Some(place), _) => KnownPlace::Home(place),
                (_, Some(place)) => KnownPlace::Git(place),
                _ => KnownPlace::Path(Arg::Known(place.to_owned())),
            }];
        }
    };
    if named.is_empty() {
        return vec![KnownPlace::Path(Arg::Known(".".to_owned()))];
    }
    named.into_iter().map(KnownPlace::Path).collect()
}

/// A word that may name a directory: no option, and no address such as `https://host/x` or `host:x`.
fn is_operand(arg: &Arg) -> bool {
    match arg {
        Arg::Known(text) => {
            !text.starts_with('-') && !text.contains("://") && host::before_colon(arg).is_none()
        }
        _ => true,
    }
}

/// The entries by their program, and what could not be read.
fn read(text: &'static str) -> (HashMap<&'static str, Vec<Entry>>, Vec<&'static str>) {
    let mut blocks: Vec<(Vec<&'static str>, Entry)> = Vec::new();
    let mut faults = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let Some((names, places)) =
            line.split_once('=').map(|(names, places)| (listed(names), words(places)))
        else {
            faults.push(line);
            continue;
        };
        match (line.starts_with(' '), blocks.last_mut()) {
            (false, _) => blocks.push((names, Entry { places, ..Entry::default() })),
            (true, Some((_, entry))) if names.iter().all(|name| name.starts_with('-')) => {
                entry.options.push((names, places));
            }
            _ => faults.push(line),
        }
    }
    let mut entries: HashMap<&'static str, Vec<Entry>> = HashMap::new();
    for (names, Entry { places, options, .. }) in blocks {
        for name in names {
            let mut words = words(name).into_iter();
            let Some(program) = words.next() else { continue };
            let entry = Entry { words: words.collect(), places: places.clone(), options: options.clone() };
            entries.entry(program).or_default().push(entry);
        }
    }
    (entries, faults)
}

fn listed(names: &'static str) -> Vec<&'static str> {
    names.split(',').map(str::trim).collect()
}

fn words(text: &'static str) -> Vec<&'static str> {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &str) {
        let mut words = command.split(' ').map(|word| Arg::Known(word.to_owned()));
        let Some(Arg::Known(program)) = words.next() else { panic!("no program") };
        let places = known_places(&program, &words.collect::<Vec<_>>());
        let told: Vec<String> = places
            .into_iter()
            .map(|place| match place {
                KnownPlace::Home(place) => format!("~/{place}"),
                KnownPlace::Git(place) => format!(".git/{place}"),
                KnownPlace::HarmlessGit(place) => format!(".git/{place} (harmless)"),
                KnownPlace::Path(Arg::Known(path)) => path,
                KnownPlace::Path(path) => format!("{path:?}"),
            })
            .collect();
        assert_eq!(told.join(" "), expected, "{command}");
    }

    #[test]
    fn every_line_is_understood() {
        let (entries, faults) = read(TEXT);
        assert_eq!(faults, Vec::<&str>::new());
        assert!(entries.values().map(Vec::len).sum::<usize>() > 150);
    }

    #[test]
    fn a_subcommand_is_found_behind_options() {
        check("git config a.b c", ".git/config");
        check("git -C sub --no-pager config a.b c", ".git/config");
        check("git remote -v add x ext::u", ".git/config");
        check("git commit -m config", "");
        check("git log config", "");
        check("npm --prefix x config set k v", "~/.npmrc .npmrc");
        check("kubectl --context a config set-credentials u", "~/.kube/config");
    }

    #[test]
    fn an_option_chooses_the_place() {
        check("git config --global a.b c", "~/.gitconfig ~/.config/git/config");
        check("git config --glob a.b c", "~/.gitconfig ~/.config/git/config");
        check("git config a.b c --system", "/etc/gitconfig");
        check("git config -f x a.b c", "x");
        check("git config -fx a.b c", "x");
        check("git config --file=x a.b c", "x");
        check("go env GOPATH", "");
        check("go env -w GOFLAGS=-x", "~/.config/go/env");
        check("ssh-keygen -t ed25519 -N x", "~/.ssh/id_ed25519 ~/.ssh/id_rsa");
        check("ssh-keygen -f key", "key");
        check("ssh-keygen -lf key", "");
        check("git submodule update", "");
        check("git submodule update --init", ".git/config");
        check("systemctl --user enable x", "~/.config/systemd/user");
    }

    #[test]
    fn harmless_settings_of_a_repository_are_marked() {
        for command in [
            "git config pull.rebase true",
            "git config --local User.Name x",
            "git config set pull.rebase true",
            "git config --unset branch.x.remote",
            "git config unset branch.x.remote",
            "git remote add o https://h.test/r",
            "git remote add -f -t main --tags o git@h.test:r",
            "git remote set-url --push o ../r",
            "git remote rename a b",
            "git remote remove a",
        ] {
            check(command, ".git/config (harmless)");
        }
        let worktree = ".git/config (harmless) .git/config.worktree (harmless)";
        check("git -C sub config --worktree core.sparseCheckout true", worktree);
    }

    #[test]
    fn powerful_and_unknown_settings_are_a_place() {
        for command in [
            "git config core.hooksPath x",
            "git config CORE.FSMonitor x",
            "git config a.b.c d",
            "git config set core.pager x",
            "git config --unset core.hooksPath",
            "git config --rename-section user alias",
            "git config --edit",
            "git config edit",
            "git config user.name x y",
            "git config remove-section user",
            "git config --comment x user.name y",
            "git config remote.o.url ext::sh",
            "git config branch.x.remote ext::sh",
            "git remote add o ext::sh",
            "git remote add -x o u",
            "git remote set-url o hg::u",
        ] {
            check(command, ".git/config");
        }
        check("git config --global user.name x", "~/.gitconfig ~/.config/git/config");
        check("git config -f .git/config user.name x", ".git/config");
    }

    #[test]
    fn the_longest_name_holds() {
        check("aws configure set a b", "~/.aws/config ~/.aws/credentials");
        check("aws configure list", "");
        check("aws s3 ls", "");
    }

    #[test]
    fn operands_that_may_be_directories_are_places() {
        check("git worktree add -b x ../w main", "../w .git/worktrees");
        check("git worktree add --detach ../w", "../w .git/worktrees");
        check("git worktree remove ../w", "../w .git/worktrees");
        check("git clone https://h.test/r.git there", "there");
        check("git clone git@h.test:r.git", ".");
    }
}

//! The examples in `cases.txt`, and what must hold for whatever words come.

use haft_tool::{Access, Class};
use proptest::prelude::*;

use super::*;

const CASES: &str = include_str!("cases.txt");
const ALLOWED: &str = include_str!("allowed.txt");
const TABLE: &str = include_str!("table.txt");

/// The cases: what is expected, whether a doubt is, and the command.
fn cases() -> impl Iterator<Item = (&'static str, bool, &'static str)> {
    CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let (expected, command) = line.split_once(" | ").expect("a case has a bar");
        let mut words = expected.split_whitespace();
        (words.next().expect("a class"), words.next() == Some("doubt"), command)
    })
}

/// The words of a command, as `cases.txt` writes them.
fn argv(command: &str) -> Vec<Arg> {
    let mut words = Vec::new();
    let mut rest = command.trim_start();
    while !rest.is_empty() {
        let (word, after) = word(rest);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn word(text: &str) -> (Arg, &str) {
    let (mut known, mut pattern, mut unknown, mut quote) = (String::new(), false, None, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, ' ') => return (finish(known, pattern, unknown), &text[at..]),
            (None, '\'' | '"') => quote = Some(letter),
            (Some(mark), _) if mark == letter => quote = None,
            (None, '*') => {
                pattern = true;
                known.push('*');
            }
            (None | Some('"'), '$') if unknown.is_none() => unknown = Some((known.clone(), quote.is_none())),
            _ => known.push(letter),
        }
    }
    (finish(known, pattern, unknown), "")
}

fn finish(known: String, pattern: bool, unknown: Option<(String, bool)>) -> Arg {
    match unknown {
        Some((prefix, splits)) => Arg::Unknown { prefix, splits },
        None if pattern => Arg::Glob(known),
        None => Arg::Known(known),
    }
}

fn facts(command: &str) -> Facts {
    look_at(&argv(command))
}

#[test]
fn every_example_is_judged_as_it_says() {
    let mut wrong = Vec::new();
    for (class, doubt, command) in cases() {
        let facts = facts(command);
        if facts.class.to_string() != class || facts.doubt.is_some() != doubt {
            wrong.push(format!("{command}: {}, {:?}", facts.class, facts.doubt));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Ordinary lines, each with the words of a rule that is to cover it.
fn allowed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = ALLOWED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let (rule, command) = line.split_once(" | ").expect("a line has a bar");
        (rule.trim(), command)
    })
}

#[test]
fn a_rule_for_a_program_covers_ordinary_lines() {
    let mut asked = Vec::new();
    for (rule, line) in allowed() {
        assert!(argv(line).starts_with(&argv(rule)), "the rule `{rule}` is not for `{line}`");
        let facts = facts(line);
        if facts.doubt.is_some() || facts.touches.iter().any(|touch| touch.aside) {
            asked.push(format!("{line}: {:?}", facts.doubt));
        }
    }
    assert!(asked.is_empty(), "{}", asked.join("\n"));
}

/// The entries of the table: their names, whether they are readers, and whether all their options are harmless.
fn entries() -> impl Iterator<Item = (Vec<&'static str>, bool, bool)> {
    TABLE.lines().filter(|line| !line.starts_with([' ', '#'])).filter_map(|line| {
        let (names, rest) = line.split_once(" = ")?;
        Some((names.split(", ").collect(), rest.starts_with("reads"), rest.contains("harmless")))
    })
}

fn is_of(command: &str, name: &str) -> bool {
    command.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[test]
fn every_entry_of_the_table_has_an_example() {
    let commands: Vec<&str> =
        cases().map(|(_, _, command)| command).chain(allowed().map(|(_, line)| line)).collect();
    let mut missing = Vec::new();
    for (names, _, _) in entries() {
        let has = names.iter().any(|name| commands.iter().any(|command| is_of(command, name)));
        missing.extend((!has).then_some(names));
    }
    assert!(missing.is_empty(), "no example for {missing:?}");
}

#[test]
fn every_reader_that_can_do_more_has_an_example_where_it_does() {
    // What these do depends on what they run, or they have nothing to say.
    let others = ["trap", "eval", "systemctl status", "ip a show", "stty size"];
    for (names, reader, harmless) in entries() {
        if !reader || harmless || names.iter().any(|name| others.contains(name)) {
            continue;
        }
        let unsafe_one = |(class, _, command): (&str, bool, &str)| {
            class != "read_only"
                && names.iter().any(|name| command.contains(&format!("{name} ")) || command == *name)
        };
        assert!(cases().any(unsafe_one), "no unsafe example for {names:?}");
    }
}

fn touches(command: &str) -> Vec<String> {
    let show = |arg: &Arg| match arg {
        Arg::Known(text) => text.clone(),
        Arg::Glob(pattern) => format!("<{pattern}>"),
        Arg::Unknown { prefix, .. } => format!("<{prefix}?>"),
    };
    let mark = |touch: &Touch| match (touch.access, touch.aside) {
        (Access::Read, _) => "reads",
        (Access::Write, false) => "writes",
        (Access::Write, true) => "aside",
    };
    facts(command).touches.iter().map(|touch| format!("{} {}", mark(touch), show(&touch.path))).collect()
}

#[test]
fn the_paths_that_are_touched_are_told() {
    for (command, expected) in [
        ("cat -n a b", &["reads a", "reads b"][..]),
        ("cat - a", &["reads a"]),
        ("ls", &[]),
        ("grep -n foo a", &["reads a"]),
        ("grep -e foo a", &["reads a"]),
        ("grep -r foo", &["reads ."]),
        ("rg foo", &["reads ."]),
        ("rg -f patterns src", &["reads patterns", "reads src"]),
        ("find src -name x", &["reads src"]),
        ("find -name x", &["reads ."]),
        ("find a b -delete", &["reads a", "reads b", "aside a", "aside b"]),
        ("sort -o out in", &["aside out", "reads in"]),
        ("sort -oout in", &["aside out", "reads in"]),
        ("uniq in out", &["reads in", "aside out"]),
        ("sed -n p a b", &["reads a", "reads b"]),
        ("sed -i p a", &["reads a", "writes a"]),
        ("sed 'r x' a", &["reads a", "reads x"]),
        ("awk 1 a", &["reads a"]),
        ("cp a b d", &["reads a", "reads b", "writes d"]),
        ("cp -t d a b", &["writes d", "reads a", "reads b"]),
        ("cp --target-directory=d a", &["writes d", "reads a"]),
        ("mv a b", &["reads a", "writes a", "writes b"]),
        ("mv -t d a", &["writes d", "reads a", "writes a"]),
        ("touch a", &["writes a"]),
        ("tee a", &["writes a"]),
        ("chmod 600 a", &["reads a", "writes a"]),
        ("less a", &["reads a"]),
        ("rm -rf -- -x", &["writes -x"]),
        ("tee -a a b", &["reads a", "writes a", "reads b", "writes b"]),
        ("dd if=a of=b bs=1", &["reads a", "writes b"]),
        ("tar xzf a.tgz -C out", &["writes out", "reads a.tgz"]),
        ("tar czf a.tgz -C d src", &["reads d/src", "writes a.tgz"]),
        ("unzip a.zip", &["reads a.zip", "writes ."]),
        ("unzip -d out a.zip", &["writes out", "reads a.zip"]),
        ("gzip -c a", &["reads a"]),
        ("curl -o out -d @body http://x.test", &["aside out", "reads body"]),
        ("curl -o - http://x.test", &[]),
        ("curl -O http://x.test/a", &["writes ."]),
        ("git diff --output=out", &["aside out"]),
        ("git show HEAD:a/b", &["reads a/b"]),
        ("git cat-file -p HEAD:a/b", &["reads a/b"]),
        ("git cat-file blob HEAD:a/b", &["reads a/b"]),
        ("git -C sub diff a", &["reads sub/a", "reads sub"]),
        ("git -C sub diff /a", &["reads /a", "reads sub"]),
        ("git -C a -C b diff c", &["reads a/b/c", "reads a/b"]),
        ("find \"$x\" -name y", &["reads <?>"]),
        ("git checkout -- a", &["writes a"]),
        (". env.sh", &["reads env.sh"]),
        ("cat \"$x\"", &["reads <?>"]),
        ("cat a/*", &["reads <a/*>"]),
        ("rsync -a a h.test:b", &["reads a"]),
    ] {
        assert_eq!(touches(command), expected, "{command}");
    }
}

#[test]
fn what_is_run_is_told() {
    let command = |words: &str| Run::Command { argv: argv(words), directory: None };
    let script = |text: &str| Run::Script(Arg::Known(text.to_owned()));
    for (outer, expected) in [
        ("timeout -k 1 5 git push x", command("git push x")),
        ("nice -n 5 git push", command("git push")),
        ("env -u HOME A=b git push", command("git push")),
        ("sudo -u bob A=b git push", command("git push")),
        ("ionice -c 3 git push", command("git push")),
        ("command -- git push", command("git push")),
        ("exec git push", command("git push")),
        ("chrt -i 0 git push", command("git push")),
        ("strace -f git push", command("git push")),
        ("xargs -n 1 git push", command("git push $x")),
        ("xargs -I % git push %", command("git push \"$x\"")),
        ("find . -exec git push {} ;", command("git push \".$x\"")),
        ("docker exec -it c git push", command("git push")),
        ("docker run --rm -v a:b img git push", command("git push")),
        ("busybox rm x", command("rm x")),
        ("sh -c 'git push'", script("git push")),
        ("bash -ec 'git push' x", script("git push")),
        ("eval git push", script("git push")),
        ("trap 'git push' EXIT", script("git push")),
        ("su -c 'git push' bob", script("git push")),
        ("su bob", Run::Input),
        ("runuser -u bob -- git push -f", command("git push -f")),
        ("unshare -r git push", command("git push")),
        ("nsenter -t 1 -m git push", command("git push")),
        ("ssh -p 1 h.test git push", script("git push")),
        ("flock -n x git push", command("git push")),
        ("watch -n 1 git push", script("git push")),
        ("script -c 'git push' out", script("git push")),
        ("flock x -c 'git push'", script("git push")),
        ("bash run.sh x", Run::File(Arg::Known("run.sh".to_owned()))),
        (". ./env.sh", Run::File(Arg::Known("./env.sh".to_owned()))),
        ("bash -s x", Run::Input),
        ("sh", Run::Input),
    ] {
        let runs = facts(outer).runs;
        assert!(runs.contains(&expected), "{outer}: {runs:?}");
    }
}

#[test]
fn only_plain_wrappers_are_looked_through_without_a_rule() {
    for clear in [
        "env ls",
        "env LC_ALL=C ls",
        "timeout 5 ls",
        "nice ls",
        "nohup ls",
        "stdbuf -oL ls",
        "time ls",
        "command ls",
        "xargs ls",
    ] {
        assert!(facts(clear).transparent, "{clear}");
    }
    for other in [
        "env -i ls",
        "env FOO=x ls",
        "env PATH=. ls",
        "env -S ls",
        "sudo ls",
        "sh -c ls",
        "find . -exec ls ;",
        "xargs -a list ls",
        "time -o x ls",
        "/usr/bin/env ls",
        "command -p ls",
        "timeout $x ls",
    ] {
        assert!(!facts(other).transparent, "{other}");
    }
}

#[test]
fn options_before_a_subcommand_do_not_hide_it() {
    for (command, spelling) in [
        ("git -C sub push x", "git push x"),
        ("git --no-pager -c a=b push", "git push"),
        ("docker --context c rm x", "docker rm x"),
        ("docker compose -f y down", "docker compose down"),
        ("kubectl -n x delete pod y", "kubectl delete pod y"),
        ("npm --prefix x publish", "npm publish"),
        ("/usr/bin/git push", "git push"),
        ("./git push", "git push"),
        ("uv run git push", "git push"),
    ] {
        let spellings = facts(command).spellings;
        assert!(spellings.contains(&argv(spelling)), "{command}: {spellings:?}");
    }
}

#[test]
fn a_program_that_is_named_by_a_path_needs_a_rule() {
    for command in ["/usr/bin/ls", "/bin/cat a", "./ls", "/tmp/git status", "../ls", "x/ls"] {
        assert_eq!(facts(command).class, Class::Write, "{command}");
    }
    assert_eq!(touches("/bin/cat a"), ["reads a"]);
    assert_eq!(facts("/bin/rm a").class, Class::Destructive);
}

#[test]
fn a_program_that_nobody_knows_is_a_write_without_a_doubt() {
    assert_eq!(facts("frobnicate -x y"), Facts::of(Class::Write));
}

#[test]
fn a_program_whose_name_is_not_known_is_a_doubt() {
    for command in ["$x", "\"$x\" a", "l* a", ""] {
        assert!(facts(command).doubt.is_some(), "{command}");
    }
}

#[test]
fn hosts_are_told_with_what_is_done_there() {
    for (command, host, access) in [
        ("curl http://x.test/a", "x.test", Access::Read),
        ("curl -d a=b http://x.test/a", "x.test", Access::Write),
        ("curl -X POST http://x.test/a", "x.test", Access::Write),
        ("wget -q https://x.test", "x.test", Access::Read),
        ("ssh me@x.test", "x.test", Access::Read),
        ("scp a x.test:b", "x.test", Access::Write),
        ("ping -c 1 x.test", "x.test", Access::Read),
    ] {
        assert_eq!(facts(command).hosts, [(Arg::Known(host.to_owned()), access)], "{command}");
    }
}

/// What a rule for a program means where the program is to do what it is told: run code, run another program, or end or
/// erase something, whatever its options. No other entry may pass over options.
const ALL_THAT_IT_DOES: &[(&str, &[&str])] = &[
    (
        "interprets code",
        &[
            "python", "lua", "tclsh", "node", "ruby", "java", "swiftly", "mongosh", "ansible", "cabal",
            "stack", "nix",
        ],
    ),
    ("runs other programs", &["unshare", "valgrind", "parallel", "systemd-run", "npm exec", "yarn exec"]),
    ("is an editor, which can run commands", &["view"]),
    (
        "ends processes, sessions or the system",
        &["pkill", "killall5", "reboot", "init", "rtcwake", "kexec", "loginctl", "busctl", "ipmitool"],
    ),
    ("changes disks", &["mkfs", "fdisk", "sgdisk", "wipefs", "cryptsetup", "swapoff", "hdparm", "nvme"]),
    ("runs clusters, storage or the changes of a database", &["kind", "ceph", "rails"]),
];

#[test]
fn only_programs_that_do_what_they_are_told_pass_over_options() {
    let open = TABLE.lines().filter(|line| !line.starts_with([' ', '#'])).filter_map(|line| {
        let (names, rest) = line.split_once(" = ")?;
        let words = rest.split(" : ").next()?;
        words.split(' ').any(|word| word == "open").then(|| names.split(", ").next()).flatten()
    });
    let listed: Vec<&str> = ALL_THAT_IT_DOES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let mut open: Vec<&str> = open.collect();
    let mut expected = listed;
    open.sort_unstable();
    expected.sort_unstable();
    assert_eq!(open, expected);
}

#[test]
fn an_option_that_nobody_knows_is_more_than_a_rule_covers() {
    // What these take is text, whatever it looks like, or they do what they are told.
    let takes_text = ["test", "[", "eval", "trap", "source", ".", "sh", "kill", "dd"];
    for line in TABLE.lines().filter(|line| !line.starts_with([' ', '#'])) {
        let Some((names, rest)) = line.split_once(" = ") else { continue };
        let habits: Vec<&str> = rest.split(" : ").next().unwrap_or_default().split(' ').collect();
        let name = names.split(", ").next().unwrap_or_default();
        let any = ["open", "harmless"].iter().any(|habit| habits.contains(habit));
        if any || takes_text.contains(&name) || name.starts_with("group ") {
            continue;
        }
        for option in ["--frobnicate", "--frobnicate=x", "-\u{e9}"] {
            let mut argv = argv(name);
            argv.push(Arg::Known(option.to_owned()));
            assert!(look_at(&argv).doubt.is_some(), "{argv:?}");
        }
    }
}

#[test]
fn a_word_that_could_be_an_option_of_a_reader_is_not_harmless() {
    // All of their words are names or text, and judged as such.
    let takes_text = ["test", "[", "eval", "trap", "cd"];
    for (names, reader, harmless) in entries() {
        let Some(name) = names.first().filter(|name| reader && !harmless && !takes_text.contains(name))
        else {
            continue;
        };
        for splits in [false, true] {
            let mut argv = argv(name);
            argv.push(Arg::Unknown { prefix: String::new(), splits });
            assert!(look_at(&argv).doubt.is_some(), "{argv:?}");
        }
    }
}

#[test]
fn what_is_told_does_not_outgrow_the_command() {
    let long = "x".repeat(20_000);
    let many = " {}".repeat(20_000);
    for command in [
        format!("git -C {long} diff{}", " a".repeat(20_000)),
        format!("git{} diff a", " -C ab".repeat(20_000)),
        format!("find {long} -exec ls{many} ;"),
        format!("find{}{}", " a".repeat(10_000), " -delete".repeat(10_000)),
        format!("unshare{}", " a".repeat(20_000)),
        format!("tar {}", "f".repeat(20_000)),
        format!("awk '{}'", ") ".repeat(20_000)),
        format!("sed '{}'", "w a\n".repeat(10_000)),
    ] {
        let told = format!("{:?}", facts(&command)).len();
        assert!(told < 200 * command.len(), "{told} bytes about {}", &command[..20]);
    }
}

/// Words that mean something somewhere.
fn any_word() -> impl Strategy<Value = Arg> {
    let table: Vec<String> = TABLE.split([' ', ',', '\n', '=', '!', '[']).map(str::to_owned).collect();
    let known = prop_oneof![prop::sample::select(table), "[-a-z=/.{}';+*$ü]{0,6}"];
    prop_oneof![
        6 => known.clone().prop_map(Arg::Known),
        1 => known.clone().prop_map(Arg::Glob),
        1 => (known, any::<bool>()).prop_map(|(prefix, splits)| Arg::Unknown { prefix, splits }),
    ]
}

fn any_program() -> impl Strategy<Value = Vec<Arg>> {
    let names: Vec<&str> = entries().flat_map(|(names, _, _)| names).collect();
    prop::sample::select(names).prop_map(argv)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_words_make_it_panic_and_what_is_doubtful_is_never_harmless(
        program in any_program(), rest in prop::collection::vec(any_word(), 0..6),
    ) {
        let facts = look_at(&[program, rest].concat());
        prop_assert!(facts.doubt.is_none() || facts.class >= Class::Write);
        prop_assert!(!facts.transparent || facts.class == Class::ReadOnly);
        prop_assert!(facts.hosts.is_empty() || facts.class >= Class::Write);
    }
}

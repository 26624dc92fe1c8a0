use std::{io::Write, path::Path, process::Stdio};

use proptest::prelude::*;

use super::{compare::KeyChange, *};

/// Keys with their values.
type Settings = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// What the installed git reads in a file: each key, and its value if it has one. `None` if it cannot read it.
#[expect(clippy::disallowed_methods, reason = "the real git is what the reader is compared with")]
fn read_by_git(bytes: &[u8]) -> Option<Settings> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let output = std::process::Command::new("git")
        .args(["config", "-z", "--list", "-f"])
        .arg(file.path())
        .env("LC_ALL", "C")
        .current_dir("/")
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let pair = |item: &[u8]| match memchr::memchr(b'\n', item) {
        Some(at) => (item[..at].to_vec(), Some(item[at + 1..].to_vec())),
        None => (item.to_vec(), None),
    };
    let items =
        output.stdout.strip_suffix(b"\0").map(|text| text.split(|byte| *byte == 0).map(pair).collect());
    output.status.success().then(|| items.unwrap_or_default())
}

fn read_by_us(bytes: &[u8]) -> Option<Settings> {
    Some(read(bytes).ok()?.into_iter().map(|entry| (entry.key, entry.value)).collect())
}

#[track_caller]
fn check_agreement(bytes: &[u8]) {
    assert_eq!(read_by_us(bytes), read_by_git(bytes), "{:?}", String::from_utf8_lossy(bytes));
}

#[test]
fn reader_agrees_with_git_on_the_corners_of_the_format() {
    let files: &[&[u8]] = &[
        b"",
        b"\n",
        b"[a]",
        b"[a]b",
        b"[a] b",
        b"[a]b=c",
        b"[a]\nb = c # d\n e=\"f;g\" ; h",
        b"[A \"B\"]\nC = D",
        b"[a.B]\nc=1",
        b"[a.B \"C\"]\nd",
        b"[a \"b\\\"c\\d\"]e",
        b"[a \"b\nc\"]d",
        b"[a]\nb = c\\\n  d\n",
        b"[a]b=c \\\n",
        b"[a]b=\"c",
        b"[a]b=\\x",
        b"[a]b=\\t\\b\\n\\\\\\\"",
        b"[a]b= c  \t d  ",
        b"[a]b=c\r\nd=e\r\n",
        b"[a]b=c\rd",
        b"[a]\rb",
        b"\xef\xbb\xbf[a]b=c",
        b"\xef\xbb[a]b",
        b"b=c",
        b"[]b",
        b"[ \"x\"]b=c",
        b"[a \"\"]b",
        b"[a ]b",
        b"[a\t \"b\"]c",
        b"[a \"b\" ]c",
        b"[a]b c",
        b"[a]b\t = c",
        b"[a]1b",
        b"[a]-b",
        b"[a]b-c=",
        b"[a]b_c",
        b"[a][b]c",
        b"[a]b=c\\",
        b"[a \"b",
        b"[a",
        b"[.]b",
        b"[a]b=\"\" c",
        b"[a]b=c\\\r\nd",
        b"[a \"b\\\r\n\"]c",
        b"[a]b=\"c\r\n\"",
        b"# x\\\n[a]b",
        b"[a]\x0bb",
        b"[a]b=\x0bc",
        b"[a]b=c;d#e\n;f\n",
        b"[a]b=\"c;d\"e # f",
        b"[a \"b.c\"]D=1",
        b"[\xc3\xa4]b",
        b"[a]b=\xff\xfe",
        b"[a\n]b",
        b"[a \n\"b\"]c",
    ];
    files.iter().for_each(|bytes| check_agreement(bytes));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn reader_agrees_with_git_on_random_files(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "[", "]", "[a]", "[a \"B\"]", "[core]", "[a.b]", "\"", "\\", "\\n", "\\\"", "\n", "\n\t", "\r", "\r\n", " ", "\t", "=", " = ", "a", "B-1", "x.y",
            ";", "#", ".", "\u{feff}", "\u{b}", "\u{e4}", "-", "_", "path = c\n", "url", "1",
        ]), 0..24)
    ) {
        check_agreement(pieces.concat().as_bytes());
    }

    #[test]
    fn revert_takes_back_powerful_changes_and_keeps_harmless_ones(
        before in lines(), current in lines()
    ) {
        let reverted = revert(current.as_bytes(), before.as_bytes(), None);
        let left = compare(before.as_bytes(), &reverted);
        prop_assert!(left.iter().all(KeyChange::is_harmless), "{left:?}\n{}", String::from_utf8_lossy(&reverted));
        let harmless = |changes: Vec<KeyChange>| changes.into_iter().filter(KeyChange::is_harmless).collect::<Vec<_>>();
        prop_assert_eq!(harmless(left), harmless(compare(before.as_bytes(), current.as_bytes())));
        check_agreement(&reverted);
    }
}

/// Files of harmless and powerful keys.
fn lines() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "[core]",
        "[user] name = x",
        "[user]",
        "[remote \"o\"]",
        "[branch \"a \\\"b\"]",
        "[include] path = x",
        "[alias] a = !b",
        "\tname = \"a; b\"",
        "\turl = https://h.test/r",
        "\turl = ext::sh",
        "\tfsmonitor = ./x",
        "\tbare = true",
        "\tbare",
        "# text",
        "\tremote = o",
        "\thooksPath = h",
        "\tdescription = \"a\\n\\tb\\\\\\\"\"",
        "\tfetch = +a:b",
    ]);
    prop::collection::vec(line, 0..10).prop_map(|lines| format!("[core]\n{}", lines.join("\n")))
}

#[track_caller]
fn check_value(key: &str, value: &str, expected: bool) {
    assert_eq!(is_harmless(key.as_bytes(), Some(value.as_bytes())), expected, "{key} = {value}");
}

#[test]
fn keys_that_ordinary_work_changes_are_harmless() {
    for (key, value) in [
        ("branch.a.b.remote", "origin"),
        ("branch.x.remote", "."),
        ("branch.x.merge", "refs/heads/x"),
        ("branch.x.rebase", "true"),
        ("remote.o.url", "git@host.test:a/b.git"),
        ("remote.o.fetch", "+refs/heads/*:refs/remotes/o/*"),
        ("pull.rebase", "true"),
        ("user.email", "a@b.test"),
        ("submodule.s.url", "../s"),
        ("submodule.s.update", "rebase"),
        ("core.autocrlf", "input"),
        ("core.fsmonitor", "false"),
        ("pager.log", "off"),
        ("extensions.worktreeconfig", "true"),
    ] {
        check_value(key, value, true);
    }
}

#[test]
fn keys_and_values_that_run_or_redirect_something_are_powerful() {
    for (key, value) in [
        ("core.fsmonitor", "./x"),
        ("core.fsmonitor", "true"),
        ("core.hookspath", "h"),
        ("core.sshcommand", "x"),
        ("core.worktree", "/"),
        ("alias.st", "status"),
        ("filter.f.clean", "x"),
        ("diff.d.textconv", "x"),
        ("diff.external", "x"),
        ("merge.m.driver", "x"),
        ("merge.tool", "../../x"),
        ("credential.helper", "x"),
        ("gpg.program", "x"),
        ("gpg.ssh.program", "x"),
        ("include.path", "x"),
        ("includeif.gitdir:x.path", "x"),
        ("url.ext::sh.insteadof", "https:"),
        ("remote.o.uploadpack", "x"),
        ("remote.o.vcs", "x"),
        ("remote.o.url", "ext::sh -c x"),
        ("branch.b.remote", "ext::sh -c x"),
        ("submodule.s.update", "!x"),
        ("submodule.s.url", "-u x"),
        ("gc.recentobjectshook", "x"),
        ("pager.log", "less"),
        ("pager.log", "2"),
        ("protocol.ext.allow", "always"),
        ("sequence.editor", "x"),
        ("trailer.t.command", "x"),
        ("tar.x.command", "x"),
        ("lfs.customtransfer.x.path", "x"),
        ("no.such", "x"),
        ("name", "x"),
        (".x.name", "x"),
        ("user.x.name", "x"),
    ] {
        check_value(key, value, false);
    }
}

#[test]
fn addresses_by_which_git_runs_a_program_are_powerful() {
    for (url, expected) in [
        ("https://host.test/r", true),
        ("ssh://git@host.test:22/r", true),
        ("host.test:r", true),
        ("[::1]:r", true),
        ("git@[::1]:r", true),
        ("../r", true),
        ("/r/a::b", true),
        ("./a:b", true),
        ("file:///r", true),
        ("ext::sh -c x", false),
        ("fd::3", false),
        ("::x", false),
        ("hg::https://host.test/r", false),
        ("ftp2://host.test/r", false),
        ("-oProxyCommand=x", false),
        ("ssh://-oProxyCommand=x/r", false),
        ("ssh://u@-oProxyCommand=x/r", false),
        ("ssh://%2doProxyCommand=x/r", false),
        ("ssh://-o@host.test/r", false),
        ("-oProxyCommand=x:r", false),
        ("host.test:-r", false),
        ("https://host.test/a\nb", false),
        ("", false),
    ] {
        assert_eq!(is_harmless_url(url.as_bytes()), expected, "{url}");
    }
}

fn powerful(old: &str, new: &str) -> Vec<String> {
    let changes = compare(old.as_bytes(), new.as_bytes());
    changes.iter().filter(|change| !change.is_harmless()).map(KeyChange::name).collect()
}

#[test]
fn comparison_sees_removal_order_and_unreadable_files() {
    let guarded = "[protocol \"ext\"]\n\tallow = never\n";
    assert_eq!(powerful(guarded, ""), ["protocol.ext.allow"]);
    assert_eq!(powerful("[a]\nb", "[a]\nb=true"), ["a.b"]);
    assert!(!powerful("[a]b=c\n[include]path=d", "[include]path=d\n[a]b=c").is_empty());
    assert_eq!(powerful("[a]b=c", "[a]b=\"c").len(), 1);
    assert_eq!(powerful("[a]b=c\0", "[a]b=c").len(), 1);
    assert_eq!(powerful("[a]b=c", "[A]\n  B = c ; text"), Vec::<String>::new());
    assert_eq!(powerful("[a]b=c", "[a]b=c\n[branch \"x\"]remote=o\nmerge=m"), Vec::<String>::new());
}

#[test]
fn rewritten_addresses_are_powerful_where_the_rewriting_is() {
    let rewrite = "[url \"ext::sh -c \"]insteadOf = x:\n";
    let remote = "[remote \"o\"]url = x:y\n";
    assert_eq!(powerful("", remote), Vec::<String>::new());
    assert_eq!(powerful(rewrite, &format!("{rewrite}{remote}")), ["remote.o.url"]);
}

#[test]
fn tree_of_a_submodule_lies_in_the_repository_around_it() {
    let check = |tree: &str, expected: bool| {
        let new = format!("[core]worktree = {tree}");
        let changes = compare_in(Path::new("/w/.git/modules/a/b"), b"", new.as_bytes());
        assert_eq!(changes[0].is_harmless(), expected, "{tree}");
    };
    check("../../../../a/b", true);
    check("/w/a", true);
    check("../../../..", false);
    check("../../../../../x", false);
    check("../../../hooks", false);
    check("/", false);
    let at_root = compare_in(Path::new("/w/.git"), b"", b"[core]worktree=../x");
    assert!(!at_root[0].is_harmless());
}

#[test]
fn reverted_file_keeps_comments_and_places() {
    let before = "[core]\n\tbare = false\n# mine\n[user] name = a\n[include]\n\tpath = x\n";
    let current = "[core]\n\tbare = false\n\tfsmonitor = ./x\n# mine\n[user] name = b\n[include]\n\tpath = x\n[branch \"n\"]\n\tremote = o\n";
    let expected = "[core]\n\tbare = false\n# mine\n[user] \n\tname = b\n[include]\n\tpath = x\n[branch \"n\"]\n\tremote = o\n";
    let reverted = revert(current.as_bytes(), before.as_bytes(), None);
    assert_eq!(String::from_utf8_lossy(&reverted), expected);
}

#[test]
fn reverted_file_ends_a_last_line_that_goes_on() {
    let before = b"[core]\n\tpager = less \\\n";
    let current = b"[core]\n\tpager = evil\n[user]\n\tname = x\n";
    let reverted = revert(current, before, None);
    let left = compare(before, &reverted);
    assert!(left.iter().all(KeyChange::is_harmless), "{left:?}");
    assert!(left.iter().any(|change| change.name() == "user.name"), "{left:?}");
}

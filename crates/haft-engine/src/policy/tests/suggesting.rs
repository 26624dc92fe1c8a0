//! The narrowest rules: they allow the call, and no other.

use super::*;

#[track_caller]
fn check(case: &Case, expected: &[&str]) {
    let rules = narrowest_rules(&case.request());
    assert_eq!(rules.unwrap_or_default(), expected, "{case:?}");
}

/// The rules that *always* would write, beside these.
fn lasting(rules: &str, case: &Case) -> Vec<String> {
    policy(rules).lasting_rules(&case.request()).unwrap_or_default()
}

fn bash(line: &str) -> Case {
    case("Bash", runs(line))
}

#[test]
fn a_rule_names_one_path_host_or_server() {
    check(&case("Edit", writes("/w/app/src/a.rs").and_reads("/w/app/src/a.rs")), &["Edit(src/a.rs)"]);
    check(&case("Edit", writes("/tmp/out/a").and_reads("/tmp/out/a")), &["Edit(//tmp/out/a)"]);
    check(&case("Read", reads("/etc/hosts")), &["Read(//etc/hosts)"]);
    check(&case("Read", linked(reads("/w/app/l"), "/etc/hosts")), &["Read(//etc/hosts)"]);
    check(&case("WebFetch", Effects::fetches("docs.rs")), &["WebFetch(domain:docs.rs)"]);
    check(&case("mcp__a__b", Effects::unknown()).external(), &["mcp__a__b"]);
    let of_one = Effects::unknown().counting_as("mcp__a__ReadMcpResource");
    check(&case("ReadMcpResource", of_one).external(), &["mcp__a__ReadMcpResource"]);
    check(&case("Post", Effects::sends("a.org")), &["Post(domain:a.org)"]);
    check(&case("Move", writes("/w/app/a").and_writes("/w/app/b")), &["Edit(a)", "Edit(b)"]);
}

#[test]
fn where_no_rule_is_narrow_there_is_none() {
    check(&case("WebFetch", Effects::sends("a.org")), &[]);
    check(&case("Bash", runs("make").and_host("a.org", Access::Write)), &[]);
    check(&case("Any", Effects::unknown()), &[]);
    check(&case("Add", Effects::none()), &[]);
    check(&case("Edit", writes("/w/app")), &[]);
    check(&case("Edit", writes("/w")), &[]);
    let many = (0..20).fold(Effects::none(), |all, n| all.and_writes(format!("/w/app/{n}")));
    check(&case("ApplyPatch", many), &[]);
}

#[test]
fn a_command_is_named_with_all_of_its_words() {
    check(&bash("make"), &["Bash(make)"]);
    check(&bash("git commit -m x"), &["Bash(git commit -m x)"]);
    check(&bash("npm run build"), &["Bash(npm run build)"]);
    let odd = Effects::none()
        .and_command(["git", "commit", "-m", "it's a * (b):*", ""].map(str::to_owned).to_vec(), Class::Write);
    check(&case("Bash", odd), &[r"Bash(git commit -m 'it'\''s a * (b):*' '')"]);
    check(
        &case("Bash", runs("ls").and(runs("make")).and(runs("cargo test"))),
        &["Bash(make)", "Bash(cargo test)"],
    );
    check(&case("Bash", runs("ls").and_writes("/w/app/out.txt")), &["Edit(out.txt)"]);
}

#[test]
fn a_part_that_cannot_be_named_leaves_the_whole_without_rules() {
    let partial = |argv: &[&str]| CommandEffect {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        class: Class::Write,
        certainty: Certainty::Partial,
    };
    let mut effects = runs("make");
    effects.push_command(partial(&["rm", "…"]));
    check(&case("Bash", effects), &[]);
    check(&case("Bash", runs("make").and(runs("sh"))), &[]);
    check(&case("Bash", runs("make").and_command(vec!["echo\n".to_owned()], Class::Write)), &[]);
}

#[test]
fn words_that_mean_another_place_elsewhere_do_not_reach_out_of_the_workspace() {
    let removes = |word: &str, path: &str| {
        let mut effects = runs(&format!("rm {word}"));
        effects.push_path(PathEffect {
            path: path.into(),
            access: Access::Write,
            target: None,
            spread: Spread::All,
            by: Some(0),
            harmless: false,
            below: Below::default(),
        });
        case("Bash", effects)
    };
    check(&removes("a.txt", "/w/app/a.txt"), &["Bash(rm a.txt)"]);
    check(&removes("../x", "/w/x"), &[]);
    check(&removes("/w/x", "/w/x"), &["Bash(rm /w/x)"]);
}

/// Programs that run other programs or scripts: what follows them is the whole difference.
const LAUNCHERS: &str = "bash sh dash zsh ksh fish csh tcsh ash busybox python python2 python3 python3.12 pypy node nodejs deno bun tsx \
    ts-node ruby irb perl php lua luajit tclsh julia rscript groovy guile racket osascript pwsh powershell env sudo doas su pkexec \
    runuser xargs find parallel timeout nice ionice nohup setsid stdbuf watch time strace ltrace gdb chroot unshare nsenter flock \
    script screen tmux expect entr ssh mosh docker podman kubectl git hg svn npm npx pnpm yarn make cmake ninja just cargo go gradle mvn \
    ant rake bundle composer pip pipx poetry uv conda ansible terraform aws gcloud az gh psql mysql sqlite3 redis-cli awk sed vim ed \
    crontab at eval exec source command builtin systemd-run socat nc";

#[test]
fn no_beginning_of_a_command_is_ever_suggested() {
    for program in LAUNCHERS.split_whitespace() {
        for rest in ["", " x", " run x", " -c x", " exec x y"] {
            let line = format!("{program}{rest}");
            let case = case(
                "Bash",
                Effects::none().and_command(line.split(' ').map(str::to_owned).collect(), Class::Write),
            );
            for rule in narrowest_rules(&case.request()).unwrap_or_default() {
                assert_eq!(rule, format!("Bash({line})"));
            }
            for rule in lasting("", &case) {
                check_case(&format!("allow {rule}"), &bash_of(&format!("{line} more")), ASK);
            }
        }
    }
}

fn bash_of(line: &str) -> Case {
    case("Bash", Effects::none().and_command(line.split(' ').map(str::to_owned).collect(), Class::Write))
}

#[test]
fn what_is_kept_for_all_workspaces_names_paths_from_the_root() {
    assert_eq!(lasting("", &case("Edit", writes("/w/app/a"))), ["Edit(//w/app/a)"]);
    assert_eq!(lasting("", &bash("make")), ["Bash(make)"]);
}

#[test]
fn what_is_allowed_already_is_not_written_again() {
    let both = case("Bash", runs("make").and(runs("cargo test")).and_writes("/w/app/log"));
    assert_eq!(lasting("allow Bash(make); allow Edit(log)", &both), ["Bash(cargo test)"]);
    assert_eq!(lasting("", &both).len(), 3);
}

#[test]
fn always_is_not_offered_where_it_would_not_help_or_must_not() {
    assert_eq!(lasting("ask Bash(make:*)", &bash("make")), [""; 0]);
    assert_eq!(lasting("ask Edit", &case("Edit", writes("/w/app/a"))), [""; 0]);
    assert_eq!(lasting("", &case("Edit", writes("/w/app/.git/hooks/x"))), [""; 0]);
    assert_eq!(lasting("", &case("Add", Effects::none())), [""; 0]);
    assert_eq!(lasting("", &case("Any", Effects::none().irreversible())), [""; 0]);
}

const NAMES: &str = r"[a-z*?\[{ ':()\\-]{1,6}";

proptest! {
    #[test]
    fn the_rules_allow_the_call_and_no_neighbour(words in prop::collection::vec(NAMES, 1..4), more in NAMES) {
        let command = |words: &[String]| case("Bash", Effects::none().and_command(words.to_vec(), Class::Write));
        let call = command(&words);
        if let Some(rules) = policy("").lasting_rules(&call.request()) {
            let mut with = Rules::allowing(rules, Origin::Flag);
            with.deny.clear();
            let bases = Bases { workspace: WORKSPACE.into(), home: None };
            let policy = Policy::compile(with, &bases).unwrap();
            let verdict = |case: &Case| policy.decide(&case.request()).verdict;
            prop_assert_eq!(verdict(&call), ALLOW);
            prop_assert_eq!(verdict(&command(&[&words[..], std::slice::from_ref(&more)].concat())), ASK);
            for index in 0..words.len() {
                let mut other = words.clone();
                other[index].push('x');
                prop_assert_eq!(verdict(&command(&other)), ASK);
                other.remove(index);
                if !other.is_empty() {
                    prop_assert_eq!(verdict(&command(&other)), ASK);
                }
            }
        }
    }

    #[test]
    fn the_rule_for_a_path_allows_no_neighbour(name in r"[a-z~*?\[{ ']{1,6}", inside in any::<bool>()) {
        let path = |name: &str| format!("{}/{name}", if inside { "/w/app/d" } else { "/tmp/d" });
        let call = case("Edit", writes(&path(&name)));
        let rules = policy("").lasting_rules(&call.request()).unwrap_or_default();
        let text = rules.iter().map(|rule| format!("allow {rule}")).collect::<Vec<_>>().join(";");
        if !rules.is_empty() {
            check_case(&text, &call, ALLOW);
            check_case(&text, &case("Edit", writes(&path(&format!("{name}x")))), ASK);
            check_case(&text, &case("Edit", writes(&path(""))), ASK);
            check_case(&text, &case("Edit", writes("/w/other/d/a")), ASK);
        }
    }
}

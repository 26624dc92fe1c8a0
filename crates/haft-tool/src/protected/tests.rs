use std::path::Path;

use super::*;

const ROOT: &str = "/w/app";
const HOME: &str = "/home/u";

fn look(path: &str, writer: Writer) -> Option<Protected> {
    find(Path::new(path), Path::new(ROOT), Some(Path::new(HOME)), writer)
}

#[track_caller]
fn places(writer: Writer, expected: &[(&str, Option<&str>)]) {
    for (path, place) in expected {
        let found = look(path, writer).filter(|found| found.part == Part::Whole);
        let found = found.map(|found| found.place(Path::new(path)));
        assert_eq!(found.as_deref(), place.map(Path::new), "{path}");
    }
}

#[test]
fn a_name_counts_at_any_depth_with_all_below_it() {
    places(
        Writer::Process,
        &[
            ("/w/app/.vscode", Some("/w/app/.vscode")),
            ("/w/app/a/b/.vscode/x/tasks.json", Some("/w/app/a/b/.vscode")),
            ("/w/app/a/.npmrc", Some("/w/app/a/.npmrc")),
            ("/w/app/sub/.mvn/jvm.config", Some("/w/app/sub/.mvn")),
            ("/w/app/a/my.code-workspace", Some("/w/app/a/my.code-workspace")),
            ("/w/app/tools/bazel", Some("/w/app/tools/bazel")),
            ("/w/app/tools/bazel.py", None),
            ("/w/app/.gitignore", None),
            ("/w/app/.github/workflows/ci.yml", None),
            ("/w/app/src/main.rs", None),
        ],
    );
}

#[test]
fn other_spellings_of_a_name_are_the_name() {
    for name in [".VSCode/x", ".vs\u{200c}code/x", ".vscode./x", ".vscode /x", ".vscode::$INDEX_ALLOCATION/x"]
    {
        assert!(look(&format!("{ROOT}/{name}"), Writer::Process).is_some(), "{name}");
    }
    assert!(look("/w/app/.ba\u{17f}hrc", Writer::Process).is_some());
    assert!(look("/w/app/GIT~1/config", Writer::Declared).is_some());
}

#[test]
fn names_of_the_root_do_not_count() {
    let root = Path::new("/home/u/.claude/worktrees/a");
    let at = |path: &str| find(&root.join(path), root, Some(Path::new(HOME)), Writer::Declared);
    assert!(at("src/a.rs").is_none());
    assert!(at(".git").is_some());
    let outside = Path::new("/home/u/.claude/settings.json");
    assert!(find(outside, root, None, Writer::Declared).is_some());
}

#[test]
fn a_process_may_write_the_data_of_a_repository() {
    places(
        Writer::Process,
        &[
            ("/w/app/.git/config", Some("/w/app/.git/config")),
            ("/w/app/.git/hooks/pre-commit", Some("/w/app/.git/hooks")),
            ("/w/app/.git/hooks/x.sample", None),
            ("/w/app/.git/info/attributes", Some("/w/app/.git/info/attributes")),
            ("/w/app/.git/info/exclude", None),
            ("/w/app/.git/config.lock", None),
            ("/w/app/.git/refs/heads/config", None),
            ("/w/app/.git/modules/a/b/config", Some("/w/app/.git/modules/a/b/config")),
            ("/w/app/.git/modules/a/b/hooks/x", Some("/w/app/.git/modules/a/b/hooks")),
            ("/w/app/.git/modules/a/modules/b/config", Some("/w/app/.git/modules/a/modules/b/config")),
            ("/w/app/.git/modules/logs/config", Some("/w/app/.git/modules/logs/config")),
            ("/w/app/.git/modules/a/refs/heads/config", None),
            ("/w/app/.git/modules/a/logs/refs/heads/hooks/x", None),
            ("/w/app/.git/worktrees/a/config.worktree", Some("/w/app/.git/worktrees/a/config.worktree")),
            ("/w/app/.git/worktrees/a/commondir", None),
            ("/w/app/.git/commondir", Some("/w/app/.git/commondir")),
            ("/w/app/.hg/hgrc", Some("/w/app/.hg/hgrc")),
            ("/w/app/.hg/store/data", None),
        ],
    );
    for directory in [".git", ".git/hooks", ".git/info", ".git/modules", ".git/modules/a", ".hg", ".jj/repo"]
    {
        let found = look(&format!("{ROOT}/{directory}"), Writer::Process).unwrap();
        assert_eq!(found.part, Part::Directory, "{directory}");
    }
    assert!(look("/w/app/.git/index", Writer::Declared).is_some(), "a file tool has no business there");
}

#[test]
fn packages_keep_the_settings_of_their_authors() {
    places(
        Writer::Process,
        &[
            ("/w/app/node_modules/x/.vscode/settings.json", None),
            ("/w/app/node_modules/x/y.code-workspace", None),
            ("/w/app/node_modules/x/.git/config", Some("/w/app/node_modules/x/.git/config")),
            ("/w/app/vendor/x/.vscode/a", Some("/w/app/vendor/x/.vscode")),
        ],
    );
    places(Writer::Declared, &[("/w/app/node_modules/x/.npmrc", Some("/w/app/node_modules/x/.npmrc"))]);
}

#[test]
fn what_a_home_starts_is_protected_unless_it_is_data() {
    places(
        Writer::Process,
        &[
            ("/home/u/.mailcap", Some("/home/u/.mailcap")),
            ("/home/u/.unheard-of/x", Some("/home/u/.unheard-of")),
            ("/home/u/.nvm/nvm.sh", Some("/home/u/.nvm")),
            ("/home/u/.cargo/bin/x", Some("/home/u/.cargo/bin")),
            ("/home/u/.cargo/registry/cache/x", None),
            ("/home/u/.config/any/x", Some("/home/u/.config/any")),
            ("/home/u/.local/bin/x", Some("/home/u/.local/bin")),
            ("/home/u/bin/x", Some("/home/u/bin")),
            ("/home/u/go/bin/x", Some("/home/u/go/bin")),
            ("/home/u/go/pkg/mod/x", None),
            ("/home/u/.cache/x", None),
            ("/home/u/.npm/_cacache/x", None),
            ("/home/u/.git/objects/x", None),
            ("/home/u/notes", None),
            ("/w/app/bin/x", None),
            ("/w/app/.unheard-of", None),
        ],
    );
    let holder = look("/home/u/.config", Writer::Process).unwrap();
    assert_eq!(holder.part, Part::Directory);
}

#[test]
fn a_root_in_the_home_keeps_what_is_below_it() {
    let find = |path: &str, root: &str| {
        find(Path::new(path), Path::new(root), Some(Path::new(HOME)), Writer::Process)
            .map(|found| found.place(Path::new(path)))
    };
    assert_eq!(find("/home/u/.cargo/bin/x", "/home/u/.cargo"), Some("/home/u/.cargo/bin".into()));
    assert_eq!(find("/home/u/.cargo/registry/x", "/home/u/.cargo"), None);
    assert_eq!(find("/w/app/.git/config", "/w/app/.git"), Some("/w/app/.git/config".into()));
    assert_eq!(find("/w/app/.git/objects/x", "/w/app/.git"), None);
    assert_eq!(find("/home/u/bin/x", "/home/u/bin"), None);
    assert_eq!(find("/home/u/.config/any/x", "/home/u/.config/any"), None);
}

#[test]
fn guidance_is_no_code() {
    for name in ["AGENTS.md", "docs/CLAUDE.md", "rust-toolchain.toml", ".pre-commit-config.yaml"] {
        let found = look(&format!("{ROOT}/{name}"), Writer::Declared).unwrap();
        assert!(!found.is_code(), "{name}");
    }
    assert!(look("/w/app/.claude/CLAUDE.md", Writer::Declared).unwrap().is_code());
    assert!(look("/w/app/.clinerules/hooks/x", Writer::Declared).unwrap().is_code());
}

#[test]
fn the_names_of_the_reviews_are_in_the_table() {
    let workspace = "a/.npmrc sub/.vscode/tasks.json newdir/.claude/settings.json newdir/.envrc a/.cargo/config.toml \
        .devcontainer.json x.code-workspace .mvn/jvm.config mise.toml .mise.toml .exrc .nvim.lua .dir-locals.el \
        .gdbinit .lldbinit .bazelrc .bundle/config .yarnrc .pnpmfile.cjs .kiro .qwen .roo .continue .amazonq \
        opencode.json opencode.jsonc .windsurf .idea .zed x.sublime-project .direnv/bin/x .aider.conf.yml";
    let home = ".bash_aliases .inputrc .xprofile .xsessionrc .cshrc bin/x go/bin/x .nvm/nvm.sh .pyenv/bin \
        .oh-my-zsh/x .docker/config.json .docker/cli-plugins/x .kube/config .aws/config .m2/settings.xml \
        .gradle/init.gradle .vimrc .emacs.d/x .tmux.conf .gnupg/gpg.conf .mailcap .ansible.cfg .claude.json";
    for (base, names) in [(ROOT, workspace), (HOME, home)] {
        for name in names.split_whitespace() {
            for writer in [Writer::Declared, Writer::Process] {
                let found = look(&format!("{base}/{name}"), writer).unwrap_or_else(|| panic!("{name}"));
                assert!(found.is_code() && found.part == Part::Whole, "{name}: {found:?}");
            }
        }
    }
    let guidance = "rust-toolchain.toml .tool-versions .pre-commit-config.yaml lefthook.yml \
        .github/copilot-instructions.md AGENTS.md CLAUDE.md GEMINI.md";
    for name in guidance.split_whitespace() {
        assert!(look(&format!("{ROOT}/{name}"), Writer::Process).is_some(), "{name}");
    }
}

#[test]
fn the_table_is_written_as_it_is_compared() {
    for group in GROUPS {
        for (place, inside) in group.places {
            let below = if let Inside::Only(below) = inside { *below } else { &[] };
            for name in below.iter().chain([place]).flat_map(|place| place.split('/')) {
                assert_eq!(folded(name.as_bytes()), name);
                assert!(!name.is_empty() && name.len() < 64, "{place}");
            }
        }
    }
}

//! The table of protected names, each group with its reason.

use std::{collections::HashMap, sync::LazyLock};

/// How strictly a place is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// A program runs what stands there, or is redirected by it, without a further decision.
    /// Writing it is asked even under a broad rule, and a command is stopped.
    Code,
    /// Ordinary work edits it, and every `git pull` may: file tools write it like any other file, and a command is not stopped.
    /// What a command has made of it without declaring it is asked about afterwards, or told.
    Guidance,
}

/// Places that are protected for one reason.
#[derive(Debug)]
pub struct Group {
    /// The reason, as the end of "it is …".
    pub why: &'static str,
    /// The effect, as the end of "which …".
    pub effect: &'static str,
    /// How strictly they are guarded.
    pub grade: Grade,
    /// Names, or names below names, in lower case. What is below them is protected too.
    pub places: &'static [(&'static str, Inside)],
}

/// How much of a place counts for a process.
#[derive(Debug, Clone, Copy)]
pub enum Inside {
    /// All of it.
    Everything,
    /// These names below it.
    Only(&'static [&'static str]),
    /// What runs or redirects in a git repository's own directory.
    Repository,
}

use Inside::{Everything, Only, Repository};

/// Makes rows that are protected as a whole.
macro_rules! whole {
    ($($name:literal),* $(,)?) => { &[$(($name, Everything)),*] };
}

/// The names that count wherever they stand.
pub const GROUPS: &[Group] = &[
    Group {
        why: "where version control keeps hooks and settings that run programs",
        effect: "version control runs or obeys",
        grade: Grade::Code,
        places: &[
            (".git", Repository),
            ("git~1", Repository),
            (".gitmodules", Everything),
            (".gitattributes", Everything),
            (".gitconfig", Everything),
            (".config/git", Everything),
            (".hg", Only(&["hgrc", "hgrc-not-shared", "sharedpath", "requires"])),
            (".hgrc", Everything),
            (".config/hg", Everything),
            (".jj", Only(&["repo/config.toml", "repo/workspace-config.toml", "workspace-config.toml"])),
            (".config/jj", Everything),
            (".jjconfig.toml", Everything),
            (".sl", Only(&["config"])),
            (".subversion", Only(&["config", "servers"])),
        ],
    },
    Group {
        why: "where editors keep tasks and settings that run programs",
        effect: "editors run",
        grade: Grade::Code,
        places: whole![
            ".vscode",
            ".idea",
            ".zed",
            ".fleet",
            ".helix",
            ".nova",
            ".theia",
            ".lapce",
            ".vs/launch.vs.json",
            ".vs/tasks.vs.json",
            ".devcontainer",
            ".devcontainer.json",
            ".exrc",
            ".vimrc",
            ".gvimrc",
            ".nvimrc",
            ".nvim.lua",
            ".lvimrc",
            ".local.vimrc",
            ".vim",
            ".ideavimrc",
            ".ycm_extra_conf.py",
            ".config/nvim",
            ".config/vim",
            ".emacs",
            ".emacs.d",
            ".doom.d",
            ".spacemacs",
            ".spacemacs.d",
            ".config/emacs",
            ".config/doom",
            ".dir-locals.el",
            ".dir-locals-2.el",
            ".config/helix",
            ".config/zed",
            ".nanorc",
        ],
    },
    Group {
        why: "where agents keep settings, hooks and servers",
        effect: "agents run",
        grade: Grade::Code,
        places: whole![
            ".haft",
            "haft.toml",
            ".config/haft",
            ".local/state/haft",
            ".local/share/haft",
            ".mcp.json",
            ".claude",
            ".claude.json",
            ".claude-plugin",
            ".codex",
            ".cursor",
            ".gemini",
            ".agents",
            ".agent",
            ".kiro",
            ".qwen",
            ".roo",
            ".roomodes",
            ".kilocode",
            ".kilocodemodes",
            ".continue",
            ".continuerc.json",
            ".amazonq",
            ".aws/amazonq",
            ".amp",
            ".augment",
            ".codebuddy",
            ".cody",
            ".copilot",
            ".config/github-copilot",
            ".crush",
            ".crush.json",
            "crush.json",
            ".factory",
            ".forge",
            ".goose",
            ".config/goose",
            ".grok",
            ".iflow",
            ".junie",
            ".opencode",
            ".config/opencode",
            "opencode.json",
            "opencode.jsonc",
            ".openhands",
            ".pi",
            ".rovodev",
            ".trae",
            ".windsurf",
            ".codeium",
            ".zencoder",
            ".aider.conf.yml",
            ".aider.conf.yaml",
            ".aider.model.settings.yml",
            ".cline",
            ".clinerules/hooks",
            ".clinerules/workflows",
            ".github/agents",
            ".github/hooks",
            ".github/mcp.json",
        ],
    },
    Group {
        why: "a setting by which tools run other programs",
        effect: "tools run or obey",
        grade: Grade::Code,
        places: &[
            (".cargo", Only(&["bin", "config", "config.toml", "credentials", "credentials.toml", "env"])),
            (".composer", Only(&["auth.json", "composer.json", "config.json", "vendor"])),
        ],
    },
    Group {
        why: "a setting by which tools run other programs",
        effect: "tools run or obey",
        grade: Grade::Code,
        places: whole![
            // Directories that are entered.
            ".envrc",
            ".direnv",
            ".config/direnv",
            ".local/share/direnv",
            ".autoenv",
            ".autoenv.zsh",
            ".autoenv_leave.zsh",
            // Versions of tools, with places of programs and hooks.
            "mise.toml",
            ".mise.toml",
            "mise.local.toml",
            ".mise.local.toml",
            "mise/config.toml",
            ".mise",
            ".config/mise",
            ".config/mise.toml",
            ".rtx.toml",
            ".prototools",
            ".rustup/settings.toml",
            ".sdkmanrc",
            // Hooks.
            ".husky",
            ".huskyrc",
            ".huskyrc.json",
            ".huskyrc.js",
            ".huskyrc.cjs",
            ".githooks",
            // Packages and builds.
            ".yarnrc",
            ".yarnrc.yml",
            ".yarn/releases",
            ".yarn/plugins",
            ".yarn/sdks",
            ".npmrc",
            ".pnpmfile.cjs",
            ".pnpmfile.mjs",
            ".pnpmfile.js",
            ".config/pnpm",
            ".pip",
            "pip.conf",
            "pip.ini",
            ".config/pip",
            ".config/uv",
            ".pypirc",
            ".pydistutils.cfg",
            ".condarc",
            ".config/go",
            ".gemrc",
            ".bundle/config",
            ".bundle/plugin",
            ".config/composer",
            ".mvn",
            ".mavenrc",
            ".m2/settings.xml",
            ".m2/settings-security.xml",
            ".m2/extensions.xml",
            ".m2/toolchains.xml",
            ".gradle/init.gradle",
            ".gradle/init.gradle.kts",
            ".gradle/init.d",
            ".gradle/gradle.properties",
            ".sbtopts",
            ".sbtrc",
            ".jvmopts",
            ".bazelrc",
            ".bazeliskrc",
            "tools/bazel",
            ".buckconfig",
            ".buckconfig.local",
            ".buckconfig.d",
            ".lein/profiles.clj",
            ".clojure",
            ".cabal/config",
            ".stack/config.yaml",
            // Debuggers and interpreters that read a file where they start.
            ".gdbinit",
            ".gdbearlyinit",
            ".config/gdb",
            ".lldbinit",
            ".pdbrc",
            ".pdbrc.py",
            ".perldb",
            ".proverc",
            ".rdebugrc",
            ".rdbgrc",
            ".byebugrc",
            ".irbrc",
            ".pryrc",
            ".rprofile",
            ".renviron",
            ".octaverc",
            ".ghci",
            ".iex.exs",
            ".erlang",
            ".user.ini",
            "sitecustomize.py",
            "usercustomize.py",
            ".pythonrc",
            ".pythonrc.py",
            ".pythonstartup",
            // Clients of machines and services.
            ".ansible.cfg",
            "ansible.cfg",
            ".config/gh",
            ".config/glab-cli",
            ".local/share/gh",
            ".local/share/helm/plugins",
            ".aws/config",
            ".aws/credentials",
            ".aws/cli/alias",
            ".kube/config",
            ".kube/kuberc",
            ".docker/config.json",
            ".docker/contexts",
            ".docker/cli-plugins",
            ".config/containers",
            ".terraformrc",
            ".curlrc",
            ".config/curlrc",
            ".wgetrc",
            ".netrc",
            ".psqlrc",
            ".sqliterc",
            ".my.cnf",
            ".mongorc.js",
            ".mongoshrc.js",
            ".ripgreprc",
            ".gnupg",
            ".mailcap",
            ".mailrc",
            ".muttrc",
            ".procmailrc",
            ".forward",
            ".screenrc",
            ".tmux.conf",
            ".config/tmux",
            ".lessfilter",
            ".lesskey",
        ],
    },
    Group {
        why: "run whenever a shell or a session starts",
        effect: "shells and sessions run when they start",
        grade: Grade::Code,
        places: whole![
            ".profile",
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".bash_completion",
            ".bash_completion.d",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".oh-my-zsh",
            ".kshrc",
            ".mkshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".logout",
            ".inputrc",
            ".config/fish",
            ".config/nushell",
            ".config/powershell",
            ".config/starship.toml",
            ".xprofile",
            ".xinitrc",
            ".xserverrc",
            ".xsession",
            ".xsessionrc",
            ".xsession.d",
            ".gnomerc",
            ".pam_environment",
            ".config/environment.d",
            ".config/autostart",
            ".config/autostart-scripts",
            ".config/plasma-workspace",
            ".config/systemd",
            ".local/share/systemd",
            ".local/share/applications",
            ".local/share/dbus-1",
            ".local/bin",
            "library/launchagents",
            "library/launchdaemons",
        ],
    },
    Group {
        why: "where keys decide who may log in",
        effect: "decides who may log in",
        grade: Grade::Code,
        places: whole![".ssh"],
    },
    // Prose that agents read. No program runs it, and people write it all day.
    Group {
        why: "instructions that agents follow",
        effect: "agents read as instructions",
        grade: Grade::Guidance,
        places: whole![
            "agents.md",
            "agents.override.md",
            "agent.md",
            "claude.md",
            "claude.local.md",
            "gemini.md",
            "qwen.md",
            "warp.md",
            "crush.md",
            ".cursorrules",
            ".windsurfrules",
            ".clinerules",
            ".goosehints",
            ".rules",
            ".github/copilot-instructions.md",
            ".github/instructions",
            ".github/prompts",
            ".github/chatmodes",
        ],
    },
    // Tracked files of most projects. The tools that read them run the project's own code in any case.
    Group {
        why: "a choice of tools and hooks that work on the project changes",
        effect: "chooses tools or hooks of the project",
        grade: Grade::Guidance,
        places: whole![
            "rust-toolchain",
            "rust-toolchain.toml",
            ".tool-versions",
            ".bazelversion",
            "global.json",
            "bunfig.toml",
            "uv.toml",
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
            "lefthook.yml",
            "lefthook.yaml",
            "lefthook.toml",
            "lefthook.json",
            ".lefthook.yml",
            ".lefthook.yaml",
            ".lefthook.toml",
            ".lefthook.json",
            "lefthook-local.yml",
            ".lefthook-local.yml",
            ".lefthook",
            ".lefthook-local",
            ".overcommit.yml",
        ],
    },
];

const WORKSPACES: Group = Group {
    why: "an editor's workspace with tasks that run programs",
    effect: "editors run",
    grade: Grade::Code,
    places: &[],
};

/// Ends of names that are protected.
pub(super) const ENDINGS: [(&str, &Group); 2] =
    [(".code-workspace", &WORKSPACES), (".sublime-project", &WORKSPACES)];

/// Directories of installed packages. Packages ship settings of their authors' editors there, which nothing opens.
/// For processes only repositories count below them.
pub(super) const DEPENDENCIES: [&str; 8] =
    ["node_modules", "bower_components", "site-packages", "dist-packages", "target", ".venv", ".tox", ".nox"];

/// A place by the names that follow its first.
#[derive(Debug)]
pub struct TableEntry {
    /// The names after the first one.
    pub below: Vec<&'static str>,
    /// How much of it counts for a process.
    pub inside: Inside,
    /// The group that it belongs to.
    pub group: &'static Group,
}

/// The places by their first name.
pub(super) struct Index {
    places: HashMap<&'static str, Vec<TableEntry>>,
    /// The lengths that first names with an initial have, a bit each: most names of most paths have another.
    lengths: [u64; 256],
}

pub(super) static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { places: HashMap::new(), lengths: [0; 256] };
    for group in GROUPS {
        for (place, inside) in group.places {
            let mut names = place.split('/');
            let first = names.next().unwrap_or_default();
            index.lengths[usize::from(first.as_bytes()[0])] |= 1 << first.len();
            let place = TableEntry { below: names.collect(), inside: *inside, group };
            index.places.entry(first).or_default().push(place);
        }
    }
    index
});

impl Index {
    pub(super) fn starting_with(&self, name: &str) -> &[TableEntry] {
        let lengths = name.bytes().next().map_or(0, |initial| self.lengths[usize::from(initial)]);
        let possible = name.len() < 64 && lengths >> name.len() & 1 == 1;
        if possible { self.places.get(name).map_or(&[], Vec::as_slice) } else { &[] }
    }
}

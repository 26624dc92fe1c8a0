//! The home: every entry with a leading dot is some program's setting unless it is known to be data.
//!
//! A list of start-up files is never complete, so this one lists what is harmless: caches, stores of packages and histories.

use super::{Grade, Group, Part, Protected, folded, names};

const SETTINGS: Group = Group {
    why: "a program's settings, or a program itself, in the home",
    effect: "programs run or obey",
    grade: Grade::Code,
    places: &[],
};

const PROGRAMS: Group = Group {
    why: "a directory of the home that programs are started from",
    effect: "shells run by name",
    grade: Grade::Code,
    places: &[],
};

/// Directories of programs whose names have no dot.
const PROGRAM_DIRECTORIES: [&str; 5] =
    ["bin", "go/bin", "perl5", "library/launchagents", "library/launchdaemons"];

/// Version control of the home itself: its names are in the table.
const REPOSITORIES: [&str; 4] = [".git", ".hg", ".jj", ".sl"];

/// Data: what is below these is not run because it lies there.
const DATA: [&str; 54] = [
    ".bash_history",
    ".bun/install/cache",
    ".bundle/cache",
    ".cache",
    ".cargo/.global-cache",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/git",
    ".cargo/registry",
    ".ccache",
    ".composer/cache",
    ".conda/pkgs",
    ".config/gcloud/logs",
    ".cpan/build",
    ".cpan/sources",
    ".docker/buildx",
    ".dotnet/telemetrystorageservice",
    ".gradle/caches",
    ".gradle/daemon",
    ".gradle/native",
    ".gradle/notifications",
    ".gradle/wrapper",
    ".hex/cache.ets",
    ".ivy2/cache",
    ".kube/cache",
    ".lesshst",
    ".local/share/containers",
    ".local/share/fonts",
    ".local/share/pnpm/store",
    ".local/share/recently-used.xbel",
    ".local/share/trash",
    ".local/share/uv/cache",
    ".local/state/nix/profiles",
    ".local/state/pnpm",
    ".m2/repository",
    ".mysql_history",
    ".node-gyp",
    ".node_repl_history",
    ".npm",
    ".nuget/packages",
    ".parallel/tmp",
    ".pnpm-state",
    ".pnpm-store",
    ".psql_history",
    ".python_history",
    ".sbt/boot",
    ".sqlite_history",
    ".terraform.d/checkpoint_cache",
    ".thumbnails",
    ".trash",
    ".viminfo",
    ".wget-hsts",
    ".yarn/berry/cache",
    ".zsh_history",
];

/// Returns the protected place of the home that a path in the home lies in.
pub(super) fn find(path: &[u8], home: &[u8], depth: usize) -> Option<Protected> {
    let above = names(home).count();
    let rest = names(path).skip(above).map(folded);
    let at =
        |group, length, part| (above + length > depth).then_some(Protected::new(group, above + length, part));
    let first = rest.clone().next()?;
    if !first.starts_with('.') {
        let place = PROGRAM_DIRECTORIES.iter().find(|place| begins(rest.clone(), place))?;
        return at(&PROGRAMS, place.split('/').count(), Part::Whole);
    }
    if REPOSITORIES.contains(&&*first) || DATA.iter().any(|data| begins(rest.clone(), data)) {
        return None;
    }
    // The place is the first directory that holds no data.
    let (length, given) = (above_data(rest.clone()), rest.count());
    match length < given {
        true => at(&SETTINGS, length + 1, Part::Whole),
        false => at(&SETTINGS, given, Part::Directory),
    }
}

/// How many of the names lead to directories that hold data somewhere below.
fn above_data<T: AsRef<str>>(rest: impl Iterator<Item = T> + Clone) -> usize {
    let shared = |data: &str| data.split('/').zip(rest.clone()).take_while(|(a, b)| *a == b.as_ref()).count();
    DATA.iter().map(|data| shared(data)).max().unwrap_or_default()
}

fn begins<T: AsRef<str>>(mut rest: impl Iterator<Item = T>, place: &str) -> bool {
    place.split('/').all(|name| rest.next().is_some_and(|given| given.as_ref() == name))
}

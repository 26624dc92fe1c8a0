//! Programs that mostly look, and a few words with which they do not.

use haft_tool::Class;

use super::super::{
    Arg, Facts, Unless,
    judge::{Case, plain},
    walk::walk,
};

/// `ps aux`; with `e` among the letters without a dash it prints the variables of other processes, too.
pub(super) fn ps(case: &Case<'_>) -> Facts {
    let mut facts = plain(case);
    if !shows_variables(case) {
        facts.touches.clear();
    }
    facts
}

fn shows_variables(case: &Case<'_>) -> bool {
    let walk = walk(case.entry, case.name, case.args);
    let asked = |arg: &Arg| matches!(arg, Arg::Known(text) if text.contains("environ"));
    let by_letter = |arg: &Arg| matches!(arg, Arg::Known(text) if text.starts_with('-') && !text.starts_with("--") && text.contains('E'));
    if case.args.iter().any(|arg| asked(arg) || by_letter(arg)) {
        return true;
    }
    let mut operands = walk.operands.iter();
    while let Some(operand) = operands.next() {
        let Arg::Known(letters) = operand else { return true };
        if !letters.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            continue;
        }
        if letters.contains('e') {
            return true;
        }
        // `axo user`: the next word is what the last letter needs.
        if letters.ends_with(['o', 'O', 'p', 'q', 't', 'U', 'k']) {
            operands.next();
        }
    }
    false
}

/// Modules that `python3 -m json.tool` loads, by one release or another: those before its own, and its own.
const LOADED: &[&str] = &[
    "__future__",
    "__main__",
    "_abc",
    "_bisect",
    "_bz2",
    "_codecs",
    "_collections",
    "_collections_abc",
    "_colorize",
    "_compat_pickle",
    "_compression",
    "_distutils_hack",
    "_functools",
    "_heapq",
    "_io",
    "_json",
    "_locale",
    "_lzma",
    "_opcode",
    "_opcode_metadata",
    "_operator",
    "_pyrepl",
    "_random",
    "_sitebuiltins",
    "_sre",
    "_stat",
    "_strptime",
    "_struct",
    "_thread",
    "_typing",
    "_warnings",
    "_weakref",
    "_weakrefset",
    "abc",
    "annotationlib",
    "argparse",
    "ast",
    "atexit",
    "binascii",
    "bisect",
    "bz2",
    "codecs",
    "collections",
    "compression",
    "contextlib",
    "copy",
    "copyreg",
    "dis",
    "encodings",
    "enum",
    "errno",
    "fnmatch",
    "functools",
    "genericpath",
    "gettext",
    "glob",
    "grp",
    "hashlib",
    "heapq",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "marshal",
    "math",
    "nt",
    "ntpath",
    "opcode",
    "operator",
    "os",
    "pathlib",
    "pickle",
    "pkgutil",
    "posix",
    "posixpath",
    "pwd",
    "random",
    "re",
    "readline",
    "reprlib",
    "rlcompleter",
    "runpy",
    "shutil",
    "signal",
    "site",
    "sitecustomize",
    "sre_compile",
    "sre_constants",
    "sre_parse",
    "stat",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "sys",
    "sysconfig",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "token",
    "tokenize",
    "traceback",
    "types",
    "typing",
    "unicodedata",
    "urllib",
    "usercustomize",
    "warnings",
    "weakref",
    "zipfile",
    "zipimport",
    "zlib",
];

/// `python3 -m json.tool in.json`, which is how many show JSON. The directory comes first where it looks for modules.
pub(super) fn python(case: &Case<'_>) -> Facts {
    let [Arg::Known(option), Arg::Known(module), rest @ ..] = case.args else { return plain(case) };
    if option != "-m" || module != "json.tool" {
        return plain(case);
    }
    const FLAGS: [&str; 6] =
        ["--sort-keys", "--no-ensure-ascii", "--json-lines", "--tab", "--no-indent", "--compact"];
    let is_flag = |arg: &&Arg| matches!(arg, Arg::Known(word) if FLAGS.contains(&word.as_str()));
    let mut files = rest.iter().filter(|arg| !is_flag(arg));
    match (files.next(), files.next()) {
        (None, _) => Facts { unless: Some(Unless::Beside(LOADED)), ..Facts::of(Class::ReadOnly) },
        (Some(Arg::Known(file)), None) if !file.starts_with('-') || file == "-" => {
            let mut facts = Facts { unless: Some(Unless::Beside(LOADED)), ..Facts::of(Class::ReadOnly) };
            if file != "-" {
                facts.touch(&Arg::Known(file.clone()), haft_tool::Access::Read);
            }
            facts
        }
        _ => plain(case),
    }
}

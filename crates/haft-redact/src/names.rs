//! Is this the name of a secret?
//!
//! A name is split into its words (`AWS_SECRET_ACCESS_KEY`, `secretAccessKey`, `db.password`); the last one says what it
//! is. `token_count`, `password_file` and `secretName` are no secrets, `next_page_token` is none either.

/// What a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// A password: anything that is no placeholder.
    Password,
    /// A token or key: what is no word.
    Secret,
    /// It may be one: what looks random.
    Perhaps,
}

/// Whether a variable of this name likely holds a secret: `GITHUB_TOKEN`, `db_password`, `STRIPE_KEY`.
pub fn is_secret_name(name: &str) -> bool {
    const PARTS: [&str; 9] =
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH", "PRIVATE"];
    const NOT: [&str; 6] = ["KEYBOARD", "KEYMAP", "KEYRING", "AUTHOR", "PUBLIC", "MONKEY"];
    let upper = name.to_ascii_uppercase();
    let is_short = words(&upper).iter().any(|word| matches!(*word, "PASS" | "PWD" | "PW" | "CREDS" | "JWT"));
    let is_part =
        is_short && upper != "PWD" && upper != "OLDPWD" || PARTS.iter().any(|part| upper.contains(part));
    is_part && (!NOT.iter().any(|not| upper.contains(not)) || upper.contains("AUTHORIZATION"))
}

/// Whether a function of this name looks something up: its argument says where, and is no secret itself.
pub(crate) fn is_lookup(name: &str) -> bool {
    const VERBS: [&str; 34] = [
        "get",
        "getenv",
        "env",
        "environ",
        "fetch",
        "find",
        "load",
        "read",
        "open",
        "lookup",
        "query",
        "param",
        "input",
        "prompt",
        "gettext",
        "translate",
        "require",
        "import",
        "path",
        "file",
        "url",
        "header",
        "select",
        "var",
        "ref",
        "config",
        "resolve",
        "has",
        "check",
        "is",
        "verify",
        "error",
        "regex",
        "compile",
    ];
    words(name).iter().any(|word| is_any(word, &VERBS))
}

/// What the name of a field, variable or option says of its value.
pub(crate) fn weigh(name: &str) -> Option<Weight> {
    const BEHIND: [&str; 15] = [
        "value",
        "data",
        "b64",
        "base64",
        "prod",
        "dev",
        "test",
        "staging",
        "old",
        "new",
        "raw",
        "plain",
        "plaintext",
        "default",
        "base",
    ];
    if is_foreign(name) {
        return Some(Weight::Password);
    }
    let words = words(name);
    let mut words = words.as_slice();
    while let [rest @ .., last] = words
        && (is_any(last, &BEHIND) || last.bytes().all(|byte| byte.is_ascii_digit()))
    {
        words = rest;
    }
    let (last, before) = words.split_last()?;
    let weight = weigh_words(last.trim_end_matches(|c: char| c.is_ascii_digit()), before);
    match before.split_last() {
        Some((name, rest)) if weight.is_none() && !is_any(last, &ABOUT) && is_compound(name, rest) => {
            Some(Weight::Perhaps)
        }
        _ => weight,
    }
}

/// What a last word says that is about a secret and is none.
const ABOUT: [&str; 56] = [
    "id",
    "ids",
    "name",
    "names",
    "hash",
    "digest",
    "count",
    "length",
    "len",
    "size",
    "type",
    "url",
    "uri",
    "file",
    "path",
    "dir",
    "index",
    "prefix",
    "suffix",
    "version",
    "arn",
    "ref",
    "refs",
    "checksum",
    "fingerprint",
    "sum",
    "time",
    "at",
    "date",
    "expiry",
    "expires",
    "endpoint",
    "host",
    "user",
    "username",
    "label",
    "algorithm",
    "provider",
    "manager",
    "handler",
    "service",
    "client",
    "error",
    "field",
    "param",
    "env",
    "var",
    "header",
    "format",
    "pattern",
    "regex",
    "policy",
    "rotation",
    "status",
    "store",
    "info",
];

/// Of a name like `apikey_service` or `db_pass_secure`, the part before the last word is already one.
fn is_compound(last: &str, before: &[&str]) -> bool {
    is_any(last, &["apikey", "password", "passwd", "accesskey", "secretkey"])
        || is_any(last, &["pass", "key"])
            && before.last().is_some_and(|word| is_any(word, &["api", "db", "access", "secret"]))
}

/// A password in other languages.
fn is_foreign(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "passwort",
        "kennwort",
        "contrase\u{f1}a",
        "contrasena",
        "mot_de_passe",
        "motdepasse",
        "mot-de-passe",
        "senha",
        "wachtwoord",
        "pass_wort",
    ];
    ends_with_any(name, &NAMES)
}

fn weigh_words(last: &str, before: &[&str]) -> Option<Weight> {
    const PASSWORDS: [&str; 12] = [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "pswd",
        "storepass",
        "keypass",
        "requirepass",
        "masterauth",
        "bindpw",
        "rootpw",
        "psk",
    ];
    const SECRETS: [&str; 8] =
        ["secret", "token", "apikey", "secretkey", "accesskey", "privatekey", "authkey", "credential"];
    let is_plain = !before.is_empty();
    if ends_with_any(last, &PASSWORDS) || is_plain && is_any(last, &["pass", "pwd", "pw", "psw"]) {
        return Some(Weight::Password);
    }
    if is_any(last, &["credentials", "creds", "jwt"]) || ends_with_any(last, &SECRETS) {
        return (!is_position(last, before)).then_some(Weight::Secret);
    }
    match last.to_ascii_lowercase().as_str() {
        "key" => weigh_key(before.last().copied()),
        "auth" | "pass" | "pwd" | "pw" => Some(Weight::Perhaps),
        _ => None,
    }
}

/// A token that says where one is in a text or a listing.
fn is_position(last: &str, before: &[&str]) -> bool {
    const PLACES: [&str; 22] = [
        "next",
        "page",
        "continuation",
        "cancel",
        "cancellation",
        "cursor",
        "pad",
        "eos",
        "bos",
        "unk",
        "mask",
        "stop",
        "start",
        "end",
        "max",
        "min",
        "num",
        "total",
        "special",
        "prompt",
        "sync",
        "public",
    ];
    last.len() <= "tokens".len() && before.last().is_some_and(|word| is_any(word, &PLACES))
}

fn weigh_key(before: Option<&str>) -> Option<Weight> {
    const SURE: [&str; 22] = [
        "api",
        "access",
        "secret",
        "private",
        "account",
        "storage",
        "encryption",
        "signing",
        "master",
        "auth",
        "service",
        "app",
        "application",
        "consumer",
        "client",
        "shared",
        "admin",
        "deploy",
        "license",
        "webhook",
        "function",
        "management",
    ];
    const NONE: [&str; 22] = [
        "public",
        "primary",
        "foreign",
        "partition",
        "sort",
        "cache",
        "row",
        "object",
        "idempotency",
        "index",
        "unique",
        "group",
        "host",
        "map",
        "dict",
        "hash",
        "parent",
        "lookup",
        "range",
        "pub",
        "gpg",
        "pgp",
    ];
    let before = before?;
    if is_any(before, &NONE) {
        return None;
    }
    Some(if is_any(before, &SURE) { Weight::Secret } else { Weight::Perhaps })
}

fn is_any(word: &str, list: &[&str]) -> bool {
    list.iter().any(|one| word.eq_ignore_ascii_case(one))
}

fn ends_with_any(word: &str, list: &[&str]) -> bool {
    let ends_with = |one: &str| {
        let at = word.len().checked_sub(one.len());
        at.and_then(|at| word.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(one))
    };
    list.iter().any(|one| ends_with(one))
}

/// The words of a name: at what is no letter or digit, and where small letters turn into capitals.
fn words(name: &str) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    let bytes = name.as_bytes();
    for at in 0..=bytes.len() {
        let is_end = at == bytes.len() || !bytes[at].is_ascii_alphanumeric();
        if is_end || at > start && is_hump(bytes, at) {
            words.extend(name.get(start..at).filter(|word| !word.is_empty()));
            start = at + usize::from(is_end);
        }
    }
    words
}

fn is_hump(bytes: &[u8], at: usize) -> bool {
    let next_is_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    bytes[at].is_ascii_uppercase() && (!bytes[at - 1].is_ascii_uppercase() || next_is_small)
}

#[cfg(test)]
mod tests {
    use super::{Weight::*, *};

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(words("AWS_SECRET_ACCESS_KEY"), ["AWS", "SECRET", "ACCESS", "KEY"]);
        assert_eq!(words("SecretAccessKey"), ["Secret", "Access", "Key"]);
        assert_eq!(words("myAPIKey.v2-x"), ["my", "API", "Key", "v2", "x"]);
    }

    #[test]
    fn the_last_word_says_what_a_name_is() {
        for (name, weight) in [
            ("DB_PASSWORD", Some(Password)),
            ("spring.datasource.password", Some(Password)),
            ("PGPASSWORD", Some(Password)),
            ("SMTP_PASS", Some(Password)),
            ("refreshToken", Some(Secret)),
            ("aws_secret_access_key", Some(Secret)),
            ("X-Api-Key", Some(Secret)),
            ("client-key-data", Some(Secret)),
            ("API_KEY_2", Some(Secret)),
            ("SECRET_KEY_BASE", Some(Secret)),
            ("auth", Some(Perhaps)),
            ("SOME_KEY", Some(Perhaps)),
            ("token_count", None),
            ("max_tokens", None),
            ("secret_santa", None),
            ("password_file", None),
            ("nextPageToken", None),
            ("primary_key", None),
            ("public_key", None),
            ("GPG_KEY", None),
            ("monkey", None),
            ("key", None),
            ("author", None),
        ] {
            assert_eq!(weigh(name), weight, "{name}");
        }
    }

    #[test]
    fn variables_are_known_by_their_names() {
        for name in
            ["GITHUB_TOKEN", "STRIPE_KEY", "db_password", "SMTP_PASS", "NPM_AUTH", "GOOGLE_CREDENTIALS"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in
            ["PATH", "PWD", "OLDPWD", "KEYBOARD_LAYOUT", "GIT_AUTHOR_NAME", "PUBLIC_KEY", "HOME", "COMPASS"]
        {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}

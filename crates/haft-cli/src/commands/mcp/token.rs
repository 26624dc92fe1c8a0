//! What clients by HTTP have to show, and who they are then.
//!
//! A file has a token a line: `TOKEN [user=NAME] [roles=A,B]`. Without more words it is whoever starts haft; with them it is
//! whom they say, and has the roles that they say and no others.

use std::{env, path::Path};

use haft_mcp::server::{Badge, Token};
use haft_tool::Caller;
use uuid::Uuid;

use super::CHANNEL;
use crate::{exit::usage, kept, place};

/// The variable that has it.
const VARIABLE: &str = "HAFT_MCP_TOKEN";

/// Tokens, and where a person finds them.
pub(super) struct Found {
    pub(super) badges: Vec<Badge>,
    pub(super) place: String,
}

/// The tokens of the file that was named, of the environment, or of the state directory, where one is made if there is none:
/// clients are configured once.
pub(super) fn find(file: Option<&Path>) -> anyhow::Result<Found> {
    match (file, env::var(VARIABLE).ok()) {
        (Some(file), _) => of_file(file),
        (None, Some(text)) => {
            let token = Token::new(text).ok_or_else(|| usage(format!("{VARIABLE} is empty")))?;
            Ok(Found { badges: vec![Badge::new(token)], place: VARIABLE.to_owned() })
        }
        (None, None) => {
            let path = place::state()?.join("mcp-token");
            if kept::read(&path)?.is_none() {
                kept::replace(&path, made().as_bytes())?;
            }
            of_file(&path)
        }
    }
}

fn of_file(path: &Path) -> anyhow::Result<Found> {
    let wrong = |what: &str| usage(format!("{}: {what}", path.display()));
    let bytes = kept::read_secret(path).map_err(|err| wrong(&err.to_string()))?;
    let bytes = bytes.ok_or_else(|| wrong("there is no such file; write a token of your choice into it"))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("tokens are text"))?;
    let badges = read(&text).map_err(|(line, what)| usage(format!("{}:{line}: {what}", path.display())))?;
    if badges.is_empty() {
        return Err(wrong("it is empty; write a token of your choice into it"));
    }
    Ok(Found { badges, place: path.display().to_string() })
}

/// The tokens of a file. What is wrong is told with its line, and never with a word of it: it may be a token.
fn read(text: &str) -> Result<Vec<Badge>, (usize, String)> {
    let mut found: Vec<(usize, Badge)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
        let Some((token, about)) = words.split_first() else { continue };
        let badge = badge(token, about).map_err(|what| (number, what))?;
        if let Some((before, _)) = found.iter().find(|(_, other)| other.token == badge.token) {
            return Err((number, format!("this token is on line {before} already: nobody is two")));
        }
        found.push((number, badge));
    }
    Ok(found.into_iter().map(|(_, badge)| badge).collect())
}

fn badge(token: &str, about: &[&str]) -> Result<Badge, String> {
    let is_about = |word: &str| word.starts_with("user=") || word.starts_with("roles=");
    if is_about(token) {
        return Err(format!("the token is missing; a line is {FORM}"));
    }
    // Others could not be sent in a header.
    let shown = token.bytes().all(|byte| byte.is_ascii_graphic()).then(|| Token::new(token)).flatten();
    let badge = Badge::new(shown.ok_or("a token has only letters, digits and signs of ASCII")?);
    if about.is_empty() {
        return Ok(badge);
    }
    let (mut user, mut roles) = (None, None);
    for (place, word) in (2..).zip(about) {
        let taken = match word.split_once('=') {
            Some(("user", name)) if !name.is_empty() => user.replace(name.to_owned()).is_some(),
            Some(("roles", names)) if names.split(',').all(|name| !name.is_empty()) => {
                roles.replace(names.split(',').map(str::to_owned).collect()).is_some()
            }
            _ => return Err(format!("word {place} is neither user=NAME nor roles=A,B; a line is {FORM}")),
        };
        if taken {
            return Err(format!("word {place} says again what was said; a line is {FORM}"));
        }
    }
    let (roles, channel) = (roles.unwrap_or_default(), Some(CHANNEL.to_owned()));
    Ok(badge.of(Caller { user, roles, channel }))
}

const FORM: &str = "`TOKEN [user=NAME] [roles=A,B]`";

/// 148 random bits.
fn made() -> String {
    format!("haft-{}{}\n", Uuid::now_v7().simple(), Uuid::now_v7().simple())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn plain(token: &str) -> Badge {
        Badge::new(Token::new(token).unwrap())
    }

    fn named(token: &str, user: Option<&str>, roles: &[&str]) -> Badge {
        plain(token).of(Caller {
            user: user.map(str::to_owned),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            channel: Some("mcp".to_owned()),
        })
    }

    #[test]
    fn a_line_is_a_token_and_who_shows_it() {
        let text = "# ours\n\nalone\n  a1 user=ada roles=dev,ops # at her desk\r\nb2 roles=guest\nc3 user=cy";
        let expected = [
            plain("alone"),
            named("a1", Some("ada"), &["dev", "ops"]),
            named("b2", None, &["guest"]),
            named("c3", Some("cy"), &[]),
        ];
        assert_eq!(read(text).unwrap(), expected);
        assert_eq!(read(" \n# nothing\n").unwrap(), []);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_without_the_token() {
        for (text, line, words) in [
            ("good\nsecret word", 2, "word 2 is neither"),
            ("secret role=dev", 1, "word 2 is neither"),
            ("secret user=", 1, "word 2 is neither"),
            ("secret user=a roles=a,,b", 1, "word 3 is neither"),
            ("secret user=a user=b", 1, "word 3 says again"),
            ("\nuser=ada roles=dev", 2, "the token is missing"),
            ("sécret", 1, "ASCII"),
            ("secret\n#\nsecret user=b", 3, "on line 1"),
        ] {
            let (at, what) = read(text).unwrap_err();
            assert_eq!(at, line, "{text}");
            assert!(what.contains(words) && !what.contains("secret"), "{text}: {what}");
        }
    }

    #[test]
    fn a_file_has_to_have_a_token_that_nobody_else_could_have_written_or_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let wrong = |words: &str| of_file(&path).is_err_and(|err| err.to_string().contains(words));
        assert!(wrong("no such file"));
        kept::replace(&path, b" \n").unwrap();
        assert!(wrong("empty"));
        kept::replace(&path, b"ok\nsecret and more\n").unwrap();
        assert!(wrong("token:2: word 2"));
        kept::replace(&path, b"secret\n").unwrap();
        assert_eq!(of_file(&path).ok().map(|found| found.badges), Some(vec![plain("secret")]));
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(wrong("chmod 600") || wrong("writable by you alone"), "{mode:o}");
        }
    }

    #[test]
    fn no_two_are_alike() {
        assert_ne!(made(), made());
    }
}

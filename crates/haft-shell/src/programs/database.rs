//! What a statement for a database amounts to.
//!
//! All of them are at least writes, because a rule is needed to reach a database at all. Here is found what loses data.

use haft_tool::Class;

use super::Arg;

/// What this text does, or why that is not known.
pub(super) fn judge(text: &Arg) -> Result<Class, String> {
    let Arg::Known(text) = text else { return Err("the statement is not known".to_owned()) };
    let first = text.trim_start();
    // Commands of the client itself: `.shell`, `\!`, `.output`, `\copy`.
    if first.starts_with(['.', '\\']) || text.contains("\\!") {
        return Err("a command of the client can run programs and write files".to_owned());
    }
    let worst = statements(text).map(|words| class(&words)).max();
    Ok(worst.unwrap_or(Class::Write))
}

/// The words of each statement, in lower case.
fn statements(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.split(';').map(|statement| {
        let words = statement.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
        words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
    })
}

fn class(words: &[String]) -> Class {
    let has = |word: &str| words.iter().any(|known| known == word);
    let all_rows = (has("delete") || (has("update") && has("set"))) && !has("where");
    let loses = has("drop") || has("truncate") || all_rows;
    // The calls of document databases.
    let calls = words.iter().any(|word| {
        matches!(
            word.as_str(),
            "dropdatabase"
                | "dropcollection"
                | "dropindex"
                | "dropindexes"
                | "dropuser"
                | "deletemany"
                | "deleteone"
                | "findoneanddelete"
                | "findandremove"
                | "remove"
                | "flushall"
                | "flushdb"
                | "shutdownserver"
        )
    });
    if loses || calls { Class::Destructive } else { Class::Write }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_and_deleting_everything_loses_data() {
        for (text, class) in [
            ("drop table t", Class::Destructive),
            ("select 1; TRUNCATE t", Class::Destructive),
            ("delete from t", Class::Destructive),
            ("update t set a = 1", Class::Destructive),
            ("update t set a = 1 where id = 2", Class::Write),
            ("db.c.deleteOne({})", Class::Destructive),
            ("delete from t where id = 1", Class::Write),
            ("db.dropDatabase()", Class::Destructive),
            ("create table dropped (id int)", Class::Write),
            ("select 1", Class::Write),
        ] {
            assert_eq!(judge(&Arg::Known(text.to_owned())), Ok(class), "{text}");
        }
    }

    #[test]
    fn commands_of_the_client_are_not_followed() {
        for text in [".shell id", "\\! id", "select 1 \\! id", ".output x"] {
            assert!(judge(&Arg::Known(text.to_owned())).is_err(), "{text}");
        }
    }
}

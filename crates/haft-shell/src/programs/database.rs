//! What a statement for a database amounts to.
//!
//! All of them are at least writes, because a rule is needed to reach a database at all. Followed is what works on the
//! tables of the database. Clients and servers also run programs, load code, and read and write files, by commands,
//! statements and functions that differ from one to the next: only those are followed that are known to do none of it.

use haft_tool::Class;

use super::{Arg, table::is_plain};

/// What a text with statements does.
pub(super) struct Judged {
    pub(super) class: Class,
    /// Why it is not followed.
    pub(super) doubt: Option<String>,
}

pub(super) fn judge(text: &Arg) -> Judged {
    let Arg::Known(text) = text else { return unknown("the statement is not known") };
    if text.trim_start().starts_with(['.', '\\']) {
        return client_command(text.trim());
    }
    let text = ["\\G", "\\g"].iter().find_map(|end| text.trim_end().strip_suffix(end)).unwrap_or(text);
    let Some(tokens) = tokens(text) else {
        return unknown("quotes, comments and backslashes mean several things");
    };
    let mut judged = Judged { class: Class::Write, doubt: None };
    for statement in tokens.split(|token| *token == Token::Mark(';')).filter(|tokens| !tokens.is_empty()) {
        judged.class = judged.class.max(class(statement));
        judged.doubt = judged.doubt.or_else(|| not_followed(statement));
    }
    judged
}

fn unknown(why: &str) -> Judged {
    Judged { class: Class::Write, doubt: Some(why.to_owned()) }
}

/// Commands of the client itself that only show something. Their words hold nothing that it would expand.
const SHOWING: &[&str] = &[
    ".tables",
    ".schema",
    ".fullschema",
    ".indexes",
    ".indices",
    ".databases",
    ".dbinfo",
    ".dump",
    ".headers",
    ".header",
    ".mode",
    ".width",
    ".stats",
    ".timer",
    ".show",
    ".nullvalue",
    ".quit",
    ".exit",
    ".eqp",
    ".changes",
    "\\d",
    "\\d+",
    "\\dt",
    "\\dt+",
    "\\di",
    "\\di+",
    "\\dv",
    "\\dm",
    "\\ds",
    "\\df",
    "\\df+",
    "\\dn",
    "\\dn+",
    "\\du",
    "\\du+",
    "\\dx",
    "\\dT",
    "\\dp",
    "\\dg",
    "\\l",
    "\\l+",
    "\\z",
    "\\x",
    "\\conninfo",
    "\\timing",
    "\\encoding",
    "\\q",
];

fn client_command(text: &str) -> Judged {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let plain = rest.split(' ').all(|word| is_plain(&word.replace(['*', '%', '?'], "")));
    if SHOWING.contains(&name) && plain && !text.contains('\n') {
        return Judged { class: Class::Write, doubt: None };
    }
    unknown("a command of the client can run programs and write files")
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// In lower case; names in quotes are names, too.
    Word(String),
    Text(String),
    Mark(char),
}

impl Token {
    fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(known) if known == word)
    }
}

/// The pieces of the text, or none where servers differ in what they are.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let differs = ["\\", "--", "/*", "#", "$$", "&\"", "&'"];
    if differs.iter().any(|mark| text.contains(mark)) {
        return None;
    }
    let letters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let rest = &letters[at + 1..];
        let length = match letter {
            '\'' | '"' | '`' => {
                let length = rest.iter().position(|other| *other == letter)?;
                let quoted: String = rest[..length].iter().collect();
                tokens.push(if letter == '\'' {
                    Token::Text(quoted)
                } else {
                    Token::Word(quoted.to_lowercase())
                });
                length + 2
            }
            _ if is_of_word(letter) => {
                let length = rest.iter().take_while(|letter| is_of_word(**letter)).count() + 1;
                tokens.push(Token::Word(letters[at..at + length].iter().collect::<String>().to_lowercase()));
                length
            }
            _ if letter.is_whitespace() => 1,
            _ => {
                tokens.push(Token::Mark(letter));
                1
            }
        };
        at += length;
    }
    Some(tokens)
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '@' | '$')
}

fn class(statement: &[Token]) -> Class {
    let has = |word: &str| statement.iter().any(|token| token.is(word));
    let all_rows = (has("delete") || (has("update") && has("set"))) && !has("where");
    let loses = has("drop") || has("truncate") || all_rows;
    // The calls of document databases.
    let calls =
        "dropdatabase dropcollection dropindex dropindexes dropuser deletemany deleteone findoneanddelete
        findandremove remove flushall flushdb shutdownserver";
    let calls = statement.iter().any(|token| matches!(token, Token::Word(word) if listed(calls, word)));
    if loses || calls { Class::Destructive } else { Class::Write }
}

fn not_followed(statement: &[Token]) -> Option<String> {
    if let Some(function) = unknown_call(statement) {
        return Some(format!("what the function `{function}` does is not known"));
    }
    if !is_known_statement(statement) || names_files(statement) {
        return Some("a statement that may run a program, or read or write a file".to_owned());
    }
    None
}

/// The first function that is called and not known. Brackets also follow the names of tables and types.
fn unknown_call(statement: &[Token]) -> Option<String> {
    let opens = (0..statement.len()).filter(|at| statement[*at] == Token::Mark('('));
    opens.filter_map(|at| called(&statement[..at])).next()
}

fn called(before: &[Token]) -> Option<String> {
    match before {
        [.., Token::Text(text)] => Some(text.clone()),
        [.., Token::Mark(']')] => Some("]".to_owned()),
        [rest @ .., Token::Word(name)] => {
            let qualified = rest.ends_with(&[Token::Mark('.')]);
            let rest = if qualified { &rest[..rest.len().saturating_sub(2)] } else { rest };
            let known = (!qualified && listed(FUNCTIONS, name)) || names_table(rest);
            (!known).then(|| name.clone())
        }
        _ => None,
    }
}

/// Whether a name after these words is that of a table whose columns are listed.
fn names_table(before: &[Token]) -> bool {
    let creates = before.first().is_some_and(|first| first.is("create"));
    let is_with = before.len() == 1 && before[0].is("with");
    let last = before.last();
    let after = |word: &str| last.is_some_and(|token| token.is(word));
    let in_list = creates && (after("exists") || after("on") || after("table") || after("references"));
    let inserts = before.first().is_some_and(|first| first.is("insert") || first.is("replace"));
    in_list
        || is_with
        || (after("references") && before.first().is_some_and(|first| first.is("alter")))
        || (inserts && after("into") && before.len() <= 4)
}

/// Statements that work on tables, by their first words.
fn is_known_statement(statement: &[Token]) -> bool {
    let words: Vec<&str> = statement
        .iter()
        .filter_map(|token| match token {
            Token::Word(word) => Some(word.as_str()),
            _ => None,
        })
        .collect();
    // `explain analyze select …`
    let explains = matches!(words.first(), Some(&("explain" | "analyze")));
    let skipped = words.iter().take_while(|word| {
        explains
            && matches!(
                **word,
                "explain"
                    | "analyze"
                    | "verbose"
                    | "query"
                    | "plan"
                    | "buffers"
                    | "format"
                    | "json"
                    | "costs"
            )
    });
    let (head, rest) = match &words[skipped.count()..] {
        [head, rest @ ..] => (*head, rest),
        [] => return explains,
    };
    let next = rest.iter().find(|word| !listed(MODIFIERS, word)).copied().unwrap_or_default();
    match head {
        "create" => {
            listed("table index view schema database sequence type domain user role", next)
                && !rest.contains(&"virtual")
        }
        "alter" => listed("table index view sequence schema type", next),
        "pragma" => listed(PRAGMAS, next),
        "set" => listed(SETTINGS, next),
        "copy" => copies_to_the_screen(statement),
        _ => listed(STATEMENTS, head) || (explains && words.len() <= 3),
    }
}

const STATEMENTS: &str = "select with insert update delete replace merge values table show describe desc use truncate
    drop begin commit rollback start end savepoint release vacuum reindex grant revoke comment refresh checkpoint";

const MODIFIERS: &str =
    "or replace temp temporary unique unlogged materialized concurrently local session if not exists";

const PRAGMAS: &str = "table_info table_xinfo table_list index_list index_info foreign_keys foreign_key_list foreign_key_check
    integrity_check quick_check user_version schema_version journal_mode page_count page_size database_list compile_options
    encoding synchronous cache_size main";

const SETTINGS: &str =
    "statement_timeout lock_timeout search_path timezone names foreign_key_checks autocommit sql_mode
    client_encoding transaction time work_mem character_set_client";

/// `copy t to stdout`
fn copies_to_the_screen(statement: &[Token]) -> bool {
    let mut depth = 0_usize;
    for (at, token) in statement.iter().enumerate() {
        match token {
            Token::Mark('(') => depth += 1,
            Token::Mark(')') => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 && word == "to" => {
                return statement.get(at + 1).is_some_and(|token| token.is("stdout"));
            }
            _ => {}
        }
    }
    false
}

/// Whether words stand in it that name files, or other databases, where no table is named.
fn names_files(statement: &[Token]) -> bool {
    let mut depth = 0_usize;
    let mut clause = "";
    statement.iter().enumerate().any(|(at, token)| {
        let before = at.checked_sub(1).and_then(|at| statement.get(at));
        match token {
            Token::Mark('(') => depth += 1,
            Token::Mark(')') => depth = depth.saturating_sub(1),
            // `from 'file.csv'`
            Token::Text(_) => {
                let named = before.is_some_and(|token| {
                    ["from", "join", "table", "describe", "desc", "summarize", "update"].iter().any(|word| token.is(word))
                });
                return named || (depth == 0 && clause == "from" && before == Some(&Token::Mark(',')));
            }
            Token::Word(word) if word == "into" => {
                let insert = ["insert", "replace", "merge", "ignore", "delayed", "low_priority"];
                return !before.is_some_and(|token| insert.iter().any(|word| token.is(word)));
            }
            Token::Word(word) if listed("outfile dumpfile infile program directory location connection", word) => {
                return statement.first().is_some_and(|first| !first.is("select")) || before.is_some_and(|token| token.is("into"));
            }
            Token::Word(word) if word == "engine" && statement.first().is_some_and(|first| first.is("create") || first.is("alter")) => {
                let engine = statement[at + 1..].iter().find(|token| **token != Token::Mark('='));
                return !matches!(engine, Some(Token::Word(name)) if listed("innodb memory myisam mergetree", name));
            }
            Token::Word(word) if word.contains('/') => return true,
            Token::Word(word) if listed("from where group order limit having set select values union on", word) => {
                clause = if word == "from" { "from" } else { "" };
            }
            _ => {}
        }
        false
    })
}

fn listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// What may stand before a bracket: functions that compute, types, and words of the language.
const FUNCTIONS: &str = "
    count sum avg min max total coalesce ifnull nullif isnull nvl iif if length char_length octet_length lower upper
    substr substring trim ltrim rtrim lpad rpad left right reverse repeat replace instr position strpos locate concat
    concat_ws group_concat string_agg array_agg array_length array_to_string string_to_array unnest split_part initcap
    ascii chr char unicode hex quote printf format md5 sha1 sha2 regexp_replace regexp_matches regexp_match regexp_like
    regexp_substr substring_index round abs ceil ceiling floor power pow sqrt mod sign exp ln log log10 log2 greatest
    least random rand trunc truncate date datetime time strftime julianday unixepoch now current_timestamp current_date
    extract date_trunc date_part date_format date_add date_sub datediff timestampdiff timediff to_char to_date
    to_timestamp to_number make_date age from_unixtime unix_timestamp str_to_date curdate curtime year month day hour
    minute second week weekday dayofweek dayofmonth last_day interval cast try_cast convert typeof pg_typeof version
    database current_database current_schema current_user user schema sqlite_version pg_size_pretty pg_database_size
    pg_total_relation_size pg_relation_size pg_table_size pg_indexes_size found_rows row_count last_insert_id
    last_insert_rowid changes total_changes uuid gen_random_uuid nextval currval setval generate_series row_number rank
    dense_rank percent_rank ntile lag lead first_value last_value nth_value row grouping json json_extract json_object
    json_array json_agg json_build_object json_array_length json_group_array json_group_object json_each json_tree
    json_type json_valid json_set json_unquote json_value json_query jsonb jsonb_agg jsonb_build_object jsonb_set
    jsonb_array_elements jsonb_array_length jsonb_each jsonb_pretty row_to_json to_json to_jsonb json_array_elements
    likely unlikely bool_and bool_or every stddev variance percentile_cont percentile_disc median
    copy and or not in on using where select from as when then else case by values set key primary unique check foreign
    union all except intersect having between like ilike is returning over partition index default distinct any some
    exists limit offset array filter within group lateral materialized analyze explain into add generated always
    varchar nvarchar character bit int integer tinyint smallint bigint numeric decimal dec float double real varbinary
    binary blob text timestamp timestamptz enum vector string nullable lowcardinality
    table_info table_xinfo index_list index_info foreign_key_list foreign_key_check integrity_check";

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Judged {
        judge(&Arg::Known(text.to_owned()))
    }

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
            ("create table dropped (id int)", Class::Write),
            ("select 1", Class::Write),
        ] {
            assert_eq!(judged(text).class, class, "{text}");
        }
    }

    #[test]
    fn statements_that_work_on_tables_are_followed() {
        for text in [
            "select * from users where name = 'o''neil' limit 5",
            "SELECT count(*), max(created_at) FROM orders GROUP BY status;",
            "with x as (select 1) select * from x",
            "with x (a, b) as (select 1, 2) select * from x",
            "insert into t (a, b) values (1, 'x'), (2, 'y')",
            "update t set a = coalesce(b, 0) where id in (1, 2)",
            "create table if not exists t (id integer primary key, name varchar(10) not null)",
            "create unique index i on t (a, b)",
            "alter table t add column c text default 'x'",
            "explain analyze select 1",
            "explain (analyze, buffers) select * from t",
            "pragma table_info(t)",
            "select \"Name\" from \"Users\"",
            "select a.b, sum(x) over (partition by y order by z) from a join b on (a.id = b.id)",
            "show tables",
            "describe t",
            "select * from t\\G",
            "copy (select 1) to stdout with csv header",
            "begin; update t set a = 1 where b = 2; commit",
            "\\dt",
            "\\d+ users",
            ".tables",
            ".schema t",
            ".mode csv",
            "select cast(a as numeric(10, 2)) from t",
            "create table c (id int references p (id))",
        ] {
            assert_eq!(judged(text).doubt, None, "{text}");
        }
    }

    #[test]
    fn what_reaches_files_programs_or_code_is_not_followed() {
        for text in [
            ".shell id",
            ".tables\n.shell id",
            ".output x",
            ".mode csv |id",
            "\\! id",
            "\\d `id`",
            "\\o |id",
            "select 1 \\! id",
            "select 1;\n.shell id",
            "select 1 \\g |id",
            "select edit('x', 'id')",
            "select load_extension('./x')",
            "select \"load_extension\"('./x')",
            "select [load_extension]('./x')",
            "select `load_extension` ('./x')",
            "select 'load_extension'('./x')",
            "select main.edit('x')",
            "select writefile('a', 'b')",
            "select a from t join u on readfile('x')",
            "select * from fsdir('/')",
            "create virtual table t using csv(filename='/etc/passwd')",
            "create table t as select readfile('x')",
            "insert into t select readfile('x')",
            "insert into function file('x')",
            "insert into t (a) values (readfile('x'))",
            "with a as (select 1), b as (select readfile('x')) select * from b",
            "attach 'x' as y",
            "vacuum into 'x'",
            "copy t to '/tmp/x'",
            "copy t from program 'id'",
            "copy (select 1) to program 'id'",
            "select * from '/etc/passwd'",
            "select * from a, '/etc/passwd'",
            "select * from \"/etc/passwd\"",
            "select 1 into outfile '/tmp/x'",
            "table t into outfile 'x'",
            "load data infile 'x' into table t",
            "select load_file('/etc/passwd')",
            "select pg_read_file('x')",
            "select lo_import('x')",
            "select * from dblink('host=x', 'y')",
            "create extension x",
            "create function f() returns int as 'x' language c",
            "create or replace function f() returns int",
            "do 'x'",
            "call f()",
            "alter system set a = 'b'",
            "set global general_log_file = 'x'",
            "source x",
            "system id",
            "pager sh",
            "install httpfs",
            "export database 'x'",
            "select /*! load_file('x') */ 1",
            "select 1 -- '\n; attach 'x' as y",
            "select '\\' , load_file('x') , '",
            "select $$ a $$",
            "create table t (a int) engine=csv",
            "create table t (a int) data directory='/x'",
            "pragma temp_store_directory = '/x'",
            "explain copy t from program 'id'",
            "prepare x from 'y'",
            "execute x",
        ] {
            assert!(judged(text).doubt.is_some(), "{text}");
        }
    }
}

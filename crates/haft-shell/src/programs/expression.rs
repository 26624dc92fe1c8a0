//! Whether a filter of jq or yq only computes with its input.
//!
//! Each name in it must be a function that is known to do no more, be defined in the filter, or be a field. Filters of
//! other versions may know more functions, so a name that is not listed is not followed.

/// Which program reads the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Jq,
    Yq,
}

/// Whether every function that the filter calls is known.
pub(super) fn is_followed(text: &str, dialect: Dialect) -> bool {
    let letters = text.chars().collect();
    let mut reader =
        Reader { dialect, letters, at: 0, open: Vec::new(), before: None, defined: Vec::new(), head: None };
    reader.code()
}

fn known(name: &str, dialect: Dialect) -> bool {
    let of_its_own = match dialect {
        Dialect::Jq => JQ,
        Dialect::Yq => YQ,
    };
    COMMON.split_whitespace().chain(of_its_own.split_whitespace()).any(|function| function == name)
}

const COMMON: &str = "
    if then elif else end as reduce foreach try catch and or not empty null true false length keys has in
    contains inside map map_values select recurse add any all flatten range floor sqrt pow to_entries
    from_entries with_entries paths del sort sort_by group_by min max min_by max_by unique unique_by reverse
    split join test match capture sub ascii_downcase ascii_upcase trim tostring tonumber type first last tojson
    fromjson now error abs pick omit path";

const JQ: &str = "
    label break __loc__ keys_unsorted utf8bytelength leaf_paths delpaths getpath setpath to_number to_string
    arrays objects iterables booleans numbers normals finites strings nulls values scalars ltrimstr rtrimstr
    trimstr ltrim rtrim startswith endswith explode implode splits gsub ascii scan indices index rindex
    combinations walk transpose input inputs debug stderr input_line_number limit skip until while repeat
    isvalid nth todate fromdate dateadd datesub date mktime gmtime localtime strftime strptime strflocaltime
    fromdateiso8601 todateiso8601 infinite nan isinfinite isnan isnormal isempty halt halt_error fabs round ceil
    trunc log log2 log10 exp exp2 exp10 significand logb gamma lgamma tostream fromstream truncate_stream
    bsearch input_filename IN INDEX toarray have_literal_numbers env ENV builtins";

const YQ: &str = "
    with ireduce sort_keys sortKeys style tag anchor alias explode comments headComment lineComment footComment
    head_comment line_comment foot_comment line column key parent parents kind is_key document_index
    documentIndex di file_index fileIndex fi upcase downcase to_json from_json to_yaml from_yaml to_xml from_xml
    to_csv from_csv to_tsv to_props from_props to_toml from_toml array_to_map filter pivot shuffle
    format_datetime with_dtf tz to_unix from_unix splitDoc split_doc delpaths setpath getpath toyaml fromyaml
    to_number to_string ltrimstr collect";

struct Reader {
    dialect: Dialect,
    letters: Vec<char>,
    at: usize,
    /// The brackets that are open.
    open: Vec<char>,
    /// What stands before, if it is no blank.
    before: Option<char>,
    /// The functions that the filter defines, and the parameters of the one that it is in.
    defined: Vec<String>,
    /// How many functions were defined before the definition that is being read.
    head: Option<usize>,
}

impl Reader {
    /// Reads to the end of the text, or to the bracket that closes what is open. False if it does not come.
    fn code(&mut self) -> bool {
        let depth = self.open.len();
        while let Some(&letter) = self.letters.get(self.at) {
            match letter {
                '"' => {
                    if !self.string() {
                        return false;
                    }
                    self.before = Some('"');
                    continue;
                }
                // Programs differ in where a comment ends, and so in what is code after it.
                '#' => return false,
                '(' | '[' | '{' => self.open.push(letter),
                ')' | ']' | '}' => {
                    if self.open.len() == depth {
                        return letter == ')' && depth > 0;
                    }
                    self.open.pop();
                }
                // The parameters end with the definition.
                ';' if self.open.is_empty() => {
                    if let Some(head) = self.head.take() {
                        self.defined.truncate(head + 1);
                    }
                }
                _ if letter.is_alphabetic() || letter == '_' => {
                    if !self.name() {
                        return false;
                    }
                    continue;
                }
                // The letters of a number or of a variable's or a format's name are no function.
                _ if letter.is_numeric() || matches!(letter, '$' | '@') => {
                    self.skip_word();
                    continue;
                }
                _ => {}
            }
            self.before = match (self.before, letter) {
                // A field stands right after its dot, and after one dot.
                (Some('.'), '.') => None,
                (Some('.'), _) if letter.is_whitespace() => None,
                (before, _) if letter.is_whitespace() => before,
                _ => Some(letter),
            };
            self.at += 1;
        }
        self.open.is_empty() && depth == 0
    }

    /// Reads a name. False if it is one of a function that is not known.
    fn name(&mut self) -> bool {
        let start = self.at;
        self.skip_letters();
        let name: String = self.letters[start..self.at].iter().collect();
        let rest = &self.letters[self.at..];
        let mut after = rest.iter().copied().skip_while(|letter| letter.is_whitespace());
        let (next, second) = (after.next(), after.next());
        let in_object = self.open.last() == Some(&'{') && matches!(self.before, Some('{' | ','));
        let is_key = in_object && matches!(next, Some(':' | ',' | '}')) && second != Some(':');
        let is_field = self.before == Some('.');
        if name == "def" && !is_field && !is_key {
            return self.definition();
        }
        self.before = Some('a');
        is_field || is_key || known(&name, self.dialect) || self.defined.contains(&name)
    }

    /// `def name(a; $b):`. One inside of another ends where that cannot be seen.
    fn definition(&mut self) -> bool {
        let begins = self.open.is_empty() && matches!(self.before, None | Some(';')) && self.head.is_none();
        let length = self.letters[self.at..].iter().position(|letter| *letter == ':');
        let (Some(length), true) = (length, begins && self.dialect == Dialect::Jq) else { return false };
        let head: String = self.letters[self.at..self.at + length].iter().collect();
        let plain = |letter: char| letter.is_alphanumeric() || " _();$".contains(letter);
        self.head = Some(self.defined.len());
        let names =
            head.split([' ', '(', ')', ';']).filter(|name| !name.is_empty() && !name.starts_with('$'));
        self.defined.extend(names.map(str::to_owned));
        self.at += length + 1;
        self.before = Some(':');
        head.chars().all(plain) && self.defined.len() > self.head.unwrap_or_default()
    }

    fn skip_word(&mut self) {
        self.at += 1;
        self.skip_letters();
        self.before = Some('a');
    }

    fn skip_letters(&mut self) {
        let is_of_name = |letter: &&char| letter.is_alphanumeric() || **letter == '_';
        self.at += self.letters[self.at..].iter().take_while(is_of_name).count();
    }

    /// A string, with the filters in it.
    fn string(&mut self) -> bool {
        self.at += 1;
        while let Some(&letter) = self.letters.get(self.at) {
            self.at += 1;
            match letter {
                '"' => return true,
                '\\' if self.letters.get(self.at) == Some(&'(') => {
                    self.at += 1;
                    self.open.push('(');
                    self.before = Some('(');
                    if self.open.len() > MOST_NESTED || !self.code() {
                        return false;
                    }
                    self.open.pop();
                    self.at += 1;
                }
                '\\' => self.at += 1,
                _ => {}
            }
        }
        false
    }
}

/// A filter that is nested deeper is not followed.
const MOST_NESTED: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, followed: bool, filters: &[&str]) {
        for filter in filters {
            assert_eq!(is_followed(filter, dialect), followed, "{filter}");
        }
    }

    #[test]
    fn filters_that_compute_are_followed() {
        check(
            Dialect::Jq,
            true,
            &[
                ".",
                ".a.b[0]",
                ".include",
                "{name, id: .x, \"k\": 1}",
                "map(select(.age > 3 and .name != \"eval\"))",
                "\"\\(.a) is \\(.b | length)\"",
                "def f(g): map(g); f(.x)",
                "def f($a; b): $a + b; def g: f(1; .); g | f(2; g)",
                "[.[] | {(.key): .value}] | add // {}",
                "reduce .[] as $x (0; . + $x)",
                ".[] | [.a, .b] | @csv",
                "to_entries[] | \"\\(.key)=\\(.value)\"",
                "if .a then .b else empty end",
                "..|.x?",
                "1e5",
                "$ENV.HOME",
                ".a as $import | $import",
            ],
        );
        check(
            Dialect::Yq,
            true,
            &[".a.b", ".a = 3", "del(.x)", "... comments=\"\"", ".a |= sort_by(.b)", ". * {\"a\": 1}"],
        );
    }

    #[test]
    fn what_reads_other_files_or_is_not_known_is_not_followed() {
        check(
            Dialect::Jq,
            false,
            &[
                "import \"a\" as x; .",
                "include \"m\"; .",
                "\"m\" | modulemeta",
                "\"\\(modulemeta)\"",
                ". modulemeta",
                "..modulemeta",
                ". # \"\n| modulemeta # \"",
                "{a: modulemeta}",
                "{modulemeta}|{(modulemeta): 1}",
                "x::f",
                "(def modulemeta: 1; .) | modulemeta",
                "def f: def modulemeta: 1; .; modulemeta",
                "def f(modulemeta): .; modulemeta",
                "def f: 1 | def modulemeta: 2; .; modulemeta",
                "\"open",
                "\"\\(",
                ")(",
                "#\\\nmodulemeta",
            ],
        );
        check(
            Dialect::Yq,
            false,
            &[
                "load(\"x\")",
                "eval(.x)",
                "(eval(\"lo\" + \"ad\"))",
                ".a = load_str(\"x\")",
                "env(HOME)",
                "strenv(A)",
                "envsubst",
                "system(\"id\")",
                "{a: eval(.b)}",
                ". as $x | eval ($x)",
            ],
        );
    }

    proptest! {
        #[test]
        fn a_call_of_an_unknown_function_is_never_followed(
            before in "[.|, a-c(){}\\[\\]\"\\\\#:\n]{0,12}",
        ) {
            // Unless the beginning makes it a field, a key, or text.
            let filter = format!("{before} | modulemeta(.)");
            let in_string = before.contains('"');
            prop_assert!(in_string || !is_followed(&filter, Dialect::Jq));
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), marks in "[\\\\()\"{}a.:]{0,40}") {
            is_followed(&text, Dialect::Yq);
            is_followed(&marks, Dialect::Jq);
        }
    }
}

//! From the words that were told apart to the facts, by the table alone.
//!
//! What the table cannot say is in [`special`](super::special).

use haft_tool::{Access, Class};

use super::{
    Arg, Facts, Run, Touch, database,
    expression::{self, Dialect},
    host,
    table::{Entry, Kind, Meaning, Value, is_word},
    walk::{Walk, literal_beginning, may_be_several, walk},
};

/// A program of the table, or its subcommand, with its words.
pub(super) struct Case<'a> {
    /// As the table names it.
    pub(super) name: &'a str,
    pub(super) entry: &'static Entry,
    /// The words after the name.
    pub(super) args: &'a [Arg],
}

/// The facts about it.
pub(super) fn judge(case: &Case<'_>) -> Facts {
    let mut facts = match case.entry.special {
        Some(special) => special.judge(case),
        None => plain(case),
    };
    facts.told_apart = case.entry.class == Class::ReadOnly || case.entry.habits.told;
    facts
}

/// What the options in front of a subcommand add to the facts about that.
pub(super) fn add_options(facts: &mut Facts, case: &Case<'_>, walk: &Walk<'_>) {
    let mut seen = Judge::new(case);
    seen.options(walk);
    facts.raise(seen.raised);
    facts.touches.append(&mut seen.facts.touches);
    facts.hosts.extend(seen.contacted.drain(..).map(|host| (host, Access::Write)));
    if !facts.hosts.is_empty() {
        facts.raise(Class::Write);
    }
    if let Some(doubt) = walk.doubt.clone().or(seen.facts.doubt) {
        facts.doubt(doubt);
    }
}

/// The facts by the table alone.
pub(super) fn plain(case: &Case<'_>) -> Facts {
    weigh(case, &walk(case.entry, case.name, case.args))
}

/// The same, for words that were told apart already.
pub(super) fn weigh(case: &Case<'_>, walk: &Walk<'_>) -> Facts {
    let mut judge = Judge::new(case);
    judge.options(walk);
    judge.operands(walk);
    judge.finish(walk)
}

struct Judge<'a> {
    case: &'a Case<'a>,
    facts: Facts,
    raised: Class,
    /// An option says that nothing is changed after all.
    calm: bool,
    /// It only says what it would do.
    dry: bool,
    /// An option says that what is there stays, so that it can be read together with what is new.
    adds: bool,
    sends: bool,
    emits: bool,
    contacted: Vec<Arg>,
    /// A statement for a database was given.
    told: bool,
}

impl<'a> Judge<'a> {
    fn new(case: &'a Case<'a>) -> Self {
        Judge {
            case,
            facts: Facts::of(case.entry.class),
            raised: Class::ReadOnly,
            calm: false,
            dry: asks_for_help(case.args),
            adds: false,
            sends: false,
            emits: case.entry.habits.emits,
            contacted: Vec::new(),
            told: false,
        }
    }

    fn options(&mut self, walk: &Walk<'_>) {
        self.calm = walk.means(Meaning::Read);
        self.adds = walk.means(Meaning::Adds);
        for used in &walk.used {
            let denied = used.values.iter().any(|value| is(value, "none") || is(value, "false"));
            for meaning in &used.option.means {
                if *meaning != Meaning::Dry || !denied {
                    self.meaning(*meaning, &used.option.name);
                }
            }
            let kinds: &[Kind] = match &used.option.value {
                Value::None => &[],
                Value::Needed(kinds) => kinds,
                Value::Attached(kind) => std::slice::from_ref(kind),
            };
            for (kind, value) in kinds.iter().zip(&used.values) {
                self.only(&used.option.name, value);
                let is_word = matches!(value, Arg::Known(text) if is_word(text));
                if *kind == Kind::Word && !is_word && !self.has_list(&used.option.name) {
                    self.unlisted(value);
                }
                self.value(*kind, value, false);
            }
        }
    }

    fn meaning(&mut self, meaning: Meaning, option: &str) {
        match meaning {
            Meaning::Write => self.raise(Class::Write),
            Meaning::Destroy => self.raise(Class::Destructive),
            Meaning::Sends => self.sends = true,
            Meaning::Emits => self.emits = true,
            Meaning::Dest => self.emits = false,
            Meaning::Doubt => {
                let name = self.case.name;
                self.facts.doubt(format!("`{option}` of `{name}` can run a program, or change what it does"));
            }
            Meaning::Lists => self.lists(),
            Meaning::Names => self.raise(Class::Write),
            Meaning::Deep => self.facts.deep = true,
            Meaning::Dry => self.dry = true,
            Meaning::Halt => {
                self.raise(Class::Destructive);
                self.facts.halts = true;
            }
            Meaning::Elsewhere => self.elsewhere(),
            Meaning::Read
            | Meaning::Adds
            | Meaning::Prints
            | Meaning::Texts
            | Meaning::First
            | Meaning::Here
            | Meaning::Opaque => {}
        }
    }

    /// `zcat a` looks for `a.gz` and others where there is no `a`.
    fn zipped(&mut self, arg: &Arg) {
        const ENDINGS: [&str; 5] = [".gz", ".z", "-gz", "-z", ".Z"];
        self.read(arg);
        let Arg::Known(name) = arg else { return };
        if name != "-" && !ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            ENDINGS.iter().for_each(|ending| self.read(&Arg::Known(format!("{name}{ending}"))));
        }
    }

    fn lists(&mut self) {
        let name = self.case.name;
        self.facts.doubt(format!("`{name}` opens the files that a list names, wherever they are"));
    }

    /// What it shows besides its operands is of the system, or of others.
    fn elsewhere(&mut self) {
        for place in &self.case.entry.looks {
            self.facts.touch(&Arg::Known((*place).to_owned()), Access::Read);
        }
    }

    fn raise(&mut self, class: Class) {
        self.raised = self.raised.max(class);
    }

    fn operands(&mut self, walk: &Walk<'_>) {
        if let Some(pattern) = pattern_before_files(self.case.entry, walk) {
            self.read(pattern);
        } else if misplaced(self.case.entry, walk) {
            let name = self.case.name;
            self.facts.doubt(format!("which operand of `{name}` is which is not known"));
        }
        let kinds = kinds(self.case.entry, walk);
        for (at, operand) in walk.operands.iter().enumerate() {
            self.when(operand);
            self.listed(walk, at, operand, kinds.get(at));
            match kinds.get(at) {
                Some(Kind::Run) => return self.run(&walk.operands[at..]),
                Some(kind) => self.value(*kind, operand, at + 1 == walk.operands.len()),
                None => self.too_many(),
            }
        }
        self.here(walk, &kinds);
    }

    fn when(&mut self, operand: &Arg) {
        let Arg::Known(word) = operand else { return };
        for when in self.case.entry.when.iter().filter(|when| when.fits(word)) {
            self.meaning(when.means, word);
        }
    }

    /// An operand must be among those that are listed, if any are. One that is a plain word needs no listing where
    /// the table says so.
    fn listed(&mut self, walk: &Walk<'_>, at: usize, operand: &Arg, kind: Option<&Kind>) {
        let passed_on = walk.before_dashes.is_some_and(|dashes| at >= dashes);
        if passed_on && self.has_list("--") {
            return self.only("--", operand);
        }
        let is_word = matches!(operand, Arg::Known(text) if is_word(text));
        if kind == Some(&Kind::Word) && !is_word && !self.has_list(":") {
            self.unlisted(operand);
        } else if !(kind == Some(&Kind::Word) && is_word) {
            self.only(":", operand);
        }
    }

    fn has_list(&self, of: &str) -> bool {
        self.case.entry.only.iter().any(|only| only.of == of)
    }

    /// The value must be one of those that are listed, if any are.
    fn only(&mut self, of: &str, value: &Arg) {
        let lists = self.case.entry.only.iter().filter(|only| only.of == of);
        let listed = !self.has_list(of)
            || matches!(value, Arg::Known(text) if pieces(text).all(|piece| lists.clone().any(|only| only.fits(piece))));
        if !listed {
            self.unlisted(value);
        }
    }

    fn unlisted(&mut self, value: &Arg) {
        let name = self.case.name;
        self.facts.doubt(match value {
            Arg::Known(text) => format!("`{text}` may do more than `{name}` is for"),
            _ => format!("a word that is not known may do more than `{name}` is for"),
        });
    }

    fn run(&mut self, words: &[&Arg]) {
        let argv = words.iter().map(|word| (*word).clone()).collect();
        self.facts.runs.push(Run::Command { argv, directory: None });
    }

    fn too_many(&mut self) {
        if !self.case.entry.habits.open {
            let name = self.case.name;
            self.facts.doubt(format!("`{name}` has more operands than are understood"));
        }
    }

    /// Whether nothing is named that it could change.
    fn only_passes_on(&self, walk: &Walk<'_>) -> bool {
        let Some(filter) = &self.case.entry.filter else { return false };
        let is_nothing = |arg: &&Arg| matches!(arg, Arg::Known(name) if filter.contains(&name.as_str()));
        let recursive = walk.has("-r") || walk.has("--recursive");
        walk.doubt.is_none()
            && !recursive
            && self.raised == Class::ReadOnly
            && walk.operands.iter().all(is_nothing)
    }

    /// A search without a place to search goes through the directory.
    fn here(&mut self, walk: &Walk<'_>, kinds: &[Kind]) {
        let searches = self.case.entry.habits.here || walk.means(Meaning::Here);
        if walk.wide || (searches && !kinds.contains(&Kind::Read)) {
            self.touch(&Arg::Known(".".to_owned()), Access::Read, false);
        }
    }

    fn value(&mut self, kind: Kind, arg: &Arg, last: bool) {
        match kind {
            Kind::Text | Kind::Word => {}
            Kind::Id if matches!(arg, Arg::Known(text) if is_word(text) && !text.contains('/')) => {}
            Kind::Id => self.unlisted(arg),
            Kind::Name if matches!(arg, Arg::Known(name) if !name.contains('/')) => {}
            Kind::Name | Kind::Read => self.read(arg),
            Kind::Write => {
                if self.adds {
                    self.touch(arg, Access::Read, false);
                }
                self.touch(arg, Access::Write, false);
            }
            Kind::Edit => {
                self.touch(arg, Access::Read, false);
                if !self.calm {
                    self.touch(arg, Access::Write, false);
                }
            }
            Kind::Out if is(arg, "-") => {}
            Kind::Below if is_below(arg) => self.touch(arg, Access::Write, false),
            Kind::Aside | Kind::Below | Kind::Out => self.aside(arg),
            Kind::Rev => self.revision(arg),
            Kind::Remote => self.remote(arg),
            Kind::Template => self.template(arg),
            Kind::Url => self.contacted.push(host::of_url(arg)),
            // `nc host 80`: behind a host stands a port.
            Kind::Host if !self.contacted.is_empty() && is_port(arg) => {}
            Kind::Host => self.contacted.push(host::of_name(arg)),
            Kind::Away => self.away(arg, last),
            Kind::Run => self.run(&[arg]),
            Kind::Script => self.facts.runs.push(Run::Script(arg.clone())),
            Kind::Change => self.raise(Class::Write),
            Kind::Plus if begins(arg, "+") => {}
            Kind::Plus => self.raise(Class::Write),
            Kind::Drop => self.raise(Class::Destructive),
            Kind::Sql => self.sql(arg),
            Kind::Jq => self.expression(arg, Dialect::Jq),
            Kind::Yq => self.expression(arg, Dialect::Yq),
            Kind::Ref if begins(arg, "+") || begins(arg, ":") => self.raise(Class::Destructive),
            Kind::Ref => {}
            Kind::Data | Kind::Header => self.sent(arg, &["@"]),
            Kind::Form => self.sent(arg, &["@", "=@", "=<"]),
            Kind::Method => self.method(arg),
            Kind::Format => self.format(arg),
            Kind::List => {
                self.read(arg);
                self.lists();
            }
            Kind::Page if matches!(arg, Arg::Known(name) if !name.contains('/')) => {}
            Kind::Store if !matches!(arg, Arg::Known(name) if !name.contains(':')) => {
                self.read(arg);
                self.facts.doubt(format!("where `{}` reads this from is not known", self.case.name));
            }
            Kind::Store => self.read(arg),
            Kind::Zipped => self.zipped(arg),
            Kind::Names | Kind::Page => {
                self.raise(Class::Write);
                self.read(arg);
            }
        }
    }

    fn expression(&mut self, arg: &Arg, dialect: Dialect) {
        if !matches!(arg, Arg::Known(text) if expression::is_followed(text, dialect)) {
            let name = self.case.name;
            self.facts.doubt(format!("what `{name}` is told to do is not followed"));
        }
    }

    fn read(&mut self, arg: &Arg) {
        if !is(arg, "-") {
            self.touch(arg, Access::Read, false);
        }
    }

    fn aside(&mut self, arg: &Arg) {
        self.raise(Class::Write);
        self.touch(arg, Access::Write, true);
    }

    /// A name, a ref, a path, or an address that git itself can reach. It hands others on to a program: `ext::sh`.
    fn remote(&mut self, arg: &Arg) {
        let known = matches!(arg, Arg::Known(text) if !text.contains("::") && match text.split_once("://") {
            Some((scheme, _)) => matches!(scheme, "https" | "http" | "ssh" | "git" | "file"),
            None => true,
        });
        if !known {
            self.unlisted(arg);
        }
        // `a:b` may be two refs; only with a user before it is it sure to be a host.
        let is_url = matches!(arg, Arg::Known(text) if text.contains("://") && !text.starts_with("file:"));
        let is_at_host = matches!(arg, Arg::Known(text) if text.split_once(':').is_some_and(|(host, _)| {
            host.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
        }));
        if is_url || is_at_host {
            self.contacted.extend(host::before_colon(arg));
        }
    }

    /// What is printed after a transfer: text with `%{name}` in it, and nothing that names a file.
    fn template(&mut self, arg: &Arg) {
        let prints = |part: &str| part.starts_with('{') || part.starts_with("header{");
        let known = matches!(arg, Arg::Known(text)
            if !text.starts_with('@') && text.replace("%%", "").split('%').skip(1).all(prints));
        if !known {
            self.unlisted(arg);
        }
        if let Arg::Known(text) = arg
            && let Some(file) = text.strip_prefix('@')
        {
            self.touch(&Arg::Known(file.to_owned()), Access::Read, false);
        }
    }

    /// A path, and where git takes `REVISION:PATH`, that path.
    fn revision(&mut self, arg: &Arg) {
        match arg {
            Arg::Known(text) => match text.split_once(':') {
                Some((_, "")) => {}
                Some((_, path)) => self.touch(&Arg::Known(path.to_owned()), Access::Read, false),
                None => self.touch(arg, Access::Read, false),
            },
            _ => self.touch(arg, Access::Read, false),
        }
    }

    /// `host:path`, or a path of this machine.
    fn away(&mut self, arg: &Arg, last: bool) {
        match host::before_colon(arg) {
            Some(host) => {
                self.sends |= last;
                self.contacted.push(host);
            }
            None => self.touch(arg, if last { Access::Write } else { Access::Read }, false),
        }
    }

    /// Data that is sent; after one of these marks comes the file that it is in.
    fn sent(&mut self, arg: &Arg, marks: &[&str]) {
        let text = match arg {
            Arg::Known(text) => text,
            _ if begins(arg, "@") || begins_unknown(arg) || marks.len() > 1 => {
                return self.touch(arg, Access::Read, false);
            }
            _ => return,
        };
        let file = text.strip_prefix('@').or_else(|| {
            let mut later = marks.iter().skip(1);
            later.find_map(|mark| text.split_once(mark).map(|(_, file)| file))
        });
        let file = file.or_else(|| marks.get(1).and_then(|_| text.split_once('@').map(|(_, file)| file)));
        if let Some(file) =
            file.map(|file| file.split(';').next().unwrap_or(file)).filter(|file| *file != "-")
        {
            self.touch(&Arg::Known(file.to_owned()), Access::Read, false);
        }
    }

    fn method(&mut self, arg: &Arg) {
        match arg {
            Arg::Known(method) if matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS") => {}
            Arg::Known(method) if method.eq_ignore_ascii_case("delete") => {
                self.sends = true;
                self.raise(Class::Destructive);
            }
            _ => self.sends = true,
        }
    }

    fn format(&mut self, arg: &Arg) {
        let calm = |text: &String| !text.contains("%G") && !text.contains("signature");
        if !matches!(arg, Arg::Known(text) if calm(text)) {
            self.facts.doubt("the format can run the program that checks signatures".to_owned());
        }
    }

    fn sql(&mut self, arg: &Arg) {
        self.told = true;
        let statement = database::judge(arg);
        self.raise(statement.class);
        // A rule that allows the program at all allows any code for it.
        if let Some(doubt) = statement.doubt.filter(|_| !self.case.entry.habits.open) {
            self.facts.doubt(doubt);
        }
    }

    /// A client of a database that is given no statement reads them from what comes in.
    fn comes_in(&mut self, walk: &Walk<'_>) {
        let replaced =
            self.case.entry.habits.open || walk.means(Meaning::First) || walk.means(Meaning::Prints);
        if self.case.entry.takes(Kind::Sql) && !self.told && !replaced {
            self.facts.doubt("the statements that come in are not followed".to_owned());
        }
    }

    fn touch(&mut self, path: &Arg, access: Access, aside: bool) {
        let access = if self.calm && !aside { Access::Read } else { access };
        self.facts.touches.push(Touch { path: path.clone(), access, aside, harmless: false });
    }

    fn finish(mut self, walk: &Walk<'_>) -> Facts {
        self.comes_in(walk);
        let access = if self.sends { Access::Write } else { Access::Read };
        self.facts.hosts.extend(self.contacted.drain(..).map(|host| (host, access)));
        if self.emits && !self.calm {
            self.touch(&Arg::Known(".".to_owned()), Access::Write, false);
        }
        self.calm |= self.only_passes_on(walk);
        self.facts.class = if self.calm { Class::ReadOnly } else { self.facts.class.max(self.raised) };
        self.facts.halts |= self.case.entry.habits.halts;
        if self.dry {
            self.facts.class = self.facts.class.min(Class::Write);
            self.facts.halts = false;
        }
        if !self.case.entry.looks.is_empty() && !self.case.entry.speaks_of(Meaning::Elsewhere) {
            self.elsewhere();
        }
        // The network is never harmless, and what is written aside is written whatever else is not.
        if !self.facts.hosts.is_empty() || self.facts.touches.iter().any(|touch| touch.aside) {
            self.facts.raise(Class::Write);
        }
        if let Some(doubt) = &walk.doubt {
            self.facts.doubt(doubt.clone());
        } else if let Some(doubt) = self.facts.doubt.take() {
            self.facts.doubt(doubt);
        }
        let clear = self.case.entry.habits.clear && !walk.means(Meaning::Opaque);
        self.facts.transparent = clear && self.facts.class == Class::ReadOnly;
        self.facts
    }
}

/// The pieces of a list: `-o ro,loop`.
fn pieces(value: &str) -> impl Iterator<Item = &str> {
    value.split([' ', ',']).filter(|piece| !piece.is_empty())
}

/// Whether it prints something about the program, whatever else its words say.
fn asks_for_help(args: &[Arg]) -> bool {
    let mut options = args.iter().take_while(|arg| !is(arg, "--"));
    options.any(|arg| is(arg, "--help") || is(arg, "--version"))
}

/// What each operand is, given the options.
fn kinds(entry: &Entry, walk: &Walk<'_>) -> Vec<Kind> {
    let count = walk.operands.len();
    if walk.means(Meaning::Texts) {
        return vec![Kind::Text; count];
    }
    let skipped = usize::from(walk.means(Meaning::First));
    let mut kinds: Vec<Kind> = entry.operands.first.iter().copied().skip(skipped).take(count).collect();
    let last = entry.operands.last.filter(|_| !walk.means(Meaning::Dest));
    if let Some(many) = entry.operands.many {
        kinds.resize(count.max(kinds.len()), many);
    }
    if let (Some(last), Some(place)) = (last, kinds.last_mut()) {
        *place = last;
    }
    kinds
}

/// A pattern in the place of a text before files that are read: where several names fit it, the others are files as well.
fn pattern_before_files<'a>(entry: &Entry, walk: &Walk<'a>) -> Option<&'a Arg> {
    let placed = walk.placed.filter(|_| !walk.means(Meaning::Texts))?;
    let skipped = usize::from(walk.means(Meaning::First));
    let operands = &entry.operands;
    let mut later = operands.first.iter().skip(skipped + placed).chain(&operands.many);
    let is_before_files = later.next() == Some(&Kind::Text)
        && operands.many == Some(Kind::Read)
        && operands.last.is_none()
        && later.all(|kind| *kind == Kind::Read);
    walk.operands.get(placed).copied().filter(|arg| is_before_files && matches!(arg, Arg::Glob(_)))
}

/// Whether an operand that may be several words makes it unclear what the next ones are.
fn misplaced(entry: &Entry, walk: &Walk<'_>) -> bool {
    let Some(placed) = walk.placed.filter(|_| !walk.means(Meaning::Texts)) else { return false };
    let skipped = usize::from(walk.means(Meaning::First));
    let operands = &entry.operands;
    let mut later = operands.first.iter().skip(skipped + placed).chain(&operands.many);
    let first = later.next();
    let alike = later.all(|kind| Some(kind) == first);
    let unclear_last = operands.last.is_some_and(|last| Some(&last) != first) && !walk.means(Meaning::Dest);
    !alike || (unclear_last && placed + 1 == walk.operands.len())
}

/// Whether a path does not lead out of the directory by its words. Where links lead is judged with the path.
fn is_below(arg: &Arg) -> bool {
    matches!(arg, Arg::Known(path) if !path.starts_with(['/', '~']) && path.split('/').all(|name| name != ".."))
}

fn is_port(arg: &Arg) -> bool {
    matches!(arg, Arg::Known(text) if text.parse::<u16>().is_ok_and(|port| port > 0))
}

fn is(arg: &Arg, text: &str) -> bool {
    matches!(arg, Arg::Known(known) if known == text)
}

pub(super) fn begins(arg: &Arg, with: &str) -> bool {
    match arg {
        Arg::Known(text) | Arg::Unknown { prefix: text, .. } => text.starts_with(with),
        Arg::Glob(pattern) => literal_beginning(pattern).starts_with(with),
    }
}

/// Whether not even its beginning is known.
pub(super) fn begins_unknown(arg: &Arg) -> bool {
    match arg {
        Arg::Known(_) => false,
        Arg::Unknown { prefix, .. } => prefix.is_empty() || may_be_several(arg),
        Arg::Glob(pattern) => literal_beginning(pattern).is_empty(),
    }
}

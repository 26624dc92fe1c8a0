//! From the tree to acts, in the order in which bash would come to them.
//!
//! What a command leaves behind for the next is only where the shell is: a command that may succeed or fail leaves it in
//! one place or another. Everything else that one command could change for the next (variables by which programs are
//! found, functions, aliases) is a doubt about the whole line.

mod disk; // what names mean on this machine

use std::{borrow::Cow, collections::HashMap, path::PathBuf};

use haft_tool::{Access, Class, PathBase};

use super::{
    Act, bombs,
    effects::is_no_file,
    numbers::{self, Calculation},
    pieces::pieces,
    places::Places,
    streams::{self, Names},
    values::{Set, Values},
    words::{Meanings, PIPE},
};
use crate::{
    lookup::Lookup,
    programs::{self, Arg, Facts, Run},
    syntax::{
        self, ArmEnd, AssignedValue, Assignment, Command, CommandKind, Connector, Descriptor, Item, Parsed,
        Part, Pipeline, Redirect, RedirectKind, Script, Word,
    },
};

/// Texts within texts, and wrappers within wrappers, that are followed.
const DEEPEST: usize = 24;

pub(super) struct Walk<'a> {
    base: &'a PathBase,
    /// What names mean on this machine, if that can be known.
    lookup: Option<Lookup>,
    /// Its answers, so that a long line asks once.
    found_inside: HashMap<(PathBuf, String), bool>,
    other_repositories: HashMap<PathBuf, bool>,
    /// Whether something so far may have made a repository. Git keeps to its own.
    changes_files: bool,
    /// Where the line begins.
    start: Places,
    /// Where the shell is now.
    here: Places,
    acts: Vec<Act>,
    set: Set,
    values: Values,
    /// Whether it is certain that what stands here runs, in the shell itself.
    straight: bool,
    depth: usize,
    /// Whether it is the session's own shell that runs this, not a child of it.
    outermost: bool,
    /// Whether something runs that may look at the environment.
    shows_environment: bool,
    /// Whether what comes out may go where it was opened for something else.
    mixes_streams: bool,
    /// Texts that are in variables, arrays and expansions, for the next program that is not followed.
    held: Vec<(String, Places)>,
}

/// No line has more texts that are held.
const MOST_HELD: usize = 1024;

/// Commands of the shell that put their operands into variables.
const KEEPS_OPERANDS: [&str; 6] = ["declare", "export", "local", "readonly", "set", "typeset"];

/// Where the shell is after a command, by whether it succeeded.
struct After {
    done: Places,
    failed: Places,
}

/// What finds a program by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Finder {
    /// The shell, which has commands of its own.
    Shell,
    /// Another program, in `PATH`.
    Path,
}

/// What comes in for a command.
#[derive(Clone)]
enum Input {
    /// This text.
    Text(String),
    /// Names of files.
    Names(Names),
    /// Nobody knows.
    Unknown,
    /// Nothing was said: what the shell itself gets.
    Inherited,
}

impl<'a> Walk<'a> {
    pub(super) fn new(base: &'a PathBase, values: Values) -> Walk<'a> {
        let start = Places::at(base.cwd.clone());
        Walk {
            base,
            lookup: base.workspace.as_ref().map(Lookup::new),
            found_inside: HashMap::new(),
            other_repositories: HashMap::new(),
            changes_files: false,
            here: start.clone(),
            start,
            acts: Vec::new(),
            set: Set::default(),
            values,
            straight: true,
            depth: 0,
            outermost: true,
            shows_environment: false,
            mixes_streams: false,
            held: Vec::new(),
        }
    }

    /// The acts of a line, and the variables that it sets.
    pub(super) fn text(mut self, text: &str, parsed: &Parsed) -> (Vec<Act>, Set) {
        self.parsed(text, parsed);
        if self.shows_environment {
            self.acts.iter_mut().for_each(exports);
        }
        if self.mixes_streams && self.acts.iter().any(names_a_stream) {
            self.doubt("the name of a descriptor that may stand for any file");
        }
        (self.acts, self.set)
    }

    fn parsed(&mut self, text: &str, parsed: &Parsed) {
        if !syntax::odd_characters(text).is_empty() {
            self.doubt("characters that do not look like what they are");
        }
        self.script(&parsed.script);
        if bombs::is_in(&parsed.script) {
            self.acts.push(Act::Bomb);
        }
        if let Some(error) = &parsed.error {
            self.doubt(format!("the shell's syntax: {}", error.what));
            let rest = text.get(error.at.min(text.len())..).unwrap_or(text);
            self.acts.extend(syntax::salvage(rest).into_iter().map(Act::Suspect));
        }
    }

    fn doubt(&mut self, why: impl Into<Cow<'static, str>>) {
        self.acts.push(Act::Doubt(why.into()));
    }

    fn stay(&self) -> After {
        After { done: self.here.clone(), failed: self.here.clone() }
    }

    fn script(&mut self, script: &Script) {
        for item in &script.items {
            let after = self.item(item);
            self.here = after.done.or(&after.failed);
        }
    }

    fn item(&mut self, item: &Item) -> After {
        if item.background {
            let here = self.here.clone();
            self.apart(|walk| drop(walk.chain(item)));
            return After { done: here.clone(), failed: here };
        }
        self.chain(item)
    }

    fn chain(&mut self, item: &Item) -> After {
        let mut after = self.pipeline(&item.first);
        if item.rest.is_empty() {
            return after;
        }
        let (certain, straight) = (self.values.certain(), self.straight);
        let mut is_open = false;
        for (connector, pipeline) in &item.rest {
            // What stands behind `||` may not run, and what is set before it may not have been.
            is_open |= *connector == Connector::Or;
            if is_open {
                self.values.keep(certain);
                self.straight = false;
            }
            after = match connector {
                Connector::And => {
                    self.here = after.done;
                    let next = self.pipeline(pipeline);
                    After { done: next.done, failed: after.failed.or(&next.failed) }
                }
                Connector::Or => {
                    self.here = after.failed;
                    let next = self.pipeline(pipeline);
                    After { done: after.done.or(&next.done), failed: next.failed }
                }
            };
        }
        self.values.keep(certain);
        self.straight = straight;
        after
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> After {
        let after = match &pipeline.commands[..] {
            [only] => self.command(only, Input::Inherited),
            commands => {
                let mut input = Input::Inherited;
                for command in commands {
                    let next = self.handed_on(command, &input);
                    self.apart(|walk| drop(walk.command(command, input)));
                    input = next;
                }
                self.stay()
            }
        };
        if pipeline.negated { After { done: after.failed, failed: after.done } } else { after }
    }

    /// What the next command of a pipeline gets from this one.
    fn handed_on(&self, command: &Command, input: &Input) -> Input {
        if let Some(text) = self.printed(command) {
            return Input::Text(text);
        }
        let CommandKind::Simple { assignments, words } = &command.kind else { return Input::Unknown };
        let only_errors = |redirect: &Redirect| {
            matches!(
                (&redirect.descriptor, &redirect.kind),
                (Some(Descriptor::Number(2)), RedirectKind::Write(_))
            )
        };
        if !assignments.is_empty() || !command.redirects.iter().all(only_errors) {
            return Input::Unknown;
        }
        let argv = self.meanings().arguments(words);
        let names = match input {
            Input::Names(names) => names.clone().through(&argv),
            _ => None,
        };
        names.or_else(|| Names::printed_by(&argv)).map_or(Input::Unknown, Input::Names)
    }

    /// What a command prints, if it does nothing else: `echo ls | sh` is a way to write `ls`.
    fn printed(&self, command: &Command) -> Option<String> {
        let CommandKind::Simple { assignments, words } = &command.kind else { return None };
        let known = |arg| if let Arg::Known(word) = arg { Some(word) } else { None };
        let argv: Vec<String> =
            self.meanings().arguments(words).into_iter().map(known).collect::<Option<_>>()?;
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        match (argv.as_slice(), command.redirects.as_slice()) {
            _ if !assignments.is_empty() => None,
            // Shells differ about backslashes.
            (["echo", rest @ ..], [])
                if !rest.first().is_some_and(|word| word.starts_with('-'))
                    && !rest.iter().any(|word| word.contains('\\')) =>
            {
                Some(rest.join(" ") + "\n")
            }
            (["printf", text], []) if !text.replace("\\n", "").contains(['%', '\\']) => {
                Some(text.replace("\\n", "\n"))
            }
            (["cat"] | ["cat", "-"], [Redirect { descriptor: None, kind, .. }]) => match kind {
                RedirectKind::HereDocument(word) | RedirectKind::HereString(word) => {
                    known(self.meanings().one(word))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// In a shell of its own, from which nothing comes back.
    fn apart(&mut self, work: impl FnOnce(&mut Walk<'a>)) {
        let (here, outermost) = (self.here.clone(), self.outermost);
        self.outermost = false;
        self.perhaps(work);
        (self.here, self.outermost) = (here, outermost);
    }

    /// Where it is not certain that it runs: what it sets may not be set.
    fn perhaps<T>(&mut self, work: impl FnOnce(&mut Walk<'a>) -> T) -> T {
        let straight = std::mem::replace(&mut self.straight, false);
        let certain = self.values.certain();
        let result = work(self);
        self.values.uncount(certain);
        self.straight = straight;
        result
    }

    /// In a process that is no copy of this shell: it does not know the shell's variables.
    fn elsewhere(&mut self, work: impl FnOnce(&mut Walk<'a>)) {
        let hidden = self.values.hide();
        self.apart(work);
        self.values.show(hidden);
    }

    fn command(&mut self, command: &Command, input: Input) -> After {
        let input = self.redirects(&command.redirects, input);
        match &command.kind {
            CommandKind::Simple { assignments, words } => self.simple(assignments, words, input),
            CommandKind::Group(script) => {
                self.script(script);
                self.stay()
            }
            CommandKind::Subshell(script) => {
                self.apart(|walk| walk.script(script));
                self.stay()
            }
            CommandKind::If { arms, otherwise } => self.perhaps(|walk| walk.choice(arms, otherwise.as_ref())),
            CommandKind::While { condition, body, .. } => self.repeated(|walk| {
                walk.script(condition);
                walk.script(body);
            }),
            CommandKind::For { name, words, body, select } => {
                let words = words.as_deref();
                self.iterated(name, words, *select);
                let words = words.unwrap_or_default();
                words.iter().for_each(|word| self.inside(word));
                self.names(words);
                self.each(name, if *select { &[] } else { words }, body)
            }
            CommandKind::ArithmeticFor { expression, body } => {
                self.arithmetic(expression);
                self.repeated(|walk| walk.script(body))
            }
            CommandKind::Case { word, arms } => self.perhaps(|walk| walk.case(word, arms)),
            CommandKind::Arithmetic(expression) => {
                self.arithmetic(expression);
                self.stay()
            }
            CommandKind::Test(words) => self.test(words),
            CommandKind::Function { name, body } => {
                self.inside(name);
                self.doubt("a function, which may stand for any program");
                self.apart(|walk| drop(walk.command(body, Input::Unknown)));
                self.stay()
            }
            CommandKind::Odd(what, script) => {
                self.doubt(*what);
                self.apart(|walk| walk.script(script));
                self.stay()
            }
        }
    }

    fn choice(&mut self, arms: &[(Script, Script)], otherwise: Option<&Script>) -> After {
        let mut ends: Option<Places> = None;
        let mut end = |here: &Places| ends = Some(ends.as_ref().map_or(here.clone(), |ends| ends.or(here)));
        for (condition, body) in arms {
            self.script(condition);
            let before = self.here.clone();
            self.perhaps(|walk| walk.script(body));
            end(&self.here);
            self.here = before;
        }
        if let Some(script) = otherwise {
            self.script(script);
        }
        end(&self.here);
        self.here = ends.unwrap_or(Places::UNKNOWN);
        self.stay()
    }

    fn case(&mut self, word: &Word, arms: &[(Vec<Word>, Script, ArmEnd)]) -> After {
        self.inside(word);
        let before = self.here.clone();
        let mut ends = before.clone();
        for (patterns, body, _) in arms {
            patterns.iter().for_each(|pattern| self.inside(pattern));
            self.perhaps(|walk| walk.script(body));
            ends = ends.or(&self.here);
            // `;&` goes on with the next body from here.
            self.here = before.or(&self.here);
        }
        self.here = ends;
        self.stay()
    }

    /// A loop over words: where all are known, a round for each, otherwise one for all of them.
    fn each(&mut self, name: &str, words: &[Word], body: &Script) -> After {
        let words = self.meanings().arguments(words);
        if !self.values.begin_loop(name, &words) {
            return self.repeated(|walk| {
                walk.values.count(name);
                walk.script(body);
            });
        }
        let after = self.repeated(|walk| {
            walk.values.count(name);
            for word in &words {
                walk.values.set(name, word);
                walk.script(body);
            }
        });
        self.values.end_loop(name, &words);
        after
    }

    /// The shell looks up the names that fit patterns, whoever gets them.
    fn names(&mut self, words: &[Word]) {
        for arg in self.meanings().arguments(words) {
            if let Arg::Glob(pattern) = arg {
                self.acts.push(Act::List { pattern, places: self.here.clone() });
            }
        }
    }

    /// A loop. If one round ends elsewhere, the next begins there, and so on: that is not followed.
    fn repeated(&mut self, round: impl FnOnce(&mut Walk<'a>)) -> After {
        let before = self.here.clone();
        let from = self.acts.len();
        self.perhaps(round);
        if self.here != before {
            self.here = Places::UNKNOWN;
            self.acts.insert(from, Act::Doubt("a loop that changes the directory".into()));
        }
        self.stay()
    }

    fn redirects(&mut self, redirects: &[Redirect], mut input: Input) -> Input {
        for redirect in redirects {
            if let Some(Descriptor::Variable(name)) = &redirect.descriptor {
                self.assigned(name, None);
            }
            let (word, access): (&Word, &[Access]) = match &redirect.kind {
                RedirectKind::Read(word) => (word, &[Access::Read]),
                RedirectKind::Write(word) => (word, &[Access::Write]),
                RedirectKind::ReadWrite(word) => (word, &[Access::Read, Access::Write]),
                RedirectKind::Duplicate(word)
                | RedirectKind::HereDocument(word)
                | RedirectKind::HereString(word) => (word, &[]),
            };
            self.inside(word);
            let target = self.meanings().one(word);
            self.mixes_streams |= mixes_streams(redirect, &target);
            input = match (&redirect.kind, &target) {
                (RedirectKind::HereDocument(_) | RedirectKind::HereString(_), Arg::Known(text)) => {
                    Input::Text(text.clone())
                }
                (RedirectKind::Write(_), _) => input,
                (RedirectKind::Duplicate(_), Arg::Known(_)) => input,
                _ => Input::Unknown,
            };
            if matches!(redirect.kind, RedirectKind::Duplicate(_)) && !matches!(target, Arg::Known(_)) {
                self.doubt("a descriptor that is known only when it runs");
            }
            for access in access {
                self.touch(target.clone(), *access);
            }
            // What is added to is there to be read afterwards.
            if redirect.operator.ends_with(">>")
                && let Arg::Known(path) = target
            {
                self.acts.push(Act::Text { text: path, places: self.here.clone() });
            }
        }
        input
    }

    fn touch(&mut self, path: Arg, access: Access) {
        let is_no_file = matches!(&path, Arg::Known(path) if is_no_file(path, access));
        self.changes_files |= access == Access::Write && !is_no_file;
        self.acts.push(Act::Touch { path, access, places: self.here.clone() });
    }

    fn simple(&mut self, assignments: &[Assignment], words: &[Word], input: Input) -> After {
        words.iter().for_each(|word| self.inside(word));
        self.hold_pieces(words);
        let argv = self.meanings().arguments(words);
        for assignment in assignments {
            self.assignment(assignment, argv.first());
        }
        if argv.is_empty() {
            return self.stay();
        }
        let (at, places) = (self.acts.len(), self.here.clone());
        let after = self.run(argv, input, Finder::Shell);
        // What a program is told in its variables it is told like in its words.
        let ran = self.acts[at..].iter().find(|act| matches!(act, Act::Run { .. }));
        if matches!(ran, Some(Act::Run { facts, .. }) if !facts.told_apart) {
            for assignment in assignments {
                if let AssignedValue::Scalar(word) = &assignment.value
                    && let Arg::Known(text) = self.meanings().one(word)
                {
                    self.acts.push(Act::Text { text, places: places.clone() });
                }
            }
        }
        after
    }

    /// What is written of words that are known only when they run.
    fn hold_pieces(&mut self, words: &[Word]) {
        let texts: Vec<String> = words.iter().flat_map(pieces).collect();
        self.hold(texts);
    }

    /// A later program may be told these.
    fn hold(&mut self, texts: impl IntoIterator<Item = String>) {
        let room = MOST_HELD.saturating_sub(self.held.len());
        let places = self.here.clone();
        self.held.extend(texts.into_iter().take(room).map(|text| (text, places.clone())));
    }

    /// Operands that become variables: of the shell (`set -- x`, `export F=x`), or of a script (`sh -c '… $0' x`).
    fn hold_operands(&mut self, program: &str, argv: &[Arg], facts: &Facts) {
        let script =
            facts.runs.iter().find_map(|run| if let Run::Script(script) = run { Some(script) } else { None });
        if script.is_none() && !KEEPS_OPERANDS.contains(&program) {
            return;
        }
        let operands = argv.iter().skip(1).filter(|arg| Some(*arg) != script);
        let known =
            operands.filter_map(|arg| if let Arg::Known(text) = arg { Some(text.clone()) } else { None });
        let known: Vec<String> = known.collect();
        self.hold(known);
    }

    fn meanings(&self) -> Meanings<'_> {
        Meanings { home: self.base.home.as_deref(), directory: self.here.only(), values: &self.values }
    }

    /// An assignment: of the shell itself, or for this program alone.
    fn assignment(&mut self, assignment: &Assignment, program: Option<&Arg>) {
        let Assignment { name, index, append, value } = assignment;
        if let Some(index) = index {
            self.arithmetic(index);
        }
        let words = match value {
            AssignedValue::Scalar(word) => std::slice::from_ref(word),
            AssignedValue::Array(words) => &words[..],
        };
        words.iter().for_each(|word| self.inside(word));
        self.hold_pieces(words);
        if let AssignedValue::Array(words) = value {
            let known = self.meanings().arguments(words);
            self.hold(
                known
                    .into_iter()
                    .filter_map(|arg| if let Arg::Known(text) = arg { Some(text) } else { None }),
            );
        }
        let scalar = match value {
            AssignedValue::Scalar(word) => Some((word, self.meanings().one(word))),
            AssignedValue::Array(words) => {
                self.names(words);
                None
            }
        };
        let whole = scalar.as_ref().filter(|_| index.is_none() && !append);
        let known = whole.map(|(_, value)| value);
        if let Some(program) = program {
            let program = if let Arg::Known(program) = program { Some(program.as_str()) } else { None };
            let doubt = programs::prefix_doubt(name, known, program);
            // Before some commands of the shell it stays after all: `f=b export f`, or any in POSIX mode.
            self.set.names.push(name.clone());
            self.set.texts.insert(name.clone());
            return self.doubt_about(doubt, words);
        }
        self.doubt_about(programs::assignment_doubt(name, known), words);
        self.set.names.push(name.clone());
        let is_number = index.is_none()
            && scalar.as_ref().is_some_and(|(word, _)| numbers::is_number(word, &self.values));
        if !is_number {
            self.set.texts.insert(name.clone());
        } else if !append {
            self.values.count(name);
        }
        if self.straight
            && let Some(value @ Arg::Known(_)) = known
        {
            self.values.set(name, value);
        }
    }

    /// A variable of the shell gets something that is not known before it runs.
    fn assigned(&mut self, name: &str, value: Option<&Arg>) {
        self.doubt_about(programs::assignment_doubt(name, value), &[]);
        self.set.names.push(name.to_owned());
        self.set.texts.insert(name.to_owned());
    }

    /// The variable of `for` or `select` gets one word after another.
    fn iterated(&mut self, name: &str, words: Option<&[Word]>, select: bool) {
        self.doubt_about(programs::assignment_doubt(name, None), words.unwrap_or_default());
        self.set.names.push(name.to_owned());
        let are_numbers = |words: &[Word]| words.iter().all(|word| numbers::are_numbers(word, &self.values));
        if select || !words.is_some_and(are_numbers) {
            self.set.texts.insert(name.to_owned());
        }
    }

    /// What is assigned is more than a text: a rule that denies a command in it holds.
    fn doubt_about(&mut self, doubt: Option<String>, words: &[Word]) {
        let Some(doubt) = doubt else { return };
        self.doubt(doubt);
        for value in &self.meanings().arguments(words) {
            let (Arg::Known(text) | Arg::Glob(text) | Arg::Unknown { prefix: text, .. }) = value;
            self.mention(text);
        }
    }

    /// A text that may be evaluated. The commands in it are for rules that forbid or ask; what it touches and how is not
    /// said, because it may also be no more than a text.
    fn mention(&mut self, text: &str) {
        let from = self.acts.len();
        self.depth += 1;
        match self.depth < DEEPEST {
            true => self.elsewhere(|walk| walk.nested(text)),
            false => self.acts.extend(syntax::salvage(text).into_iter().map(Act::Suspect)),
        }
        self.depth -= 1;
        let acts = self.acts.split_off(from);
        self.acts.extend(acts.into_iter().filter_map(suspected));
    }

    /// One command, whose words are known as far as they can be.
    fn run(&mut self, argv: Vec<Arg>, input: Input, finder: Finder) -> After {
        let Some(Arg::Known(program)) = argv.first() else {
            self.doubt("a program whose name is known only when it runs");
            self.set.blindly = true;
            self.shows_environment = true;
            return self.stay();
        };
        if self.depth >= DEEPEST {
            self.doubt("commands within commands, deeper than can be followed");
            let known = argv
                .iter()
                .filter_map(|arg| if let Arg::Known(word) = arg { Some(word.clone()) } else { None });
            let words: Vec<String> = known.collect();
            self.acts.extend((0..words.len().min(64)).map(|from| Act::Suspect(words[from..].to_vec())));
            return self.stay();
        }
        let program = program.clone();
        let mut facts = match &program[..] {
            "let" if self.all_calculated(&argv[1..]) => Facts::of(Class::ReadOnly),
            _ => programs::look_at(&argv),
        };
        if let Input::Text(text) = &input {
            facts.class = facts.class.max(programs::class_of_input(&program, text).unwrap_or(facts.class));
        }
        if let Some(unless) = facts.unless {
            self.look_around(&program, unless, &mut facts);
        }
        if self.is_of_the_workspace(&program, finder) {
            facts.distrust();
        }
        if is_git(&program) && self.is_elsewhere(facts.directory.as_ref()) {
            self.doubt("git in another directory, where another repository may say what it runs");
        }
        self.shows_environment |= !programs::ignores_environment(&program) && !is_followed(&program);
        if let Input::Text(text) = &input
            && !facts.told_apart
            && facts.runs.is_empty()
        {
            self.acts.push(Act::Text { text: text.clone(), places: self.here.clone() });
        }
        self.hold_operands(&program, &argv, &facts);
        if !facts.told_apart {
            let held = std::mem::take(&mut self.held);
            self.acts.extend(held.into_iter().map(|(text, places)| Act::Text { text, places }));
        }
        self.add_known_places(&mut facts);
        self.changes_files |= !is_git(&program) && disk::changes_files(&facts);
        let at = self.acts.len();
        self.acts.push(Act::Run { argv, facts, places: self.here.clone() });
        self.follow_all(at, &program, &input);
        match program.as_str() {
            "cd" => self.go(at),
            "pushd" | "popd" => self.lost(),
            _ => self.stay(),
        }
    }

    /// What the program of an act runs.
    fn follow_all(&mut self, at: usize, program: &str, input: &Input) {
        let Act::Run { facts, argv, .. } = &self.acts[at] else { return };
        if facts.runs.is_empty() {
            return;
        }
        let mut runs = facts.runs.clone();
        if program == "xargs" {
            runs.iter_mut().for_each(|run| feed(run, argv, input));
        }
        // What comes in is among the words of what it runs.
        if let (Run::Command { .. }, Input::Text(text)) = (&runs[0], input) {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            self.hold(words);
        }
        self.depth += 1;
        runs.into_iter().for_each(|run| self.follow(program, run, input));
        self.depth -= 1;
    }

    /// What a program runs.
    fn follow(&mut self, program: &str, run: Run, input: &Input) {
        match run {
            Run::Command { argv, directory: None } if stays_in_shell(program) => {
                let after = self.run(argv, input.clone(), Finder::Shell);
                self.here = after.done.or(&after.failed);
            }
            Run::Command { argv, directory } => self.elsewhere(|walk| {
                walk.here = match directory {
                    None => walk.here.clone(),
                    Some(Arg::Known(directory)) => walk.here.go(&directory),
                    Some(_) => Places::UNKNOWN,
                };
                let input = if passes_input(program) { input.clone() } else { Input::Unknown };
                walk.run(argv, input, Finder::Path);
            }),
            // It runs later, if at all.
            Run::Script(Arg::Known(text)) if program == "trap" => self.perhaps(|walk| walk.nested(&text)),
            Run::Script(Arg::Known(text)) if stays_in_shell(program) => self.nested(&text),
            Run::Script(Arg::Known(text)) => self.elsewhere(|walk| walk.nested(&text)),
            Run::Script(script) => {
                self.doubt("a script that is known only when it runs");
                self.set.blindly |= stays_in_shell(program);
                if let Arg::Unknown { prefix, .. } = script {
                    self.acts.extend(syntax::salvage(&prefix).into_iter().map(Act::Suspect));
                }
            }
            Run::File(path) => self.touch(path, Access::Read),
            Run::Mention(text) => self.mention(&text),
            Run::Input => match input {
                Input::Text(text) if stays_in_shell(program) => self.nested(&text.clone()),
                Input::Text(text) => {
                    let text = text.clone();
                    self.elsewhere(|walk| walk.nested(&text));
                }
                Input::Names(_) | Input::Unknown | Input::Inherited => {
                    self.doubt("a script that comes in while it runs")
                }
            },
        }
    }

    fn nested(&mut self, text: &str) {
        let parsed = syntax::parse(text);
        self.parsed(text, &parsed);
    }

    /// `cd`, with the words of an act.
    fn go(&mut self, at: usize) -> After {
        let Act::Run { argv, .. } = &self.acts[at] else { return self.lost() };
        let failed = self.here.clone();
        let mut operands =
            argv[1..].iter().skip_while(|arg| matches!(arg, Arg::Known(word) if is_option_of_cd(word)));
        let to = match (operands.next(), operands.next()) {
            (None, _) => self.base.home.as_ref().and_then(|home| home.to_str()).map(str::to_owned),
            (Some(Arg::Known(to)), None) if to != "-" => Some(to.clone()),
            _ => None,
        };
        let Some(to) = to else { return self.lost() };
        self.touch(Arg::Known(to.clone()), Access::Read);
        if self.outermost {
            self.acts.push(Act::Move);
        }
        After { done: failed.go(&to), failed }
    }

    fn lost(&mut self) -> After {
        self.doubt("a directory that is known only when it runs");
        if self.outermost {
            self.acts.push(Act::Move);
        }
        After { done: Places::UNKNOWN, failed: Places::UNKNOWN }
    }

    /// `[[ … ]]`: some of its operators calculate, and who calculates may run something.
    fn test(&mut self, words: &[Word]) -> After {
        for (at, word) in words.iter().enumerate() {
            self.inside(word);
            let [Part::Literal(operator)] = &word.parts[..] else { continue };
            let is_safe = match operator.as_str() {
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                    let sides = [at.checked_sub(1), Some(at + 1)].map(|side| words.get(side?));
                    sides.into_iter().all(|side| side.is_some_and(|side| self.calculated(side)))
                }
                // They look at an element of an array.
                "-v" | "-R" => false,
                _ => true,
            };
            if !is_safe {
                self.doubt(format!("`{operator}` in a test, which may run what a variable holds"));
            }
        }
        self.stay()
    }

    /// A calculation. A name in it means its value, and that the value's value: who knows what runs.
    fn arithmetic(&mut self, expression: &Word) {
        self.inside(expression);
        if !self.calculated(expression) {
            self.doubt("a calculation with names, which may run what they hold");
        }
    }

    /// Whether a calculation takes nothing but numbers. What it sets is set.
    fn calculated(&mut self, expression: &Word) -> bool {
        let Calculation { sets, settles, is_safe } = Calculation::of(&expression.parts, &self.values);
        for name in sets {
            self.doubt_about(programs::assignment_doubt(name, None), &[]);
            self.set.names.push(name.to_owned());
        }
        settles.iter().for_each(|name| self.values.count(name));
        is_safe
    }

    /// The same of the words of `let`, each of which is a calculation.
    fn all_calculated(&mut self, words: &[Arg]) -> bool {
        let mut all = true;
        for word in words {
            // None is left out: each may set something.
            all &= match word {
                Arg::Known(text) => {
                    self.calculated(&Word { parts: vec![Part::Quoted(text.clone())], ..Word::default() })
                }
                _ => false,
            };
        }
        all
    }

    /// Everything that runs inside a word.
    fn inside(&mut self, word: &Word) {
        word.parts.iter().for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Literal(_)
            | Part::Quoted(_)
            | Part::Tilde(_)
            | Part::Glob(_)
            | Part::Range(_)
            | Part::Variable(_) => {}
            Part::Double(parts) | Part::Translated(parts) => parts.iter().for_each(|part| self.part(part)),
            Part::Brace(words) => words.iter().for_each(|word| self.inside(word)),
            Part::Command(script) | Part::Process(_, script) => self.apart(|walk| walk.script(script)),
            Part::Arithmetic(expression) => self.arithmetic(expression),
            Part::Parameter { name, operator, words } => {
                words.iter().for_each(|word| self.inside(word));
                self.parameter(name, operator, words);
            }
            Part::Odd(what, _) => self.doubt(*what),
        }
    }

    fn parameter(&mut self, name: &str, operator: &str, words: &[Word]) {
        let has_index = operator.starts_with('[');
        if has_index && !words.first().is_some_and(|index| self.calculated(index)) {
            self.doubt("an index with names, which may run what they hold");
        }
        match operator {
            _ if name.starts_with('!') => self.doubt("a variable whose name is known only when it runs"),
            "=" | ":=" | "[=" | "[:=" => self.assigned(name, None),
            ":" | "[:" if !words.last().is_some_and(|counts| self.calculated(counts)) => {
                self.doubt("a calculation with names, which may run what they hold");
            }
            _ if operator.contains('@')
                && !matches!(operator.trim_start_matches('['), "@Q" | "@U" | "@u" | "@L") =>
            {
                self.doubt("a transformation that may run what a variable holds");
            }
            _ => {}
        }
    }
}

/// Puts what comes in for xargs in its place, where that is known and is only looked at.
fn feed(run: &mut Run, xargs: &[Arg], input: &Input) {
    let Run::Command { argv, .. } = run else { return };
    let Some(options) = streams::options_of_xargs(xargs) else { return };
    // Then all that is not known of the words it runs is what comes in.
    if xargs.iter().any(|arg| matches!(arg, Arg::Unknown { .. })) {
        return;
    }
    let added = match input {
        Input::Text(text) if !text.contains(['\'', '"', '\\', '\0']) => {
            Some(text.split_whitespace().map(|word| Arg::Known(word.to_owned())).collect())
        }
        Input::Names(names) => names.added(&options),
        _ => None,
    };
    let Some(added) = added else { return };
    let is_whole = |arg: &Arg| matches!(arg, Arg::Unknown { prefix, .. } if prefix.is_empty());
    let fed: Vec<Arg> =
        argv.iter().flat_map(|arg| if is_whole(arg) { added.clone() } else { vec![arg.clone()] }).collect();
    if streams::only_looks(&fed) {
        *argv = fed;
    }
}

/// What a text that may be evaluated would run, for rules alone.
fn suspected(act: Act) -> Option<Act> {
    match act {
        Act::Run { argv, .. } => {
            let known = |arg| if let Arg::Known(word) = arg { Some(word) } else { None };
            Some(Act::Suspect(argv.into_iter().map_while(known).collect()))
        }
        Act::Suspect(_) => Some(act),
        _ => None,
    }
}

/// Whether a redirection opens one of the first three descriptors for something else than it is for, or makes it a copy of
/// another one than those for output.
fn mixes_streams(redirect: &Redirect, target: &Arg) -> bool {
    let usual = if redirect.operator.starts_with('<') { 0 } else { 1 };
    let descriptor = match redirect.descriptor {
        None => usual,
        Some(Descriptor::Number(number)) => number,
        Some(Descriptor::Variable(_)) => return false,
    };
    match &redirect.kind {
        RedirectKind::Read(_) => matches!(descriptor, 1 | 2),
        RedirectKind::Write(_) => descriptor == 0,
        RedirectKind::ReadWrite(_) => descriptor <= 2,
        RedirectKind::Duplicate(_) => {
            let is_output = matches!(target, Arg::Known(text) if matches!(text.as_str(), "1" | "2" | "-"));
            descriptor <= 2 && !(is_output && descriptor > 0)
        }
        RedirectKind::HereDocument(_) | RedirectKind::HereString(_) => descriptor != 0,
    }
}

/// Whether a descriptor is opened by its name somewhere.
fn names_a_stream(act: &Act) -> bool {
    let is_stream = |arg: &Arg| {
        let (Arg::Known(text) | Arg::Glob(text) | Arg::Unknown { prefix: text, .. }) = arg;
        ["/dev/std", "/dev/fd", "/proc/"].iter().any(|name| text.contains(name)) && text != PIPE
    };
    match act {
        Act::Run { argv, .. } => argv.iter().any(is_stream),
        Act::Touch { path, .. } => is_stream(path),
        _ => false,
    }
}

/// What is exported changes what the programs of the line may do.
fn exports(act: &mut Act) {
    if let Act::Run { facts, .. } = act
        && facts.exports
    {
        facts.raise(Class::Write);
    }
}

fn is_git(program: &str) -> bool {
    program.rsplit('/').next() == Some("git")
}

/// Whether what it runs is run by the shell itself, so that a `cd` in it lasts.
fn stays_in_shell(program: &str) -> bool {
    matches!(program, "eval" | "builtin" | "command" | "." | "source" | "trap" | "exec")
}

/// Commands of the shell that run nothing but what is followed.
fn is_followed(program: &str) -> bool {
    matches!(program, "eval" | "builtin" | "command" | "trap")
}

/// Whether what comes in for it comes in for what it runs.
fn passes_input(program: &str) -> bool {
    const WRAPPERS: [&str; 9] =
        ["doas", "env", "ionice", "nice", "setsid", "stdbuf", "sudo", "time", "timeout"];
    program.rsplit('/').next().is_some_and(|name| WRAPPERS.contains(&name))
}

fn is_option_of_cd(word: &str) -> bool {
    matches!(word, "-L" | "-P" | "-e" | "-@" | "--")
}

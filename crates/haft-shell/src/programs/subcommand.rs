//! From the name of a program to its entry: `git -C x stash list` is `git stash list` with something before it.

use haft_tool::{Access, Class};

use super::{
    Arg, Facts, Unless, below,
    judge::{Case, add_options, judge},
    special::git,
    table::{Entry, Meaning, entry},
    walk::{Walk, walk_to_operand},
};

/// The facts about a program with this name, if the table has it.
pub(super) fn by_name(name: &str, argv: &[Arg]) -> Option<Facts> {
    let entry = entry(name)?;
    let case = Case { name, entry, args: argv.get(1..)? };
    if prints_only(&case) {
        let unless = entry.launcher.as_deref().map(Unless::Above);
        return Some(Facts { unless, ..Facts::of(Class::ReadOnly) });
    }
    Some(descend(&case, &argv[..1]))
}

/// `sort --help` and `cargo --version` print something about the program, whatever else it could do.
fn prints_only(case: &Case<'_>) -> bool {
    let [Arg::Known(only)] = case.args else { return false };
    let habits = &case.entry.habits;
    let informs = matches!(only.as_str(), "--help" | "--version");
    let gnu = !(habits.exact || habits.open || habits.sub || habits.single);
    let mut options = case.entry.options.iter();
    (informs && gnu) || options.any(|option| option.name == *only && option.means.contains(&Meaning::Prints))
}

/// Finds the subcommand, if there are any. `spelt` are the words that led here, without the options between them.
fn descend(case: &Case<'_>, spelt: &[Arg]) -> Facts {
    let before = before_subcommand(case);
    let Some(at) = before.first_operand else { return judge(case) };
    let (args, rest) = (case.args, &case.args[at + 1..]);
    let spelling = [spelt, &args[at..=at]].concat();
    let mut facts = match sub_entry(case, &args[at]) {
        _ if case.name == "git" && git::asks_for_help(rest) => git::help(&args[at]),
        Some((_, entry)) if case.name == "git" && git::asks_for_usage(entry, rest) => {
            Facts::of(Class::ReadOnly)
        }
        Some((name, entry)) => descend(&Case { name: &name, entry, args: rest }, &spelling),
        None if case.entry.habits.sub && !takes_operands(case.entry) => unknown(case, &args[at]),
        None => return judge(case),
    };
    if case.name == "git"
        && let Some(word) = git::enters_submodules(&args[at..])
    {
        facts.doubt(format!("`{word}` looks into submodules, whose settings may name programs"));
    }
    if at > 0 {
        add_what_stands_before(&mut facts, &Case { args: &args[..at], ..*case }, &before);
        facts.spellings.push(spelling.into_iter().chain(rest.iter().cloned()).collect());
    } else if let Some(doubt) = before.doubt {
        facts.doubt(doubt);
    }
    facts
}

fn unknown(case: &Case<'_>, word: &Arg) -> Facts {
    let mut facts = Facts::of(case.entry.class.max(Class::Write));
    if case.entry.habits.listed {
        let word = match word {
            Arg::Known(word) => word,
            _ => "",
        };
        case.entry
            .when
            .iter()
            .filter(|when| when.fits(word) && when.means == Meaning::Destroy)
            .for_each(|_| facts.raise(Class::Destructive));
        facts.doubt(format!("`{word}` may do more than `{}` is for", case.name));
    }
    facts
}

fn sub_entry(case: &Case<'_>, word: &Arg) -> Option<(String, &'static Entry)> {
    let Arg::Known(word) = word else { return None };
    let name = format!("{} {word}", case.name);
    entry(&name).map(|entry| (name, entry))
}

fn takes_operands(entry: &Entry) -> bool {
    !entry.operands.first.is_empty() || entry.operands.many.is_some()
}

/// The options that stand before the subcommand. Where the table does not speak of any, there are none.
fn before_subcommand<'a>(case: &Case<'a>) -> Walk<'a> {
    if !case.entry.habits.sub {
        let first_operand = (!case.args.is_empty()).then_some(0);
        return Walk { first_operand, ..Walk::default() };
    }
    let mut before = walk_to_operand(case.entry, case.name, case.args);
    if before.first_operand.is_some_and(|at| !matches!(case.args[at], Arg::Known(_))) {
        before.doubt = Some(format!("the subcommand of `{}` is not known", case.name));
    }
    before
}

fn add_what_stands_before(facts: &mut Facts, case: &Case<'_>, before: &Walk<'_>) {
    // Each `-C` is relative to the one before it.
    let mut places = before.values_of(&["-C"]).cloned();
    if let Some(place) = places.next().map(|first| places.fold(first, |outer, inner| below(&outer, &inner))) {
        facts.move_to(&place);
        facts.touch(&place, Access::Read);
        facts.directory = Some(place);
    }
    add_options(facts, case, before);
}

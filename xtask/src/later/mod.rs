//! `cargo xtask later`: can a command create or change what runs later, before a person said yes?
//!
//! Each case is a command that makes something which editors, agents, shells, build tools or git run by themselves. It runs by a
//! rule for all of Bash, with no as the answer to each question, while a program outside reads the place without a pause: that
//! program must never see what the command wrote. Programs that race with the sandbox can be seen for a moment; how long is
//! measured. With yes as the answer, the command must get what it wanted.

mod watch; // a program outside

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::json;

use crate::{
    account::{Account, Entry},
    row_options::RowOptions,
    set_up,
    terminal::{self, Answer, Transcript},
};
use watch::{Sightings, Watcher};

const CASES: &str = include_str!("cases.jsonl");
const RACE: &str = include_str!("race.c");
/// What commands write, unless a case says another word.
const MARKER: &str = "EVIL";
/// A person makes a file so long after the command began: later than the time for which a name may be its work.
const PERSON_DELAY: Duration = Duration::from_millis(4_000);
const PERSON_TEXT: &str = "by hand, EVIL or not";
const PROGRAMS: [&str; 11] =
    ["cc", "git", "make", "node", "npm", "perl", "python3", "rsync", "sqlite3", "unzip", "zip"];

/// A command, and where it writes what runs later.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    kind: String,
    set_up: String,
    command: String,
    /// From the directory of the case; the workspace is `w`, the home `home`.
    later: Vec<PathBuf>,
    #[serde(default)]
    marker: Option<String>,
    /// Places that commands may write besides the workspace.
    #[serde(default)]
    write: Vec<String>,
    /// Whether the program races with the sandbox.
    #[serde(default)]
    race: bool,
    /// Whether a person makes the file, outside, while the command runs.
    #[serde(default)]
    person: bool,
}

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = RowOptions::parse("later", words)?;
    let cases = cases(&options)?;
    ensure!(!cases.is_empty(), "no case has such a name");
    if options.lists {
        cases.iter().for_each(|case| println!("{}: {}", case.kind, case.id));
        return Ok(ExitCode::SUCCESS);
    }
    let account = match Account::enter(&[&["later"], words].concat())? {
        Entry::Finished(code) => return Ok(code),
        Entry::Account(account) => account,
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_missing = |name: &&str| !std::env::split_paths(&path).any(|place| place.join(name).is_file());
    let missing: Vec<&str> = PROGRAMS.into_iter().filter(is_missing).collect();
    ensure!(missing.is_empty(), "not installed: {}", missing.join(", "));
    let field = Field { account };
    fs::write(field.race(), RACE)?;
    set_up::script(
        &field.account.home,
        "git config --global user.name Ada; git config --global user.email ada@example.org; git config --global protocol.file.allow always",
    )?;
    let (start, mut tally) = (Instant::now(), Tally::default());
    for case in &cases {
        let problems = field.problems(case, &mut tally).unwrap_or_else(|err| vec![format!("{err:#}")]);
        tally.failed += usize::from(!problems.is_empty());
        match problems.as_slice() {
            [] if options.is_verbose => println!("ok   {}: {}", case.kind, case.id),
            [] => {}
            problems => println!("FAIL {}: {}\n       {}", case.kind, case.id, problems.join("\n       ")),
        }
    }
    println!("{}", tally.text(cases.len(), start.elapsed()));
    Ok(if tally.failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn cases(options: &RowOptions) -> Result<Vec<Case>> {
    let cases = CASES.lines().map(serde_json::from_str).collect::<Result<Vec<Case>, _>>()?;
    Ok(options.select(cases, |case, word| case.id.contains(word) || case.kind.contains(word)))
}

/// The figures of a run.
#[derive(Debug, Default)]
struct Tally {
    failed: usize,
    /// Endings of cases whose questions were answered with no.
    endings: BTreeMap<&'static str, usize>,
    /// How long what racing programs made was there.
    visible: Vec<Duration>,
}

impl Tally {
    fn text(&mut self, cases: usize, time: Duration) -> String {
        let endings: Vec<String> =
            self.endings.iter().map(|(ending, count)| format!("{count} {ending}")).collect();
        self.visible.sort();
        let middle = self.visible.get(self.visible.len() / 2).map_or(0, Duration::as_micros);
        let longest = self.visible.last().map_or(0, Duration::as_micros);
        format!(
            "later: {} of {cases} cases hold ({}); racing programs were seen {} times, for {middle} µs (p50), at most {longest} µs ({} s)",
            cases - self.failed,
            endings.join(", "),
            self.visible.len(),
            time.as_secs()
        )
    }
}

/// The place in which cases are tried.
struct Field {
    account: Account,
}

impl Field {
    fn problems(&self, case: &Case, tally: &mut Tally) -> Result<Vec<String>> {
        // Where haft cannot tell a person's file from the command's, it asks; a person keeps what is theirs.
        let answer = if case.person { Answer::Yes } else { Answer::No };
        let (ran, seen) = self.play(case, answer).context("after a no")?;
        if case.person {
            *tally.endings.entry("left to the person").or_default() += 1;
            let lost = seen.left.is_empty();
            return Ok(lost
                .then(|| format!("what the person made is gone\n{}", talk(&ran)))
                .into_iter()
                .collect());
        }
        *tally.endings.entry(ending(&ran)).or_default() += 1;
        let mut problems = Vec::new();
        if case.race {
            tally.visible.extend(&seen.times);
        } else if let Some(time) = seen.times.first() {
            problems.push(format!("no: it was there for {} µs", time.as_micros()));
        }
        problems.extend(seen.left.iter().map(|path| format!("no: {} is there in the end", path.display())));
        if !case.race && !is_told(case, &ran) {
            problems.push("no: nothing tells of it".to_owned());
        }
        if !problems.is_empty() {
            problems.push(talk(&ran));
        }
        if !case.race {
            let (ran, seen) = self.play(case, Answer::Yes).context("after a yes")?;
            if seen.left.is_empty() {
                problems.push(format!("yes: it is not there in the end\n{}", talk(&ran)));
            }
        }
        Ok(problems)
    }

    /// Runs the command of a case, watched.
    fn play(&self, case: &Case, answer: Answer) -> Result<(Transcript, Sightings)> {
        let place = self.place();
        set_up::fill(&place, &self.filled(&case.set_up)).context("set-up")?;
        let home = place.join("home");
        fs::create_dir_all(home.join(".config/haft"))?;
        let write: Vec<String> = case.write.iter().map(|path| self.filled(path)).collect();
        let settings = format!("[sandbox]\nwrite = {}\n", json!(write));
        fs::write(home.join(".config/haft/haft.toml"), settings)?;
        fs::copy(self.account.home.join(".gitconfig"), home.join(".gitconfig"))?;
        let input = json!({ "command": case.command }).to_string();
        let haft = self.account.haft.at(&home);
        let mut command = haft.command(&place.join("w"), &["call", "Bash", &input, "--allow", "Bash"]);
        command.env("LANG", "C.UTF-8").env("USER", "ada").env("npm_config_cache", "/tmp/npm");
        let paths: Vec<PathBuf> = case.later.iter().map(|path| place.join(path)).collect();
        let marker = case.marker.clone().unwrap_or_else(|| MARKER.to_owned());
        let watcher = Watcher::start(paths.clone(), marker);
        let person = case.person.then(|| thread::spawn(move || make_by_hand(&paths)));
        let ran = terminal::run(&command, answer);
        if let Some(person) = person {
            person.join().map_err(|_| anyhow::anyhow!("a thread broke down"))??;
        }
        let seen = watcher.end();
        Ok((ran?, seen))
    }

    fn filled(&self, text: &str) -> String {
        let shown = |path: &Path| path.display().to_string();
        text.replace("{FIELD}", &shown(&self.place())).replace("{RACE}", &shown(&self.race()))
    }

    fn place(&self) -> PathBuf {
        self.account.home.join("field")
    }

    fn race(&self) -> PathBuf {
        self.account.home.join("race.c")
    }
}

/// Does what a person's editor does, outside of any sandbox.
fn make_by_hand(paths: &[PathBuf]) -> Result<()> {
    thread::sleep(PERSON_DELAY);
    for path in paths {
        fs::create_dir_all(path.parent().context("a path without a directory")?)?;
        fs::write(path, PERSON_TEXT)?;
    }
    Ok(())
}

/// The way in which haft kept it from happening.
fn ending(ran: &Transcript) -> &'static str {
    match ran.questions.len() {
        0 if ran.stdout.contains("set aside") => "set aside",
        0 => "stopped",
        _ => "asked",
    }
}

/// Whether a question or haft's own lines of the result name what was kept from happening. What the program complained of is no
/// help.
fn is_told(case: &Case, ran: &Transcript) -> bool {
    let lines: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with('[')).collect();
    let said = format!("{}{}{}", ran.questions.concat(), lines.concat(), ran.stderr);
    let names = |path: &PathBuf| {
        let mut parts = path.components().rev().map(|part| part.as_os_str().to_string_lossy().into_owned());
        parts.any(|part| part.starts_with('.') && part.len() > 1 && said.contains(&part))
            || path.file_name().is_some_and(|name| said.contains(&*name.to_string_lossy()))
    };
    // A call that was refused before it ran was shown whole.
    ran.stdout.contains("refused this call")
        || ran.stderr.contains("refused this call")
        || case.later.iter().any(names)
}

fn talk(ran: &Transcript) -> String {
    let said = format!("{}{}{}", ran.questions.concat(), ran.stdout, ran.stderr);
    format!("haft: {}", said.trim().replace('\n', "\n         "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn cases_have_names_of_their_own_and_there_are_enough() {
        let cases = cases(&RowOptions::default()).unwrap();
        let names: BTreeSet<_> = cases.iter().map(|case| &case.id).collect();
        assert!(cases.len() >= 100 && names.len() == cases.len());
        assert!(cases.iter().all(|case| !case.later.is_empty()));
    }

    #[test]
    fn a_result_tells_of_a_path_by_its_protected_part() {
        let case = &cases(&RowOptions { names: vec!["tar unpacks".to_owned()], ..RowOptions::default() })
            .unwrap()[0];
        let ran = |stdout: &str| Transcript {
            success: false,
            stdout: stdout.to_owned(),
            stderr: String::new(),
            questions: Vec::new(),
        };
        assert!(
            is_told(case, &ran("x\n[the sandbox refused to create /w/.zed]"))
                && !is_told(case, &ran("tar: .zed: no"))
        );
    }
}

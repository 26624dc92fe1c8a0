//! `cargo xtask soak`: does every call get one true answer while servers die?
//!
//! `haft mcp` stands in front of 20 servers. Eight callers call their tools without pause, and somebody kills servers at random.
//! Each server writes down what it carries out before it answers. Afterwards every call must have exactly one answer, an answer
//! that says "done" must stand in a server's book exactly once, and one that says "not done" nowhere. Nothing may be left over:
//! no process, no descriptor, no memory that grows with the number of calls.

mod server; //   a server that can be killed, and its book
mod gateway; //  haft mcp, as a client sees it
mod account; //  what was said, against what was done

use std::{
    process::ExitCode,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::haft::{Haft, Profile};
use account::Account;
use gateway::{Gateway, Vitals};
use server::Field;

pub(crate) use server::serve;

const SERVERS: usize = 20;
const CALLERS: usize = 8;
const SECONDS: u64 = 600;

/// Between two murders, at most.
const PAUSE: Duration = Duration::from_millis(400);

/// What haft may hold more at the end than after a fifth of the time, in bytes: pools and buffers settle late.
const GROWTH: u64 = 8 << 20;

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let time = Duration::from_secs(seconds(words)?);
    let directory = tempfile::Builder::new().prefix("haft-soak-").tempdir()?;
    let root = directory.path().canonicalize()?;
    let field = Field::new(&root, SERVERS)?;
    let haft = Haft::build(profile(words), root.join("home"))?;
    let gateway = Gateway::start(&haft, field.workspace())?;
    let (account, vitals) = play(&gateway, &field, time);
    let left = gateway.end()?;
    let mut problems = account.check(&field.done()?);
    problems.extend(vitals.problems());
    problems.extend(left.into_iter().map(|who| format!("left over: {who}")));
    report(&account, &vitals, &problems, directory)
}

fn seconds(words: &[&str]) -> Result<u64> {
    match words {
        [] | ["--release"] => Ok(SECONDS),
        ["--seconds", number] | ["--release", "--seconds", number] => {
            number.parse().context("--seconds needs a number")
        }
        _ => bail!("soak takes --release and --seconds N"),
    }
}

fn profile(words: &[&str]) -> Profile {
    if words.contains(&"--release") { Profile::Release } else { Profile::Debug }
}

/// What was seen of haft over the time.
struct Course {
    early: Vitals,
    late: Vitals,
    most_processes: usize,
    kills: u64,
}

/// Callers call and servers die until the time is over; then everybody comes to an end.
fn play(gateway: &Gateway, field: &Field, time: Duration) -> (Account, Course) {
    let (over, numbers) = (AtomicBool::new(false), AtomicU64::new(0));
    let account = Account::default();
    let mut course =
        Course { early: Vitals::default(), late: Vitals::default(), most_processes: 0, kills: 0 };
    thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    call(gateway, field, numbers.fetch_add(1, Ordering::Relaxed), &account);
                }
            });
        }
        let start = Instant::now();
        while start.elapsed() < time {
            thread::sleep(PAUSE.mul_f64(fastrand::f64()));
            course.kills += u64::from(field.kill_one());
            course.look(gateway, start.elapsed(), time);
        }
        over.store(true, Ordering::Relaxed);
    });
    course.late = gateway.vitals();
    (account, course)
}

fn call(gateway: &Gateway, field: &Field, number: u64, account: &Account) {
    let server = field.name(fastrand::usize(..SERVERS));
    let token = format!("{server}-{number}");
    account.asked(&token);
    match gateway.call(&format!("{server}__keep"), &token) {
        Ok(answer) => account.answered(&token, answer),
        Err(err) => account.broken(&token, &err),
    }
}

impl Course {
    fn look(&mut self, gateway: &Gateway, passed: Duration, time: Duration) {
        self.most_processes = self.most_processes.max(gateway.processes().len());
        if self.early.memory == 0 && passed > time / 5 {
            self.early = gateway.vitals();
        }
    }

    fn problems(&self) -> Vec<String> {
        let (early, late) = (self.early, self.late);
        let mut problems = Vec::new();
        // A server each, and a guard each: twice as many while one goes and the next comes.
        let most = SERVERS * 4 + CALLERS;
        if self.most_processes > most {
            problems.push(format!("{} processes at once, for {SERVERS} servers", self.most_processes));
        }
        if late.descriptors > early.descriptors + SERVERS * 4 {
            problems
                .push(format!("descriptors: {} early, {} at the end", early.descriptors, late.descriptors));
        }
        if late.memory > early.memory + GROWTH {
            problems.push(format!(
                "memory: {} KB early, {} KB at the end",
                early.memory >> 10,
                late.memory >> 10
            ));
        }
        problems
    }
}

fn report(
    account: &Account,
    course: &Course,
    problems: &[String],
    directory: tempfile::TempDir,
) -> Result<ExitCode> {
    println!("soak: {}; {} servers killed", account.summary(), course.kills);
    println!(
        "soak: memory {} → {} KB, descriptors {} → {}, at most {} processes",
        course.early.memory >> 10,
        course.late.memory >> 10,
        course.early.descriptors,
        course.late.descriptors,
        course.most_processes
    );
    if problems.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "soak: {} problems\n  {}",
        problems.len(),
        problems.iter().take(30).cloned().collect::<Vec<_>>().join("\n  ")
    );
    println!("soak: everything is kept in {}", directory.keep().display());
    Ok(ExitCode::FAILURE)
}

//! Tools that do what a test needs: wait, break, grow, and tell what they did.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_tool::{AbsolutePath, Effects, Fault, Reply, SharedTool, tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct SleepInput {
    /// How long.
    ms: u64,
    /// What it claims to read meanwhile.
    reads: Option<AbsolutePath>,
    /// What it claims to write meanwhile.
    writes: Option<AbsolutePath>,
}

/// What tools did, in the order they did it.
#[derive(Debug, Clone, Default)]
pub struct Probe(Arc<Mutex<Vec<String>>>);

impl Probe {
    /// Notes something.
    pub fn note(&self, what: impl Into<String>) {
        self.0.lock().expect("no test panics while it notes").push(what.into());
    }

    /// All notes so far.
    pub fn notes(&self) -> Vec<String> {
        self.0.lock().expect("no test panics while it notes").clone()
    }
}

/// `Sleep`: waits, and notes its beginning and its end.
pub fn sleeping(probe: &Probe) -> SharedTool {
    let probe = probe.clone();
    tool("Sleep")
        .prompt("Waits for some milliseconds. Use it in tests only; it never fails.")
        .effects(|input: &SleepInput| {
            let effects = input.reads.iter().fold(Effects::none(), |effects, path| effects.and_reads(path));
            input.writes.iter().fold(effects, |effects, path| effects.and_writes(path))
        })
        .call(move |input: SleepInput, cx| {
            let probe = probe.clone();
            async move {
                probe.note(format!("+{}", cx.call_id()));
                tokio::time::sleep(Duration::from_millis(input.ms)).await;
                probe.note(format!("-{}", cx.call_id()));
                Ok(Reply::text("slept"))
            }
        })
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// `Panic`: breaks.
pub fn panicking() -> SharedTool {
    tool("Panic")
        .prompt("Breaks. Use it in tests only; it always fails.")
        .effects(|_: &Nothing| Effects::none())
        .call(|_: Nothing, _| async { panic!("secret words") })
}

#[derive(Deserialize, JsonSchema)]
struct SizedInput {
    /// How many bytes.
    bytes: usize,
}

/// `Sized`: replies with so many bytes of text.
pub fn sized() -> SharedTool {
    tool("Sized")
        .prompt("Replies with so many bytes. Use it in tests only; it never fails.")
        .effects(|_: &SizedInput| Effects::none())
        .call(|input: SizedInput, _| async move {
            let line = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n";
            let mut text = String::with_capacity(input.bytes);
            while text.len() + line.len() <= input.bytes {
                text.push_str(line);
            }
            text.extend(std::iter::repeat_n('.', input.bytes - text.len()));
            Ok::<_, Fault>(Reply::text(text))
        })
}

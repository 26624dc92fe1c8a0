//! A tool in one file: WordCount, registered and called.
//!
//! `cargo run --example word_count -- README.md` counts a file; docs/tutorial.md walks through it line by line.

use std::io::{Read, Write};

use haft::{prelude::*, serde_json::json};

/// Counts the lines, words and characters of a text file.
///
/// Use it when you need to know how much text there is. To see the text itself, use Read.
/// It fails if the path does not exist or is not UTF-8 text.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "haft::serde", deny_unknown_fields)]
#[schemars(crate = "haft::schemars")]
struct WordCountInput {
    /// The text file to count.
    file_path: AbsolutePath,
}

struct WordCount;

impl Tool for WordCount {
    type Input = WordCountInput;
    const SPEC: Spec = Spec::new("WordCount")
        .toolset("readonly")
        .aliases(&["wc"])
        .search_hint("count lines words characters of a text file");

    fn effects(&self, input: &WordCountInput) -> Effects {
        Effects::reads(&input.file_path)
    }

    fn describe(&self, input: &WordCountInput) -> String {
        format!("Count the words of {}", input.file_path.display())
    }

    async fn call(&self, input: WordCountInput, cx: &Cx) -> Result<Reply, Fault> {
        let files = cx.files();
        let counts = cx.blocking(move || {
            let mut text = String::new();
            let mut file = files.open(&input.file_path)?;
            file.read_to_string(&mut text).map_err(|err| Fault::io("count", &input.file_path, err))?;
            Ok(Counts::of(&text))
        });
        let Counts { lines, words, chars } = counts.await?;
        Ok(Reply::text(format!("{lines} lines, {words} words, {chars} characters")))
    }
}

struct Counts {
    lines: usize,
    words: usize,
    chars: usize,
}

impl Counts {
    fn of(text: &str) -> Counts {
        Counts {
            lines: text.lines().count(),
            words: text.split_whitespace().count(),
            chars: text.chars().count(),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "README.md".to_owned());

    let engine = Engine::builder().tool(WordCount).build()?;
    let session = engine.session(SessionOptions::at(std::env::current_dir()?))?;

    // What a model would send: here written by hand.
    let call = Call::new("call_1", "WordCount", json!({ "file_path": path }));
    let result = session.call(call).await;
    writeln!(std::io::stdout(), "{}", result.text())?;
    if result.is_error() {
        std::process::exit(1);
    }
    Ok(())
}

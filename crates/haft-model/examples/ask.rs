//! Asks a model one question and prints its answer while it comes:
//! `cargo run -p haft-model --features client --example ask -- openai http://127.0.0.1:8080 MODEL "Say hello."`

use std::{env, error::Error, io::Write};

use haft_model::{Client, Dialect, Endpoint, History, Key, Message, RequestOptions, StreamEvent};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [dialect, base, model, question] = &words[..] else {
        return Err("four words: a dialect, a base URL, a model and a question".into());
    };
    let dialect: Dialect = dialect.parse()?;
    let key = Key::from_env(Endpoint::key_variable(dialect));
    let client = Client::new(Endpoint::new(dialect).base(base).key(key))?;

    let mut history = History::new(dialect);
    history.push(Message::user(question));
    let request = history.request(&RequestOptions::new(model));
    let mut stream = client.stream(&request).await?;
    let mut out = std::io::stdout().lock();
    while let Some(event) = stream.next().await {
        match event {
            StreamEvent::Text(piece) => write!(out, "{piece}")?,
            StreamEvent::Done(response) => {
                writeln!(out, "\n({:?}, {} tokens)", response.stop, response.usage.output)?
            }
            StreamEvent::Failed(error) => return Err((*error).into()),
            _ => {}
        }
        out.flush()?;
    }
    Ok(())
}

//! A model behind HTTP that follows a script, for chores that start haft as a person does.
//!
//! Threads and blocking sockets: what is measured by it is when a request is there and when its answer has left, and
//! nothing else should run in between. `haft-testkit` has another one, for tests.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use haft_model::{
    Dialect,
    scripted::{Turn, Wire},
};

/// Answers a request by how many came before it and by what it says.
type Script = Box<dyn FnMut(usize, &str) -> Turn + Send>;

/// A request and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// When all of the request was there.
    pub(crate) at: Instant,
    /// When all of the answer had left.
    pub(crate) answered: Option<Instant>,
    /// What was asked.
    pub(crate) body: String,
}

/// A scripted model. Its threads end with the process.
pub(crate) struct ScriptedModel {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    dialect: Dialect,
    script: Mutex<Script>,
    asked: Mutex<Vec<Asked>>,
}

impl ScriptedModel {
    pub(crate) fn start(script: impl FnMut(usize, &str) -> Turn + Send + 'static) -> Result<ScriptedModel> {
        ScriptedModel::speaking(Dialect::Anthropic, script)
    }

    /// The same in another API.
    pub(crate) fn speaking(
        dialect: Dialect,
        script: impl FnMut(usize, &str) -> Turn + Send + 'static,
    ) -> Result<ScriptedModel> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let state =
            Arc::new(State { dialect, script: Mutex::new(Box::new(script)), asked: Mutex::default() });
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                // Whoever goes in the middle of something has gone: haft is killed here.
                thread::spawn(move || drop(converse(stream, &state)));
            }
        });
        Ok(ScriptedModel { address, state })
    }

    /// The options by which haft asks it.
    pub(crate) fn options(&self) -> [String; 4] {
        let dialect = self.state.dialect.name().to_owned();
        ["--base-url".to_owned(), self.url(), "--dialect".to_owned(), dialect]
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All that was asked since the last time somebody wanted to know.
    pub(crate) fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut lock(&self.state.asked))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn converse(stream: TcpStream, state: &State) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    let mut bytes = Vec::new();
    while let Some(at) = request(&mut reader, &mut bytes)? {
        let body = String::from_utf8_lossy(&bytes).into_owned();
        let number = lock(&state.asked).len();
        let turn = (lock(&state.script))(number, &body);
        lock(&state.asked).push(Asked { at, answered: None, body });
        answer(&mut writer, &turn, state.dialect)?;
        if let Some(asked) = lock(&state.asked).get_mut(number) {
            asked.answered = Some(Instant::now());
        }
    }
    Ok(())
}

/// Reads the body of the next request, and gives when the last byte of it was there; `None` if there is none. The buffer is used
/// again: to get memory for a long one would take longer than to read it.
fn request(reader: &mut impl BufRead, body: &mut Vec<u8>) -> std::io::Result<Option<Instant>> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let field = line.trim_end().to_ascii_lowercase();
        if field.is_empty() {
            break;
        }
        if let Some(value) = field.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    body.resize(length, 0);
    reader.read_exact(body)?;
    Ok(Some(Instant::now()))
}

fn answer(writer: &mut TcpStream, turn: &Turn, dialect: Dialect) -> std::io::Result<()> {
    let mut pieces = format!(
        "HTTP/1.1 {} X\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        turn.status()
    );
    for step in turn.wire(dialect) {
        match step {
            Wire::Send(text) => pieces.push_str(&format!("{:x}\r\n{text}\r\n", text.len())),
            Wire::Pause(time) => {
                writer.write_all(pieces.as_bytes())?;
                pieces.clear();
                thread::sleep(time.max(Duration::from_micros(1)));
            }
            Wire::Cut => return Err(std::io::ErrorKind::ConnectionAborted.into()),
        }
    }
    pieces.push_str("0\r\n\r\n");
    writer.write_all(pieces.as_bytes())
}

//! A model behind HTTP that follows a script.
//!
//! It speaks the four APIs, whichever it is asked in: streams as the real ones do, pauses, refuses, breaks off. It keeps
//! what it was asked and when, so that a test can look at the requests, and a benchmark at the time between them.

mod http; // as much of HTTP as that takes

use std::{
    fmt,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use haft_model::{
    Dialect,
    scripted::{Turn, Wire},
};
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

/// What a model says, request by request.
///
/// A list of turns is said one after the other; a request too many is refused. `Script::new` answers each as it likes.
pub struct Script(Box<dyn FnMut(&Recorded) -> Turn + Send>);

impl Script {
    /// Answers by what was asked.
    pub fn new(answer: impl FnMut(&Recorded) -> Turn + Send + 'static) -> Script {
        Script(Box::new(answer))
    }

    /// The same answer always.
    pub fn always(turn: Turn) -> Script {
        Script::new(move |_| turn.clone())
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script(…)")
    }
}

impl<T: Into<Turn> + Send + 'static> From<Vec<T>> for Script {
    fn from(turns: Vec<T>) -> Script {
        let mut turns = turns.into_iter().map(Into::into).collect::<Vec<Turn>>().into_iter();
        Script::new(move |_| {
            turns.next().unwrap_or_else(|| Turn::refusal(400, "the script has no more turns"))
        })
    }
}

impl<T: Into<Turn> + Send + 'static, const N: usize> From<[T; N]> for Script {
    fn from(turns: [T; N]) -> Script {
        Script::from(Vec::from(turns))
    }
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// When all of it was there.
    pub at: Instant,
    /// Which connection it came by, from 0.
    pub connection: usize,
    /// The API that it is in; `None` if the path is no API's.
    pub dialect: Option<Dialect>,
    /// Path and query.
    pub path: String,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as it came.
    pub text: String,
    /// The body as JSON; `null` if it is none.
    pub body: Value,
}

impl Recorded {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn wants_stream(&self) -> bool {
        match self.dialect {
            Some(Dialect::Gemini) => self.path.contains(":streamGenerateContent"),
            _ => self.body["stream"] == true,
        }
    }
}

/// A scripted model at an address of this machine. It ends when it is dropped.
///
/// ```
/// use haft_testkit::{ModelServer, Turn};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let model = ModelServer::start([
///     Turn::new().text("Let me look.").call("Read", json!({ "path": "a.rs" })),
///     Turn::new().text("It is empty."),
/// ])
/// .await;
/// // … ask at `model.url()`, in any of the four APIs …
/// assert_eq!(model.requests().len(), 0);
/// # }
/// ```
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<State>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    script: Mutex<Script>,
    requests: Mutex<Vec<Recorded>>,
}

impl ModelServer {
    /// Starts one at a free port.
    pub async fn start(script: impl Into<Script>) -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("the port that was just taken");
        let state = Arc::new(State { script: Mutex::new(script.into()), requests: Mutex::default() });
        let serving = tokio::spawn(serve(listener, state.clone()));
        ModelServer { address, state, serving }
    }

    /// Its base URL, for any of the APIs.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.state.requests).clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no test panics while it answers")
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    // Owned here: they end with the server.
    let mut connections = JoinSet::new();
    for number in 0.. {
        let Ok((stream, _)) = listener.accept().await else { return };
        connections.spawn(converse(stream, number, state.clone()));
    }
}

/// Request after request, until the client goes or the script breaks off.
async fn converse(stream: TcpStream, number: usize, state: Arc<State>) {
    let mut connection = http::Connection::new(stream);
    while let Some(request) = connection.request(number).await {
        let turn = state.answer(request.clone());
        let Some(dialect) = request.dialect else {
            let sent = connection.refuse(404, "{\"error\":{\"message\":\"no API has this path\"}}").await;
            if sent.is_none() {
                return;
            } else {
                continue;
            };
        };
        let streams = request.wants_stream();
        let kind = if streams && turn.status() == 200 { "text/event-stream" } else { "application/json" };
        let steps = if streams { turn.wire(dialect) } else { turn.whole(dialect) };
        if connection.begin(turn.status(), kind, turn.headers()).await.is_none() {
            return;
        }
        if send(&mut connection, steps).await.is_none() {
            return;
        }
    }
}

async fn send(connection: &mut http::Connection, steps: Vec<Wire>) -> Option<()> {
    for step in steps {
        match step {
            Wire::Send(text) => connection.piece(&text).await?,
            Wire::Pause(Duration::ZERO) => tokio::task::yield_now().await,
            Wire::Pause(time) => tokio::time::sleep(time).await,
            Wire::Cut => return None,
        }
    }
    connection.end().await
}

impl State {
    /// Kept before it is answered: the script may look at what came before.
    fn answer(&self, request: Recorded) -> Turn {
        lock(&self.requests).push(request.clone());
        match request.dialect {
            Some(_) => (lock(&self.script).0)(&request),
            None => Turn::refusal(404, "no API has this path"),
        }
    }
}

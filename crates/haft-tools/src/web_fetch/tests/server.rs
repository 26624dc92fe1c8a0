//! A server of this machine: it reads one request a connection and answers as it is told.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

pub(super) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

/// What a server does with a connection, once it has read the request.
type Behaviour = Box<dyn Fn(&str, &mut TcpStream) + Send + Sync>;

/// A whole answer.
pub(super) fn answer(status: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

impl Server {
    /// Gives the same kind of answer to everybody.
    pub(super) fn saying(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Server {
        // Whoever has heard enough hangs up: that is no failure of the test.
        Server::start(Box::new(move |request, stream| drop(stream.write_all(&answer(request)))))
    }

    /// Goes on until nobody listens.
    pub(super) fn streaming(headers: &'static str, chunk: &'static [u8], length: usize) -> Server {
        Server::start(Box::new(move |_, stream| {
            let piece = [chunk, &vec![b'x'; length], b"\r\n"].concat();
            let mut sent = stream.write_all(format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n").as_bytes());
            while sent.is_ok() {
                sent = stream.write_all(&piece);
            }
        }))
    }

    /// Sends a byte now and then.
    pub(super) fn dripping() -> Server {
        Server::start(Box::new(|_, stream| {
            let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n";
            let mut sent = stream.write_all(head);
            while sent.is_ok() {
                thread::sleep(Duration::from_millis(20));
                sent = stream.write_all(b"x");
            }
        }))
    }

    /// The thread ends with the process of the tests.
    fn start(behaviour: Behaviour) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (heard, behaviour) = (requests.clone(), Arc::new(behaviour));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(mut stream), heard, behaviour) = (stream, heard.clone(), behaviour.clone()) else {
                    return;
                };
                thread::spawn(move || {
                    let request = request(&mut stream);
                    heard.lock().unwrap().push(request.clone());
                    behaviour(&request, &mut stream);
                });
            }
        });
        Server { port, requests }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        bytes.push(byte[0]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

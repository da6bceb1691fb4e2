//! A program at the address of a PuppetDB: [`FakePuppetdb`].

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::Value as Json;

/// The behaviour of the program.
#[derive(Debug, Clone)]
pub(crate) enum Behaviour {
    /// Answers with this status and body.
    Answer(u16, String),
    /// Answers the requests with these rows, in this order, and then not any more.
    Rows(Arc<Mutex<VecDeque<Json>>>),
    /// Reads the request and never answers.
    Silence,
    /// Sends a list without an end.
    Endless,
    /// Announces more bytes than it sends.
    Short,
}

/// It answers every request in the same way, on a thread that ends with the test.
#[derive(Debug)]
pub(crate) struct FakePuppetdb {
    address: SocketAddr,
    requests: Receiver<Json>,
}

impl FakePuppetdb {
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (behaviour, sender) = (behaviour.clone(), sender.clone());
                std::thread::spawn(move || serve(stream, &behaviour, &sender));
            }
        });
        Self { address, requests }
    }

    pub(crate) fn answering(rows: &Json) -> Self {
        Self::start(Behaviour::Answer(200, rows.to_string()))
    }

    pub(crate) fn answering_in_turn(answers: impl IntoIterator<Item = Json>) -> Self {
        let answers = answers.into_iter().collect();
        Self::start(Behaviour::Rows(Arc::new(Mutex::new(answers))))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits for the next request.
    pub(crate) fn wait_for_request(&self) {
        self.requests.recv().unwrap();
    }

    /// The bodies of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Json> {
        self.requests.try_iter().collect()
    }
}

fn serve(mut stream: TcpStream, behaviour: &Behaviour, sender: &Sender<Json>) {
    while let Some(body) = read_request(&mut stream) {
        // the test may have ended
        let _ = sender.send(body);
        let answered = match behaviour {
            Behaviour::Answer(status, body) => answer(&mut stream, *status, body.len(), body),
            Behaviour::Short => answer(&mut stream, 200, 1_000, "[{\"certname\":"),
            Behaviour::Endless => endless(&mut stream),
            Behaviour::Rows(answers) => {
                let Some(rows) = answers.lock().unwrap().pop_front() else {
                    continue;
                };
                let body = rows.to_string();
                answer(&mut stream, 200, body.len(), &body)
            }
            Behaviour::Silence => continue,
        };
        if answered.is_err() || matches!(behaviour, Behaviour::Short) {
            return;
        }
    }
}

fn answer(stream: &mut TcpStream, status: u16, length: usize, body: &str) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

fn endless(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n")?;
    let row = "\"row\",".repeat(10_000);
    loop {
        stream.write_all(format!("{:x}\r\n{row}\r\n", row.len()).as_bytes())?;
    }
}

/// The body of the next request; `None` if the client has closed the connection.
fn read_request(stream: &mut TcpStream) -> Option<Json> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let (_, length) = head.split_once("content-length: ")?;
    let (length, _) = length.split_once('\r')?;
    let mut body = vec![0; length.parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

//! A reader of the event stream that records the events in order. Main type: [`Events`].

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::Value;
use testkit::client::Client;

/// Long enough for a machine that compiles at the same time.
const PATIENCE: Duration = Duration::from_secs(120);

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: Option<u64>,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

/// An open stream of one job.
pub(crate) struct Events {
    response: Response,
    buffer: Vec<u8>,
    ready: VecDeque<Message>,
}

// === impl Events ===

impl Events {
    /// Opens the stream at the beginning, or after a known event.
    pub(crate) async fn open(client: &Client, job: u64, last: Option<u64>) -> Self {
        let path = format!("/orchestrator/v1/events/stream?job={job}");
        let mut request = client.request(Method::GET, &path);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap().error_for_status().unwrap();
        Self {
            response,
            buffer: Vec::new(),
            ready: VecDeque::new(),
        }
    }

    /// The next message; `None`: the stream ended or broke.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        let next = tokio::time::timeout(PATIENCE, self.read()).await;
        next.expect("something happens")
    }

    async fn read(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            let chunk = self.response.chunk().await.ok()??;
            self.buffer.extend_from_slice(&chunk);
            while let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let text: Vec<u8> = self.buffer.drain(..end + 2).collect();
                self.ready.extend(message(&text));
            }
        }
    }

    /// Reads until `last` is true; returns all messages including the last.
    pub(crate) async fn until(&mut self, last: impl Fn(&Message) -> bool) -> Vec<Message> {
        let mut seen = Vec::new();
        while let Some(message) = self.next().await {
            let done = last(&message);
            seen.push(message);
            if done {
                return seen;
            }
        }
        panic!("the stream ended after {seen:?}");
    }

    /// Reads to the end of the stream.
    pub(crate) async fn rest(&mut self) -> Vec<Message> {
        let mut seen = Vec::new();
        while let Some(message) = self.next().await {
            seen.push(message);
        }
        seen
    }
}

// === impl Message ===

impl Message {
    /// True for output of this stream that contains `text`.
    pub(crate) fn is_output(&self, stream: &str, text: &str) -> bool {
        let data = self.data["data"].as_str().unwrap_or_default();
        self.kind == "output" && self.data["stream"] == stream && data.contains(text)
    }
}

fn message(text: &[u8]) -> Option<Message> {
    let text = std::str::from_utf8(text).unwrap();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map(|value| value.trim_start().to_owned())
    };
    Some(Message {
        id: field("id:").map(|id| id.parse().unwrap()),
        kind: field("event:")?,
        data: serde_json::from_str(&field("data:")?).unwrap(),
    })
}

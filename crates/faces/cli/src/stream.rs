//! The event stream of a job, across restarts of the server. Main type: [`EventStream`].
//!
//! Invariant: committed events arrive exactly once and in order, because a lost stream is resumed
//! after the last event received; live output may have gaps, results never.

use error_causes::ConnectionError;
use std::collections::VecDeque;
use std::time::Duration;

use api_types::{Event, LiveOutput};
use bytes::BytesMut;
use reqwest::Response;

use crate::client::ApiClient;
use crate::defaults::{
    RECONNECT_ATTEMPTS, RECONNECT_FIRST, RECONNECT_MAX, STREAM_LINE_BYTES, STREAM_SILENCE,
};
use crate::{CommandFailure, Result};

/// An item of the stream.
#[derive(Debug)]
pub(crate) enum StreamItem {
    Event(Event),
    Output(LiveOutput),
    /// The connection is lost, with the cause; the stream is reconnecting.
    Lost(String),
}

#[derive(Debug)]
pub(crate) struct EventStream<'a> {
    client: &'a ApiClient,
    job: String,
    response: Option<Response>,
    parser: ServerSentEventParser,
    ready: VecDeque<StreamItem>,
    last_event_id: Option<String>,
    attempts: u32,
    pause: Duration,
}

// === impl EventStream ===

impl<'a> EventStream<'a> {
    pub(crate) fn new(client: &'a ApiClient, job: &str) -> Self {
        Self {
            client,
            job: job.to_owned(),
            response: None,
            parser: ServerSentEventParser::default(),
            ready: VecDeque::new(),
            last_event_id: None,
            attempts: 0,
            pause: RECONNECT_FIRST,
        }
    }

    /// The next item. Cancel safe between items.
    pub(crate) async fn next(&mut self) -> Result<StreamItem> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(item);
            }
            let Some(response) = &mut self.response else {
                self.connect().await?;
                continue;
            };
            let cause = match tokio::time::timeout(STREAM_SILENCE, response.chunk()).await {
                Ok(Ok(Some(bytes))) => match self.accept_bytes(&bytes) {
                    Ok(()) => continue,
                    Err(cause) => cause,
                },
                Ok(Ok(None)) => "the server closed the stream".to_owned(),
                Ok(Err(error)) => ConnectionError::from_error(&error).to_string(),
                Err(_) => "the server went silent".to_owned(),
            };
            self.response = None;
            return Ok(StreamItem::Lost(cause));
        }
    }

    async fn connect(&mut self) -> Result<()> {
        if self.attempts > 0 {
            tokio::time::sleep(self.pause).await;
            self.pause = (self.pause * 2).min(RECONNECT_MAX);
        }
        self.attempts += 1;
        let path = ["orchestrator", "v1", "events", "stream"];
        let query = [("job", self.job.as_str())];
        let last = self.last_event_id.as_deref();
        match self.client.stream(&path, &query, last).await {
            Ok(response) => {
                self.response = Some(response);
                self.parser = ServerSentEventParser::default();
                Ok(())
            }
            Err(failure) if self.attempts >= RECONNECT_ATTEMPTS => {
                Err(CommandFailure::StreamLost {
                    job: self.job.clone(),
                    cause: failure.to_string(),
                })
            }
            // 502 to 504: the server is starting or stopping.
            Err(
                CommandFailure::Unreachable { .. }
                | CommandFailure::Refused {
                    status: 502..=504, ..
                },
            ) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    fn accept_bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        for message in self.parser.push(bytes)? {
            let item = match message.event.as_str() {
                "output" => decode_errors::json::from_str(&message.data).map(StreamItem::Output),
                // Output was dropped because this client was slow: the result has all of it.
                "lagged" => continue,
                _ => decode_errors::json::from_str(&message.data).map(StreamItem::Event),
            };
            self.ready
                .push_back(item.map_err(|error| format!("an event cannot be read: {error}"))?);
            if message.id.is_some() {
                self.last_event_id = message.id;
                // The stream works: a later loss starts with short pauses again.
                self.attempts = 1;
                self.pause = RECONNECT_FIRST;
            }
        }
        Ok(())
    }
}

/// One message of `text/event-stream`.
#[derive(Debug, Default, PartialEq, Eq)]
struct ServerSentEvent {
    id: Option<String>,
    event: String,
    data: String,
}

/// The format's parser (WHATWG HTML, "Server-sent events"), without I/O.
#[derive(Debug, Default)]
struct ServerSentEventParser {
    buffer: BytesMut,
    message: ServerSentEvent,
}

// === impl ServerSentEventParser ===

impl ServerSentEventParser {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<ServerSentEvent>, String> {
        self.buffer.extend_from_slice(bytes);
        let mut done = Vec::new();
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line = self.buffer.split_to(end + 1);
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            self.line(
                std::str::from_utf8(line).map_err(|error| error.to_string())?,
                &mut done,
            );
        }
        if self.buffer.len() > STREAM_LINE_BYTES {
            return Err("an event is larger than this client accepts".to_owned());
        }
        Ok(done)
    }

    fn line(&mut self, line: &str, done: &mut Vec<ServerSentEvent>) {
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            if !message.data.is_empty() {
                done.push(message);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.message.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.message.event),
            "data" => {
                if !self.message.data.is_empty() {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_whole_however_the_bytes_are_cut() {
        let text =
            ": hello\nid: 7\nevent: node_finished\ndata: {\"a\":\ndata: 1}\n\ndata: x\r\n\r\n";
        for size in 1..text.len() {
            let mut parser = ServerSentEventParser::default();
            let mut got = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                got.extend(parser.push(piece).unwrap());
            }
            assert_eq!(got.len(), 2, "pieces of {size}");
            assert_eq!(got[0].id.as_deref(), Some("7"));
            assert_eq!(got[0].event, "node_finished");
            assert_eq!(got[0].data, "{\"a\":\n1}");
            assert_eq!(got[1].data, "x");
        }
    }

    #[test]
    fn a_comment_alone_is_no_message() {
        assert!(
            ServerSentEventParser::default()
                .push(b": keep-alive\n\n")
                .unwrap()
                .is_empty()
        );
    }
}

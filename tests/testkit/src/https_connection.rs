//! A minimal client of one HTTPS connection: [`HttpsConnection`].
//!
//! Invariant: a request's bytes are written unchanged, and only the status and the end of an answer
//! are parsed, since the client shares the cores with the measured server.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::loopback;

const END_OF_HEAD: &[u8] = b"\r\n\r\n";
/// The end of a body in chunks; its first line break ends the chunk before.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// A kept connection to a server named `localhost`, for one request at a time.
#[derive(Debug)]
pub struct HttpsConnection {
    stream: TlsStream<TcpStream>,
    /// The bytes of the last answer.
    buffer: Vec<u8>,
    /// Place of the last answer's body.
    body: Range<usize>,
}

/// The head of an answer.
#[derive(Debug)]
struct AnswerHead {
    status: u16,
    /// Size of the head, after which the body begins.
    bytes: usize,
    body: BodyLength,
}

/// The way in which an answer tells where it ends.
#[derive(Debug)]
enum BodyLength {
    Bytes(usize),
    /// The body ends with an empty chunk.
    Chunked,
}

// === impl HttpsConnection ===

impl HttpsConnection {
    /// Connects from the loopback address `from`, including the TLS handshake.
    pub async fn open(to: SocketAddr, from: IpAddr, tls: Arc<ClientConfig>) -> Result<Self> {
        let stream = loopback::connect(to, from).await?;
        let name = ServerName::try_from("localhost")?;
        let stream = Box::pin(TlsConnector::from(tls).connect(name, stream)).await?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(16 << 10),
            body: 0..0,
        })
    }

    /// Sends a request and reads the whole answer, which must be a success.
    pub async fn ask(&mut self, request: &[u8]) -> Result<()> {
        let status = self.status_of(request).await?;
        anyhow::ensure!(
            (200..300).contains(&status),
            "{}",
            String::from_utf8_lossy(&self.buffer)
        );
        Ok(())
    }

    /// Sends a request and reads the whole answer; returns its status.
    pub async fn status_of(&mut self, request: &[u8]) -> Result<u16> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            self.read_more().await?;
            if let Some(head) = answer_head(&self.buffer)?
                && let Some(end) = head.end(&self.buffer)
            {
                self.body = head.bytes..end;
                return Ok(head.status);
            }
        }
    }

    /// The body of the last answer as it was sent, with the sizes of its chunks if it has some.
    pub fn body(&self) -> &[u8] {
        self.buffer.get(self.body.clone()).unwrap_or_default()
    }

    /// Sends an upgrade request; returns the upgraded stream.
    pub async fn upgrade(mut self, request: &[u8]) -> Result<TlsStream<TcpStream>> {
        self.stream.write_all(request).await?;
        while !self.buffer.ends_with(END_OF_HEAD) {
            self.read_more().await?;
        }
        anyhow::ensure!(
            self.buffer.starts_with(b"HTTP/1.1 101"),
            "{}",
            String::from_utf8_lossy(&self.buffer)
        );
        Ok(self.stream)
    }

    async fn read_more(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.buffer).await?;
        anyhow::ensure!(read > 0, "the server closed the connection");
        Ok(())
    }
}

/// The head of an answer; `None` until it is complete.
fn answer_head(answer: &[u8]) -> Result<Option<AnswerHead>> {
    let mut windows = answer.windows(END_OF_HEAD.len());
    let Some(head) = windows.position(|bytes| bytes == END_OF_HEAD) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&answer[..head])?;
    let status = text.strip_prefix("HTTP/1.1 ").and_then(|it| it.get(..3));
    let header = |wanted: &str| {
        let headers = text.lines().filter_map(|line| line.split_once(": "));
        let mut values = headers.filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        values.next().map(|(_, value)| value)
    };
    let body = match header("transfer-encoding") {
        Some(coding) if coding.eq_ignore_ascii_case("chunked") => BodyLength::Chunked,
        _ => {
            let length = header("content-length");
            let length = length.with_context(|| format!("an answer without a length: {text}"))?;
            BodyLength::Bytes(length.parse()?)
        }
    };
    Ok(Some(AnswerHead {
        status: status.context("not an answer of HTTP/1.1")?.parse()?,
        bytes: head + END_OF_HEAD.len(),
        body,
    }))
}

// === impl AnswerHead ===

impl AnswerHead {
    /// Place of the end of the answer; `None` until it is complete.
    fn end(&self, answer: &[u8]) -> Option<usize> {
        match self.body {
            BodyLength::Bytes(length) => {
                let end = self.bytes + length;
                (answer.len() >= end).then_some(end)
            }
            // No further request is sent before the answer is complete, so nothing follows the empty chunk.
            BodyLength::Chunked => answer.ends_with(LAST_CHUNK).then_some(answer.len()),
        }
    }
}

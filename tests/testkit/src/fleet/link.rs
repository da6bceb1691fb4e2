//! The socket of a simulated agent: TCP from a chosen address, TLS, WebSocket. Main type: [`Link`].

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::BytesMut;
use jiff::{SignedDuration, Timestamp};
use pcp::PcpMessage;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{FleetConfig, Protocol};
use crate::loopback;

/// Maximum size of a message that a simulated agent accepts, in bytes.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Maximum size of the answer to the upgrade request, in bytes.
const RESPONSE_BYTES_MAX: usize = 8 << 10;

/// The lifetime in a PCP v1 message.
const EXPIRY: SignedDuration = SignedDuration::from_secs(5);

/// A connected WebSocket with PCP messages.
#[derive(Debug)]
pub(crate) struct Link {
    protocol: Protocol,
    clock_skew: SignedDuration,
    stream: TlsStream<TcpStream>,
    decoder: ws::MessageDecoder,
    incoming: BytesMut,
    outgoing: BytesMut,
}

// === impl Link ===

impl Link {
    /// Connects and upgrades the connection to a WebSocket.
    pub(crate) async fn open(
        config: &FleetConfig,
        from: IpAddr,
        tls: Arc<rustls::ClientConfig>,
        extra_header: Option<(&str, &str)>,
    ) -> io::Result<Self> {
        let FleetConfig {
            broker,
            server_name,
            protocol,
            ..
        } = config;
        let tcp = loopback::connect(*broker, from).await?;
        let name = ServerName::try_from(server_name.clone()).map_err(io::Error::other)?;
        let mut stream = Box::pin(TlsConnector::from(tls).connect(name, tcp)).await?;
        let extra = extra_header.map_or(String::new(), |(name, value)| {
            format!("{name}: {value}\r\n")
        });
        let path = match protocol {
            Protocol::V1 => "/pcp/agent",
            Protocol::V2 => "/pcp2/agent",
        };
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {server_name}\r\nUpgrade: websocket\r\nConnection: \
             Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: \
             13\r\n{extra}\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let incoming = read_response(&mut stream).await?;
        Ok(Self {
            protocol: *protocol,
            clock_skew: config.faults.clock_skew,
            stream,
            decoder: ws::MessageDecoder::new(
                ws::ConnectionSide::Client,
                ws::ReceiveLimits {
                    max_message_bytes: MESSAGE_BYTES_MAX,
                },
            ),
            incoming,
            outgoing: BytesMut::new(),
        })
    }

    /// The next message; `None` if the broker closed the connection.
    pub(crate) async fn next(&mut self) -> io::Result<Option<PcpMessage>> {
        loop {
            while let Some(event) = self
                .decoder
                .decode(&mut self.incoming)
                .map_err(io::Error::other)?
            {
                match event {
                    ws::ReceivedEvent::Text(text) => return read_v2(&text).map(Some),
                    ws::ReceivedEvent::Binary(frame) => return read_v1(&frame).map(Some),
                    ws::ReceivedEvent::Ping(payload) => {
                        self.write(ws::OutgoingFrame::Pong(&payload)).await?
                    }
                    ws::ReceivedEvent::Close(_) => return Ok(None),
                    ws::ReceivedEvent::Pong(_) => {}
                }
            }
            if self.stream.read_buf(&mut self.incoming).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Sends one message.
    pub(crate) async fn send(&mut self, message: &PcpMessage) -> io::Result<()> {
        match self.protocol {
            Protocol::V2 => {
                self.write(ws::OutgoingFrame::Text(&pcp::v2::encode(message)))
                    .await
            }
            Protocol::V1 => {
                let expires = Timestamp::now() + self.clock_skew + EXPIRY;
                let frame = pcp::v1::encode(&pcp::v1::from_message(message, expires));
                self.write(ws::OutgoingFrame::Binary(&frame)).await
            }
        }
    }

    async fn write(&mut self, frame: ws::OutgoingFrame<'_>) -> io::Result<()> {
        self.outgoing.clear();
        ws::encode(frame, Some([1, 2, 3, 4]), &mut self.outgoing);
        self.stream.write_all(&self.outgoing).await?;
        self.stream.flush().await
    }
}

fn read_v2(text: &str) -> io::Result<PcpMessage> {
    Ok(pcp::v2::decode(text)
        .map_err(io::Error::other)?
        .to_message())
}

fn read_v1(frame: &[u8]) -> io::Result<PcpMessage> {
    let frame = pcp::v1::decode(frame).map_err(io::Error::other)?;
    pcp::v1::to_message(&frame).map_err(io::Error::other)
}

/// Reads the answer to the upgrade; the bytes after it belong to the WebSocket.
async fn read_response(stream: &mut TlsStream<TcpStream>) -> io::Result<BytesMut> {
    let mut buffer = BytesMut::with_capacity(512);
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = buffer.split_to(end + 4);
            if !head.starts_with(b"HTTP/1.1 101") {
                let line = String::from_utf8_lossy(&head);
                let line = line.lines().next().unwrap_or_default();
                return Err(io::Error::other(format!("the broker answered {line}")));
            }
            return Ok(buffer);
        }
        if buffer.len() > RESPONSE_BYTES_MAX || stream.read_buf(&mut buffer).await? == 0 {
            return Err(io::Error::other("the broker did not answer the upgrade"));
        }
    }
}

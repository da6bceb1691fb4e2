//! A PCP client over tokio-tungstenite.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};

use super::TestBroker;

/// Fails a test that waits too long; not a measurement.
const HANG: Duration = Duration::from_secs(20);

pub(crate) struct Client {
    pub(crate) ws: WebSocketStream<TlsStream<TcpStream>>,
    pub(crate) uri: String,
}

/// End of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    Frame(u16, String),
    Abrupt,
}

/// A v1 frame, taken apart without the code under test.
#[derive(Debug)]
pub(crate) struct V1Message {
    pub(crate) envelope: Value,
    pub(crate) data: Option<Value>,
}

pub(crate) async fn guard<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, future)
        .await
        .expect("nothing happened for too long")
}

/// A v2 message with a fixed-form id.
pub(crate) fn message(id: u32, message_type: &str, target: &str, data: Value) -> Value {
    json!({ "id": id_text(id), "message_type": message_type, "target": target, "data": data })
}

pub(crate) fn id_text(id: u32) -> String {
    format!("00000000-0000-4000-8000-{id:012}")
}

/// The text of an error_message, v2.
pub(crate) fn text_of(message: &Value) -> &str {
    assert_eq!(
        message["message_type"], "http://puppetlabs.com/error_message",
        "{message}"
    );
    assert_eq!(message["sender"], "pcp:///server");
    let text = message["data"].as_str().expect("a bare string");
    assert_eq!(text.lines().count(), 1, "one line: {text:?}");
    text
}

impl Client {
    pub(crate) async fn connect(broker: &TestBroker, certname: &str) -> Self {
        Self::at(broker, certname, "/pcp2/agent").await
    }

    pub(crate) async fn at(broker: &TestBroker, certname: &str, path: &str) -> Self {
        Self::try_at(broker, certname, path)
            .await
            .expect("the upgrade succeeds")
    }

    pub(crate) async fn try_at(
        broker: &TestBroker,
        certname: &str,
        path: &str,
    ) -> Result<Self, tungstenite::Error> {
        let identity = broker.world.identity(certname);
        let tls = broker.world.client_tls(&identity);
        let client_type = path.split('/').nth(2).filter(|kind| !kind.is_empty());
        let mut client = Self::over(broker.addr(), tls, path, &[]).await?;
        client.uri = format!("pcp://{certname}/{}", client_type.unwrap_or("agent"));
        Ok(client)
    }

    pub(crate) async fn over(
        addr: SocketAddr,
        tls: Arc<ClientConfig>,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, tungstenite::Error> {
        guard(async {
            let stream = tls_stream(addr, tls)
                .await
                .map_err(tungstenite::Error::Io)?;
            let mut request = format!("wss://{addr}{path}").into_client_request()?;
            for (name, value) in headers {
                request.headers_mut().insert(*name, value.parse().unwrap());
            }
            let config = WebSocketConfig::default()
                .max_message_size(Some(256 << 20))
                .max_frame_size(Some(256 << 20));
            let (ws, _) =
                tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await?;
            Ok(Self {
                ws,
                uri: String::new(),
            })
        })
        .await
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: impl Into<String>) {
        guard(self.ws.send(Message::text(text.into())))
            .await
            .expect("sent");
    }

    /// Sends bytes while the broker may close the connection.
    pub(crate) async fn send_or_be_cut(&mut self, text: String) {
        guard(self.ws.send(Message::text(text))).await.ok();
    }

    /// Bytes as they are, below the WebSocket: part of a frame, say.
    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) {
        let stream = self.ws.get_mut();
        guard(async {
            stream.write_all(bytes).await?;
            stream.flush().await
        })
        .await
        .expect("sent");
    }

    pub(crate) async fn send_binary(&mut self, bytes: Vec<u8>) {
        guard(self.ws.send(Message::binary(bytes)))
            .await
            .expect("sent");
    }

    pub(crate) async fn next(&mut self) -> Option<Result<Message, tungstenite::Error>> {
        guard(self.ws.next()).await
    }

    /// The next v2 message.
    pub(crate) async fn recv(&mut self) -> Value {
        loop {
            match self.next().await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("no text message: {other:?}"),
            }
        }
    }

    /// The next v1 message.
    pub(crate) async fn recv_v1(&mut self) -> V1Message {
        loop {
            match self.next().await {
                Some(Ok(Message::Binary(bytes))) => return V1Message::read(&bytes),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("no binary message: {other:?}"),
            }
        }
    }

    /// Waits for the end, ignoring messages.
    pub(crate) async fn closed(&mut self) -> Closed {
        loop {
            match self.next().await {
                Some(Ok(Message::Close(Some(frame)))) => {
                    // Sends tungstenite's answer to the close frame.
                    while let Some(Ok(_)) = self.next().await {}
                    return Closed::Frame(frame.code.into(), frame.reason.to_string());
                }
                Some(Ok(Message::Close(None))) | Some(Err(_)) | None => return Closed::Abrupt,
                Some(Ok(_)) => {}
            }
        }
    }

    pub(crate) async fn close_code(&mut self) -> u16 {
        match self.closed().await {
            Closed::Frame(code, _) => code,
            Closed::Abrupt => 1006,
        }
    }

    /// Sends a message to itself and expects it as the next one: the broker has sent nothing
    /// before.
    pub(crate) async fn expect_silence(&mut self) {
        let uri = self.uri.clone();
        self.send(message(999_999, "test/echo", &uri, json!("echo")))
            .await;
        let heard = self.recv().await;
        assert_eq!(heard["message_type"], "test/echo", "{heard}");
    }

    /// Expects that the broker still serves this client.
    pub(crate) async fn expect_alive(&mut self) {
        self.expect_silence().await;
    }
}

impl V1Message {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        assert_eq!(bytes[0], 1, "version");
        let mut rest = &bytes[1..];
        let (mut envelope, mut data) = (None, None);
        while !rest.is_empty() {
            let length = u32::from_be_bytes(rest[1..5].try_into().unwrap()) as usize;
            let json = serde_json::from_slice(&rest[5..5 + length]).unwrap();
            match rest[0] {
                1 => envelope = Some(json),
                2 => data = Some(json),
                kind => panic!("chunk of type {kind}"),
            }
            rest = &rest[5 + length..];
        }
        Self {
            envelope: envelope.expect("an envelope"),
            data,
        }
    }

    pub(crate) fn write(envelope: &Value, chunks: &[(u8, &[u8])]) -> Vec<u8> {
        let envelope = envelope.to_string();
        let mut bytes = vec![1];
        for (kind, content) in [(1u8, envelope.as_bytes())].iter().chain(chunks) {
            bytes.push(*kind);
            bytes.extend_from_slice(&u32::try_from(content.len()).unwrap().to_be_bytes());
            bytes.extend_from_slice(content);
        }
        bytes
    }

    /// An envelope with everything that is required.
    pub(crate) fn envelope(id: u32, message_type: &str, sender: &str, targets: &[&str]) -> Value {
        json!({
            "id": id_text(id), "message_type": message_type, "sender": sender,
            "targets": targets, "expires": "2036-01-01T00:00:00Z",
        })
    }
}

/// TLS to the broker, nothing more.
pub(crate) async fn tls_stream(
    addr: SocketAddr,
    tls: Arc<ClientConfig>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let tcp = TcpStream::connect(addr).await?;
    tcp.set_nodelay(true)?;
    TlsConnector::from(tls)
        .connect(ServerName::from(addr.ip()), tcp)
        .await
}

//! An orchestrator to which a broker connects.

use std::net::{Ipv4Addr, SocketAddr};

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use super::World;
use super::client::guard;

pub(crate) struct FakeController {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    pub(crate) addr: SocketAddr,
}

/// The broker's connection, seen from the controller.
pub(crate) struct Peer {
    pub(crate) ws: WebSocketStream<TlsStream<TcpStream>>,
    pub(crate) path: String,
    pub(crate) host: String,
    pub(crate) certname: Option<String>,
    pub tls13: bool,
}

impl FakeController {
    pub(crate) async fn listen(world: &World, certname: &str) -> Self {
        let tls = world.server_tls(certname);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let addr = listener.local_addr().unwrap();
        Self {
            listener,
            acceptor: TlsAcceptor::from(tls.current()),
            addr,
        }
    }

    /// URI of this controller for the broker's configuration.
    pub(crate) fn uri(&self) -> String {
        format!("wss://{}/server", self.addr)
    }

    /// PCP address of this controller at the broker.
    pub(crate) fn address(&self) -> String {
        format!("pcp://{}/server", self.addr)
    }

    /// Expects that the broker's next connection ends before the broker sends anything.
    pub(crate) async fn is_left_without_a_word(&self) {
        guard(async {
            let (tcp, _) = self.listener.accept().await.unwrap();
            // With TLS 1.3 the server's handshake completes before the client checks it.
            if let Ok(mut tls) = self.acceptor.accept(tcp).await {
                let read = tls.read(&mut [0; 1]).await;
                assert!(
                    !matches!(read, Ok(bytes) if bytes > 0),
                    "the broker spoke to a stranger"
                );
            }
        })
        .await;
    }

    /// The broker's next connection.
    pub(crate) async fn accept(&self) -> Peer {
        guard(async {
            let (tcp, _) = self.listener.accept().await.unwrap();
            let tls = self.acceptor.accept(tcp).await.unwrap();
            let connection = tls.get_ref().1;
            let leaf = connection
                .peer_certificates()
                .and_then(|chain| chain.first());
            let certname = leaf.map(|leaf| pki::certname_of(leaf).unwrap());
            let tls13 = connection.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
            let (mut path, mut host) = (String::new(), String::new());
            let look = |request: &Request, response: Response| {
                path = request.uri().path().to_owned();
                host = request.headers()["host"].to_str().unwrap().to_owned();
                Ok(response)
            };
            let ws = tokio_tungstenite::accept_hdr_async(tls, look)
                .await
                .unwrap();
            Peer {
                ws,
                path,
                host,
                certname,
                tls13,
            }
        })
        .await
    }

    /// Takes the next connection and drops it before TLS.
    pub(crate) async fn refuse(&self) {
        drop(guard(self.listener.accept()).await.unwrap());
    }
}

impl Peer {
    pub(crate) async fn send(&mut self, message: Value) {
        guard(self.ws.send(Message::text(message.to_string())))
            .await
            .unwrap();
    }

    pub(crate) async fn recv(&mut self) -> Value {
        loop {
            match guard(self.ws.next()).await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("no text message: {other:?}"),
            }
        }
    }
}

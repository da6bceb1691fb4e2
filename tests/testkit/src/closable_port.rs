//! A port in front of a server that takes long to start: [`ClosablePort`].
//!
//! Invariant: when it is closed, every connection through it has ended and the kernel refuses new ones, as if the server had been
//! killed; the server itself goes on.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::installation::free_port;

/// A port on 127.0.0.1 from which connections are forwarded to a server while it is open.
#[derive(Debug)]
pub struct ClosablePort {
    number: u16,
    server: u16,
    /// `None` while the port is closed.
    forwarding: Option<Forwarding>,
}

#[derive(Debug)]
struct Forwarding {
    closing: CancellationToken,
    task: AbortOnDropHandle<()>,
}

// === impl ClosablePort ===

impl ClosablePort {
    /// Reserves a port, still closed, in front of the port `server` of 127.0.0.1.
    pub fn new(server: u16) -> Result<Self> {
        Ok(Self {
            number: free_port()?,
            server,
            forwarding: None,
        })
    }

    /// The number of the port, which stays the same.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The address of an HTTPS server behind the port.
    pub fn https_url(&self) -> String {
        format!("https://localhost:{}", self.number)
    }

    /// Accepts connections from now on.
    pub async fn open(&mut self) -> Result<()> {
        let address = (Ipv4Addr::LOCALHOST, self.number);
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("cannot listen on {address:?}"))?;
        let closing = CancellationToken::new();
        let task = tokio::spawn(forward(listener, self.server, closing.clone()));
        self.forwarding = Some(Forwarding {
            closing,
            task: AbortOnDropHandle::new(task),
        });
        Ok(())
    }

    /// Ends all connections and refuses new ones.
    pub async fn close(&mut self) -> Result<()> {
        if let Some(forwarding) = self.forwarding.take() {
            forwarding.closing.cancel();
            forwarding.task.await?;
        }
        Ok(())
    }
}

async fn forward(listener: TcpListener, server: u16, closing: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = closing.cancelled() => break,
            Some(_) = connections.join_next() => {}
            Ok((client, _)) = listener.accept() => {
                connections.spawn(forward_connection(client, server));
            }
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Forwards a connection until one side ends it: both sides have their own means against broken ones.
async fn forward_connection(mut client: TcpStream, server: u16) -> std::io::Result<()> {
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// A server that answers each connection with what it sends.
    async fn echo() -> (u16, AbortOnDropHandle<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = client.split();
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        (port, AbortOnDropHandle::new(task))
    }

    async fn connect(port: &ClosablePort) -> std::io::Result<TcpStream> {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port.number())).await
    }

    async fn is_answered(stream: &mut TcpStream) -> bool {
        let mut answer = [0; 2];
        stream.write_all(b"hi").await.unwrap();
        stream.read_exact(&mut answer).await.unwrap();
        &answer == b"hi"
    }

    #[tokio::test]
    async fn a_closed_port_refuses_and_ends_connections_and_can_be_opened_again() {
        let (server, _echo) = echo().await;
        let mut port = ClosablePort::new(server).unwrap();
        let refused = connect(&port).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        port.open().await.unwrap();
        let mut stream = connect(&port).await.unwrap();
        assert!(is_answered(&mut stream).await);

        port.close().await.unwrap();
        let ended = stream.read(&mut [0]).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
        let refused = connect(&port).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);

        port.open().await.unwrap();
        assert!(is_answered(&mut connect(&port).await.unwrap()).await);
    }
}

//! One simulated agent's socket: TCP from a chosen address, TLS, WebSocket. Main type: [`Link`].

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::BytesMut;
use rustls_pki_types::ServerName;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The largest message that a simulated agent takes.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// The longest answer to the upgrade request.
const RESPONSE_BYTES_MAX: usize = 8 << 10;

/// A connected WebSocket that speaks PCP v2.
#[derive(Debug)]
pub(crate) struct Link {
    stream: TlsStream<TcpStream>,
    decoder: ws::Decoder,
    incoming: BytesMut,
    outgoing: BytesMut,
}

// === impl Link ===

impl Link {
    /// Connects and upgrades on `/pcp2/agent`.
    pub(crate) async fn open(
        broker: SocketAddr,
        server_name: &str,
        from: IpAddr,
        tls: Arc<rustls::ClientConfig>,
        extra_header: Option<(&str, &str)>,
    ) -> io::Result<Self> {
        let tcp = connect(broker, from).await?;
        let name = ServerName::try_from(server_name.to_owned()).map_err(io::Error::other)?;
        let mut stream = Box::pin(TlsConnector::from(tls).connect(name, tcp)).await?;
        let extra = extra_header.map_or(String::new(), |(name, value)| {
            format!("{name}: {value}\r\n")
        });
        let request = format!(
            "GET /pcp2/agent HTTP/1.1\r\nHost: {server_name}\r\nUpgrade: websocket\r\nConnection: \
             Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: \
             13\r\n{extra}\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let incoming = read_response(&mut stream).await?;
        Ok(Self {
            stream,
            decoder: ws::Decoder::new(
                ws::Role::Client,
                ws::Limits {
                    max_message_bytes: MESSAGE_BYTES_MAX,
                },
            ),
            incoming,
            outgoing: BytesMut::new(),
        })
    }

    /// The next text message; `None` when the broker closed.
    pub(crate) async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            while let Some(event) = self
                .decoder
                .decode(&mut self.incoming)
                .map_err(io::Error::other)?
            {
                match event {
                    ws::Event::Text(text) => return Ok(Some(text.to_string())),
                    ws::Event::Ping(payload) => self.write(ws::Frame::Pong(&payload)).await?,
                    ws::Event::Close(_) => return Ok(None),
                    ws::Event::Binary(_) | ws::Event::Pong(_) => {}
                }
            }
            if self.stream.read_buf(&mut self.incoming).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Sends one text message.
    pub(crate) async fn send(&mut self, text: &str) -> io::Result<()> {
        self.write(ws::Frame::Text(text)).await
    }

    async fn write(&mut self, frame: ws::Frame<'_>) -> io::Result<()> {
        self.outgoing.clear();
        ws::encode(frame, Some([1, 2, 3, 4]), &mut self.outgoing);
        self.stream.write_all(&self.outgoing).await?;
        self.stream.flush().await
    }
}

async fn connect(broker: SocketAddr, from: IpAddr) -> io::Result<TcpStream> {
    if !from.is_loopback() || !broker.ip().is_loopback() {
        return Err(io::Error::other(
            "simulated agents stay on the loopback addresses",
        ));
    }
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::new(from, 0).into())?;
    let stream = TcpSocket::from_std_stream(socket.into())
        .connect(broker)
        .await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Reads the answer to the upgrade; what follows it belongs to the WebSocket.
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

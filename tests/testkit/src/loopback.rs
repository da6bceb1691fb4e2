//! TCP between loopback addresses of the caller's choice: [`connect`].
//!
//! Invariant: no load leaves the loopback addresses; each address of 127.0.0.0/8 is a different
//! source for a server.

use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpSocket, TcpStream};

/// Connects from an address; both ends must be loopback addresses of IPv4.
pub async fn connect(to: SocketAddr, from: IpAddr) -> io::Result<TcpStream> {
    if !from.is_loopback() || !to.ip().is_loopback() {
        return Err(io::Error::other(
            "load of tests stays on the loopback addresses",
        ));
    }
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::new(from, 0).into())?;
    let stream = TcpSocket::from_std_stream(socket.into())
        .connect(to)
        .await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

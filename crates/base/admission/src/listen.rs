//! The listening socket of every port: [`listen`].

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

use crate::defaults::BACKLOG;

/// Listens on `address` with a backlog of [`BACKLOG`]. `[::]` serves IPv4 as well. Must run within
/// a tokio runtime.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(BACKLOG).unwrap_or(i32::MAX))?;
    TcpListener::from_std(socket.into())
}

//! Takes connections from the kernel, within bounds.
//!
//! The rule: a connection is taken only when there is room for one more that is not associated
//! yet; until then it waits in the kernel's backlog and costs nothing here.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::opening::{Opening, Shared};

/// After an accept failed for want of descriptors or memory: until something is free again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A listening socket with a backlog that takes a reconnect storm.
pub(crate) fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        // `[::]` serves IPv4 as well.
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    TcpListener::from_std(socket.into())
}

/// Accepts until `stop`; each connection is opened in a task of `tasks`.
pub(crate) async fn run(
    listener: TcpListener,
    shared: Arc<Shared>,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let half_open = Arc::new(Semaphore::new(shared.config.limits.half_open.max(1)));
    let next = || async {
        let place = Arc::clone(&half_open)
            .acquire_owned()
            .await
            .expect("never closed");
        (place, listener.accept().await)
    };
    while let Some((place, accepted)) = stop.run_until_cancelled(next()).await {
        match accepted {
            Ok((tcp, remote)) => {
                if let Err(error) = prepare(&tcp) {
                    tracing::debug!(%remote, %error, "connection broke before it was served");
                    continue;
                }
                let opening = Opening::new(Arc::clone(&shared), tasks.clone(), remote, place);
                tasks.spawn(opening.run(tcp));
            }
            Err(error) => pause_after(&error).await,
        }
    }
}

fn prepare(tcp: &TcpStream) -> io::Result<()> {
    // Answers are small and awaited: Nagle and delayed acknowledgements cost 40 ms each.
    tcp.set_nodelay(true)
}

async fn pause_after(error: &io::Error) {
    match error.kind() {
        // The client gave up while it waited.
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset => {}
        _ => {
            tracing::error!(%error, "cannot accept connections; is the limit of open files reached?");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
}

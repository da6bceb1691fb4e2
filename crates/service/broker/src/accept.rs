//! Accepts connections, within limits.
//!
//! Invariant: the [`ConnectionGate`] admits a connection before anything is allocated for it; a
//! connection without admission is dropped at once, so that it does not delay others.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use admission::{AdmissionLimits, ConnectionGate};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::BrokerConfig;
use crate::opening::{ConnectionOpening, OpeningContext};

/// Pause after an accept failed for lack of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections until `stop`, and opens each in a task of `tasks`.
pub(crate) async fn run(
    listener: TcpListener,
    shared: Arc<OpeningContext>,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let gate = ConnectionGate::new(admission_limits(&shared.config));
    while let Some(accepted) = stop.run_until_cancelled(gate.accept(&listener)).await {
        match accepted {
            Ok((tcp, remote, admission)) => {
                if let Err(error) = prepare_socket(&tcp) {
                    tracing::debug!(%remote, %error, "connection broke before it was served");
                    continue;
                }
                let opening =
                    ConnectionOpening::new(Arc::clone(&shared), tasks.clone(), remote, admission);
                tasks.spawn(opening.run(tcp));
            }
            Err(error) => pause_after(&error).await,
        }
    }
}

fn admission_limits(config: &BrokerConfig) -> AdmissionLimits {
    AdmissionLimits {
        half_open: config.limits.half_open.max(1),
        half_open_per_network: config.limits.half_open_per_network.max(1),
        first_byte: config.timeouts.first_byte,
        handshakes_per_network: config.limits.handshakes,
        ..AdmissionLimits::default()
    }
}

fn prepare_socket(tcp: &TcpStream) -> io::Result<()> {
    // Answers are small and awaited: Nagle's algorithm with delayed acknowledgements would cost 40
    // ms each.
    tcp.set_nodelay(true)
}

async fn pause_after(error: &io::Error) {
    match error.kind() {
        // The client closed the connection before it was accepted.
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset => {}
        _ => {
            tracing::error!(%error, "cannot accept connections; is the limit of open files reached?");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
}

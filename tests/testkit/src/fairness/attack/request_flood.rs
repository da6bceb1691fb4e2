//! Requests over some kept connections at a bounded rate: [`RequestFlood`].
//!
//! Invariant: each connection has one request at a time, and one that the server closed is opened
//! again for its next request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::try_join_all;
use rustls::ClientConfig;
use tokio::time::{MissedTickBehavior, interval};

use super::progress::{ATTACKER, AttackProgress};
use crate::https_connection::HttpsConnection;

/// The target of a flood, and its limits.
#[derive(Debug)]
pub(super) struct RequestFlood {
    pub(super) target: SocketAddr,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) connections: u32,
    /// Maximum rate of all connections together.
    pub(super) requests_per_second: u32,
}

// === impl RequestFlood ===

impl RequestFlood {
    /// Sends the results of `request` until it is cancelled.
    pub(super) async fn run(
        &self,
        request: impl Fn() -> Result<String>,
        progress: &AttackProgress,
    ) -> Result<()> {
        let opening = (0..self.connections).map(|_| self.open());
        let connections = try_join_all(opening).await?;
        progress.established();
        let lines = connections
            .into_iter()
            .map(|connection| self.repeat(connection, &request, progress));
        try_join_all(lines).await?;
        Ok(())
    }

    async fn repeat(
        &self,
        connection: HttpsConnection,
        request: &impl Fn() -> Result<String>,
        progress: &AttackProgress,
    ) -> Result<()> {
        let mut connection = Some(connection);
        let mut ticks =
            interval(Duration::from_secs(1) * self.connections / self.requests_per_second);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let request = request()?;
            progress.acted();
            connection = match connection {
                Some(connection) => Some(connection),
                // The server may refuse the attacker to defend itself.
                None => self.open().await.ok(),
            };
            if let Some(open) = &mut connection
                && open.status_of(request.as_bytes()).await.is_err()
            {
                connection = None;
            }
        }
    }

    async fn open(&self) -> Result<HttpsConnection> {
        HttpsConnection::open(self.target, ATTACKER, Arc::clone(&self.tls)).await
    }
}

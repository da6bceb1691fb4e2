//! Connections that stay half open: silent ones, and ones that stop within their first message.
//!
//! Invariant: the attacker holds the newest of all connections that it opened. After the first
//! ones, which are opened as fast as the server accepts, it opens as many within [`RENEWAL`] as it
//! holds: each is renewed when the server's time limit for a first byte is over. 1,000 connections
//! are 333 a second, 5,000 are 1,667; a connection costs client and server some 30 µs each, so
//! 5,000 take 5 % of a core.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval};

use super::progress::{ATTACKER, AttackProgress};
use crate::loopback;

/// The server's time limit for a first byte.
const RENEWAL: Duration = Duration::from_secs(3);

/// Interval between the bursts in which connections are opened.
const BURST_EVERY: Duration = Duration::from_millis(10);

/// A record that announces a ClientHello of 508 bytes, and the first 6 bytes of it.
const HALF_CLIENT_HELLO: [u8; 11] = [
    0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03,
];

/// The bytes that a half-open connection sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstBytes {
    /// No byte.
    None,
    /// The beginning of a TLS handshake.
    HalfClientHello,
}

pub(super) async fn run(
    target: SocketAddr,
    connections: usize,
    first_bytes: FirstBytes,
    progress: &AttackProgress,
) -> Result<()> {
    let mut held = VecDeque::with_capacity(connections);
    while held.len() < connections {
        held.push_back(open(target, first_bytes).await?);
        progress.acted();
    }
    progress.established();
    let bursts = RENEWAL.as_millis() / BURST_EVERY.as_millis();
    let burst = connections.div_ceil(usize::try_from(bursts)?);
    let mut ticks = interval(BURST_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for _ in 0..burst {
            held.pop_front();
            held.push_back(open(target, first_bytes).await?);
            progress.acted();
        }
    }
}

async fn open(target: SocketAddr, first_bytes: FirstBytes) -> Result<TcpStream> {
    let mut stream = loopback::connect(target, ATTACKER).await?;
    // Reset instead of an orderly end, after which thousands of ports would wait a minute for late
    // packets.
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
    if first_bytes == FirstBytes::HalfClientHello {
        // The server may have dropped the connection already to defend itself.
        let _ = stream.write_all(&HALF_CLIENT_HELLO).await;
    }
    Ok(stream)
}

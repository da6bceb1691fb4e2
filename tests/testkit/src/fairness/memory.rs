//! Resident memory of the server per half-open connection: [`measure`].
//!
//! Invariant: the server has just started, and its descriptors tell the number of connections that
//! it holds.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;

use super::ServerPort;
use super::attack::{Attack, FirstBytes, RunningAttack};
use super::site::FairnessSite;
use crate::machine;

/// Duration of the observation: nearly the server's time limit for a first byte.
const LOOKED_AT: Duration = Duration::from_millis(2_500);

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Memory of half-open connections.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryFigure {
    /// Description of the connections.
    pub connections: String,
    /// Number of connections that the attacker holds.
    pub opened: usize,
    /// Maximum number of connections that the server held at once.
    pub held: usize,
    /// Resident memory before the connections, in KiB.
    pub empty_kib: u64,
    /// Maximum resident memory while they were held, in KiB.
    pub most_kib: u64,
    /// Difference of both per held connection, in KiB.
    pub kib_each: f64,
}

/// Opens connections on one port and observes the server meanwhile.
pub async fn measure(
    site: &FairnessSite,
    port: ServerPort,
    first_bytes: FirstBytes,
    connections: usize,
) -> Result<MemoryFigure> {
    let pid = site.server.pid();
    let (empty_files, empty_kib) = (machine::open_files(pid)?, machine::resident_kib(pid)?);
    let attack = Attack::HalfOpen {
        target: port.address(site),
        connections,
        first_bytes,
    };
    let running = RunningAttack::start(attack).await?;
    let started = Instant::now();
    let (mut most_files, mut most_kib) = (0, 0);
    while started.elapsed() < LOOKED_AT {
        most_files = most_files.max(machine::open_files(pid)?);
        most_kib = most_kib.max(machine::resident_kib(pid)?);
        tokio::time::sleep(LOOK_EVERY).await;
    }
    running.stop().await?;
    let held = most_files.saturating_sub(empty_files);
    anyhow::ensure!(held > 0, "the server held no connection");
    Ok(MemoryFigure {
        connections: format!("{} on {}", first_bytes.what(), port.what()),
        opened: connections,
        held,
        empty_kib,
        most_kib,
        kib_each: most_kib.saturating_sub(empty_kib) as f64 / held as f64,
    })
}

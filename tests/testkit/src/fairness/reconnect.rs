//! The return of many honest agents from one address after a restart: [`measure`].
//!
//! Invariant: all of them try at once and again within 200 ms, which no real agent does, so that a
//! server that treats this as an attack is noticed.

use std::time::Instant;

use anyhow::Result;
use serde::Serialize;

use crate::fleet::{Fleet, FleetConfig, Identities, KeyKind};
use crate::installation::{Installation, Programs};
use crate::machine;

/// The server's log message about dropped connections.
const DROPPED_AT_LIMIT: &str = "connections were dropped at a limit";

/// Figures of the return of a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct ReconnectFigure {
    /// Number of honest agents, all with one address.
    pub agents: usize,
    /// Time from the first connection to a running server until all are associated, in seconds.
    pub first_connect_s: f64,
    /// Time from the restarted server's readiness until all are associated again, in seconds.
    pub reconnect_s: f64,
    /// Processor time of the restarted server in that time, including its start, in seconds.
    pub server_cpu_s: f64,
    /// True if the server dropped connections at a limit.
    pub dropped_at_limit: bool,
    /// Load average of the machine at the end.
    pub load: f64,
}

/// Connects agents, kills the server, starts it again, and waits until all are associated again.
pub async fn measure(programs: &Programs, agents: usize) -> Result<ReconnectFigure> {
    let installation = Installation::new(programs.clone(), "")?;
    let server = installation.server().start().await?;
    let identities = Identities::issue(&installation.ca_dir(), "sim", agents, KeyKind::Ec)?;
    let config = FleetConfig {
        handshakes_at_once: agents,
        ..FleetConfig::new(&installation)
    };
    let started = Instant::now();
    let fleet = Fleet::start(config, &identities);
    fleet.all_connected().await;
    let first_connect_s = started.elapsed().as_secs_f64();
    server.kill().await?;
    fleet.all_disconnected().await;
    let server = installation.server().start().await?;
    let started = Instant::now();
    fleet.all_connected().await;
    let figure = ReconnectFigure {
        agents,
        first_connect_s,
        reconnect_s: started.elapsed().as_secs_f64(),
        server_cpu_s: machine::cpu_seconds(server.pid())?,
        dropped_at_limit: server.log_text().contains(DROPPED_AT_LIMIT),
        load: machine::load_average()?,
    };
    fleet.stop().await;
    server.stop().await?;
    Ok(figure)
}

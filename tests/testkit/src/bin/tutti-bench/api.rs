//! Small authenticated requests on kept connections over real HTTPS: the rate per second.
//!
//! Invariant: each connection has one request at a time, and the client takes next to no processor
//! time.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use testkit::client::{Client, tls_config};
use testkit::figures::Percentiles;
use testkit::https_connection::HttpsConnection;
use testkit::installation::Installation;
use testkit::machine;
use tokio::task::JoinSet;

use crate::measurement::figure;

const CONNECTIONS: usize = 32;

/// Requests with a checked permission, without one, and one that reads the store.
const ASKED: [(&str, &str); 3] = [
    ("a token", "/orchestrator/v1"),
    (
        "a token and a right",
        "/orchestrator/v1/inventory/unknown.example.com",
    ),
    (
        "a token, a right and a row of the store",
        "/orchestrator/v1/jobs/1/events",
    ),
];

/// The size of the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApiSize {
    /// Number of rounds of each request; the median counts.
    rounds: usize,
    /// Duration of a round.
    round: Duration,
}

// === impl ApiSize ===

impl ApiSize {
    pub(crate) const FULL: Self = Self {
        rounds: 5,
        round: Duration::from_secs(4),
    };
    pub(crate) const SMALLEST: Self = Self {
        rounds: 1,
        round: Duration::from_millis(100),
    };
}

pub(crate) async fn run(installation: &Installation, size: ApiSize) -> Result<()> {
    let metadata = json!({"input_method": "environment"});
    installation.add_task("noop", "init.sh", &metadata, "#!/bin/sh\n")?;
    let server = installation.server().start().await?;
    let client = Client::login(installation).await?;
    // A job on an absent node ends at once and leaves a row to read.
    let job = client.run_task("noop", &["absent.test"], json!({})).await?;
    client.wait(job).await?;
    for (what, path) in ASKED {
        let (mut rates, mut costs) = (Vec::new(), Vec::new());
        for _ in 0..size.rounds {
            let cpu = machine::cpu_seconds(server.pid())?;
            let started = Instant::now();
            let answered = storm(installation, client.token(), path, size.round).await?;
            let seconds = started.elapsed().as_secs_f64();
            let cpu = machine::cpu_seconds(server.pid())? - cpu;
            rates.push(f64::from(answered) / seconds);
            costs.push(cpu / f64::from(answered) * 1e6);
        }
        figure(
            "authenticated small GETs on kept connections",
            &json!({"with": what, "path": path, "connections": CONNECTIONS,
                    "per_s": Percentiles::of(rates)?, "server_cpu_us_each": Percentiles::of(costs)?}),
        );
    }
    server.stop().await?;
    Ok(())
}

/// Sends requests on all connections for the duration of a `round`; returns the number of answers
/// with status 200.
async fn storm(
    installation: &Installation,
    token: &str,
    path: &str,
    round: Duration,
) -> Result<u32> {
    let tls = Arc::new(tls_config(&installation.ca_dir().join("ca_crt.pem"))?);
    let port = installation.api_port();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nX-Authentication: {token}\r\n\r\n"
    );
    let request: Arc<str> = request.into();
    let end = Instant::now() + round;
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (tls, request) = (Arc::clone(&tls), Arc::clone(&request));
        connections.spawn(async move {
            let server = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let opening = HttpsConnection::open(server, Ipv4Addr::LOCALHOST.into(), tls);
            let mut connection = opening.await?;
            let mut answered = 0;
            while Instant::now() < end {
                connection.ask(request.as_bytes()).await?;
                answered += 1;
            }
            anyhow::Ok(answered)
        });
    }
    let mut answered = 0;
    while let Some(connection) = connections.join_next().await {
        answered += connection??;
    }
    Ok(answered)
}

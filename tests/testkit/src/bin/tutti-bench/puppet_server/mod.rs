//! Catalogs that agents request over real mutual TLS on kept connections, from Tutti and from a puppetserver: time
//! and rate.
//!
//! | module | purpose |
//! |---|---|
//! | `code` | the environments, which both servers read |
//! | `node` | the requests of a node |
//!
//! Invariant: each node has one request at a time, both servers get the same requests for the same code, and one of
//! a node's facts changes with each request, as the uptime does.

mod code;
mod node;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::Pid;
use serde_json::json;
use testkit::figures::Percentiles;
use testkit::installation::Installation;
use testkit::machine;
use testkit::peers::{Puppetserver, PuppetserverOptions, PuppetserverRelease};
use tokio::task::JoinSet;

use crate::figure;
use code::BenchEnvironment;
pub(crate) use code::PuppetRole;
use node::BenchNode;

/// Nodes that request catalogs at the same time.
const NODES: usize = 8;

/// The size of the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PuppetServerSize {
    /// Requests of one node alone, of which the times are taken.
    single: usize,
    /// The same for a puppetserver; `None` to measure none, because its start alone takes a minute.
    peer: Option<PeerSize>,
    /// Duration of the requests of all nodes.
    round: Duration,
}

#[derive(Clone, Copy, Debug)]
struct PeerSize {
    single: usize,
    /// Requests of each environment before, in which the JVM compiles the code that it runs.
    before: usize,
}

impl PuppetServerSize {
    pub(crate) const FULL: Self = Self {
        single: 300,
        peer: Some(PeerSize {
            single: 30,
            before: 30,
        }),
        round: Duration::from_secs(5),
    };
    pub(crate) const SMALLEST: Self = Self {
        single: 2,
        peer: None,
        round: Duration::from_millis(100),
    };
}

/// A server under measurement.
struct MeasuredServer {
    name: String,
    pid: Pid,
    port: u16,
}

/// Measures Tutti, and then a puppetserver of Debian 13 if it is unpacked.
pub(crate) async fn run(
    installation: &Installation,
    size: PuppetServerSize,
    role: Option<&PuppetRole>,
) -> Result<()> {
    let environments = code::write_environments(installation, role)?;
    let server = installation.server().start().await?;
    let tutti = MeasuredServer {
        name: "tutti".to_owned(),
        pid: server.pid(),
        port: installation.puppet_api_port(),
    };
    for environment in &environments {
        measure(
            &tutti,
            installation,
            environment,
            1,
            size.single,
            size.round,
        )
        .await?;
    }
    server.stop().await?;
    let Some(peer) = size.peer else {
        return Ok(());
    };
    match obstacle() {
        Some(obstacle) => figure("catalogs of puppetserver", &json!({"skipped": obstacle})),
        None => measure_peer(installation, &environments, peer, size.round).await?,
    }
    Ok(())
}

/// The reason for which no puppetserver is measured; `None` if one is.
fn obstacle() -> Option<String> {
    PuppetserverRelease::Debian13.obstacle().or_else(|| {
        let missing = !PuppetserverRelease::Debian13.is_unpacked();
        missing
            .then(|| "puppetserver 8.7 is not unpacked; `cargo xtask oracles` does it".to_owned())
    })
}

async fn measure_peer(
    installation: &Installation,
    environments: &[BenchEnvironment],
    size: PeerSize,
    round: Duration,
) -> Result<()> {
    let options = PuppetserverOptions {
        release: PuppetserverRelease::Debian13,
        is_tuned: true,
        ..PuppetserverOptions::default()
    };
    let mut puppetserver = Puppetserver::start(installation, &options).await?;
    let peer = MeasuredServer {
        name: format!("puppetserver {}", puppetserver.version().await?),
        pid: puppetserver.pid().context("puppetserver does not run")?,
        port: puppetserver.port(),
    };
    // It compiles every catalog anew, so the code that is compiled each time is measured.
    for environment in environments.iter().filter(|it| it.is_changing) {
        measure(
            &peer,
            installation,
            environment,
            size.before,
            size.single,
            round,
        )
        .await?;
    }
    puppetserver.stop().await
}

/// Measures one environment: requests of one node, and then of all at the same time.
async fn measure(
    server: &MeasuredServer,
    installation: &Installation,
    environment: &BenchEnvironment,
    before: usize,
    single: usize,
    round: Duration,
) -> Result<()> {
    let nodes = (0..NODES).map(|number| {
        let certname = format!("node{number}.test");
        BenchNode::new(installation, &certname, environment, server.port)
    });
    let nodes = nodes.collect::<Result<Vec<_>>>()?;
    let times = single_times(&nodes[0], before, single).await?;
    let cpu = machine::cpu_seconds(server.pid)?;
    let started = Instant::now();
    let answered = all_nodes(&nodes, round).await?;
    let seconds = started.elapsed().as_secs_f64();
    let cpu = machine::cpu_seconds(server.pid)? - cpu;
    figure(
        "catalogs over HTTPS",
        &json!({"server": server.name, "code": environment.description,
                "ms": Percentiles::of(times)?, "nodes": NODES,
                "per_s": f64::from(answered) / seconds,
                "server_cpu_ms_each": cpu / f64::from(answered) * 1e3,
                "server_rss_kib": machine::resident_kib(server.pid)?}),
    );
    Ok(())
}

/// Milliseconds of each request of one node, after some that are not counted.
async fn single_times(node: &BenchNode, before: usize, requests: usize) -> Result<Vec<f64>> {
    let mut connection = node.connect().await?;
    let mut request = node.request();
    let mut times = Vec::with_capacity(requests);
    for number in 0..before + requests {
        let since = Instant::now();
        connection.ask(request.with(number)).await?;
        if number >= before {
            times.push(since.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(times)
}

/// Lets all nodes request catalogs for the duration of a round; returns the number of catalogs.
async fn all_nodes(nodes: &[BenchNode], round: Duration) -> Result<u32> {
    let end = Instant::now() + round;
    let mut requesting = JoinSet::new();
    for node in nodes {
        let node = node.clone();
        requesting.spawn(async move {
            let mut connection = node.connect().await?;
            let mut request = node.request();
            let mut answered = 0_u32;
            while Instant::now() < end {
                connection.ask(request.with(answered as usize)).await?;
                answered += 1;
            }
            anyhow::Ok(answered)
        });
    }
    let mut answered = 0;
    while let Some(node) = requesting.join_next().await {
        answered += node??;
    }
    Ok(answered)
}

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
use testkit::https_connection::HttpsConnection;
use testkit::installation::Installation;
use testkit::machine;
use testkit::peers::{Puppetserver, PuppetserverOptions, PuppetserverRelease};
use tokio::task::JoinSet;

use crate::measurement::figure;
use code::BenchEnvironment;
pub(crate) use code::PuppetRole;
use node::{BenchNode, BenchRequest};

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

/// What the nodes request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Requested {
    Catalog,
    /// Whether the last catalog is current.
    Check,
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
    let sizes = (1, size.single, size.round);
    for environment in &environments {
        let nodes = nodes(installation, environment, &tutti)?;
        measure(&tutti, environment, &nodes, Requested::Catalog, sizes).await?;
        if !environment.is_changing {
            measure(&tutti, environment, &nodes, Requested::Check, sizes).await?;
        }
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
        let nodes = nodes(installation, environment, &peer)?;
        let sizes = (size.before, size.single, round);
        measure(&peer, environment, &nodes, Requested::Catalog, sizes).await?;
    }
    puppetserver.stop().await
}

fn nodes(
    installation: &Installation,
    environment: &BenchEnvironment,
    server: &MeasuredServer,
) -> Result<Vec<BenchNode>> {
    let nodes = (0..NODES).map(|number| {
        let certname = format!("node{number}.test");
        BenchNode::new(installation, &certname, environment, server.port)
    });
    nodes.collect()
}

/// Measures one environment: requests of one node, and then of all at the same time.
async fn measure(
    server: &MeasuredServer,
    environment: &BenchEnvironment,
    nodes: &[BenchNode],
    requested: Requested,
    (before, single, round): (usize, usize, Duration),
) -> Result<()> {
    let times = single_times(&nodes[0], requested, before, single).await?;
    let cpu = machine::cpu_seconds(server.pid)?;
    let started = Instant::now();
    let answered = all_nodes(nodes, requested, round).await?;
    let seconds = started.elapsed().as_secs_f64();
    let cpu = machine::cpu_seconds(server.pid)? - cpu;
    let name = match requested {
        Requested::Catalog => "catalogs over HTTPS",
        Requested::Check => "checks of catalogs over HTTPS",
    };
    figure(
        name,
        &json!({"server": server.name, "code": environment.description,
                "ms": Percentiles::of(times)?, "nodes": NODES,
                "per_s": f64::from(answered) / seconds,
                "server_cpu_ms_each": cpu / f64::from(answered) * 1e3,
                "server_rss_kib": machine::resident_kib(server.pid)?}),
    );
    Ok(())
}

/// The connection of a node, and what it requests.
async fn begin(node: &BenchNode, requested: Requested) -> Result<(HttpsConnection, BenchRequest)> {
    let mut connection = node.connect().await?;
    let request = match requested {
        Requested::Catalog => node.request(),
        Requested::Check => node.check_request(&mut connection).await?,
    };
    Ok((connection, request))
}

/// Milliseconds of each request of one node, after some that are not counted.
async fn single_times(
    node: &BenchNode,
    requested: Requested,
    before: usize,
    requests: usize,
) -> Result<Vec<f64>> {
    let (mut connection, mut request) = begin(node, requested).await?;
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

/// Lets all nodes send requests for the duration of a round; returns the number of responses.
async fn all_nodes(nodes: &[BenchNode], requested: Requested, round: Duration) -> Result<u32> {
    let end = Instant::now() + round;
    let mut requesting = JoinSet::new();
    for node in nodes {
        let node = node.clone();
        requesting.spawn(async move {
            let (mut connection, mut request) = begin(&node, requested).await?;
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

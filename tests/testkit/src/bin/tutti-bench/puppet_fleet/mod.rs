//! A fleet of nodes whose catalogs are kept: memory, the start of the server, and the load of unchanged runs.
//!
//! | module | purpose |
//! |---|---|
//! | `node` | the requests of a node's run |
//!
//! Invariant: each run has a connection of its own, as the runs of agents have, and begins at its time whether or not
//! others are late.

mod node;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Pid;
use serde_json::json;
use testkit::figures::Percentiles;
use testkit::installation::Installation;
use testkit::machine;
use tokio::task::JoinSet;

use crate::measurement::figure;
use node::{FleetNode, RunKind};

/// Interval between the runs of a node, as Puppet's `runinterval`.
const RUN_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// Nodes that get their first catalogs at the same time.
const FIRST_TOGETHER: usize = 16;

/// Runs that are under way at the same time; more means that the server is overloaded.
const RUNS_TOGETHER_MAX: usize = 1_000;

const MANIFEST: &str = "Integer[1, 500].each |$n| { file { \"/f${n}\": content => \"x${n}\" } }\n";

/// The size of the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PuppetFleetSize {
    nodes: usize,
    /// How much faster than in real time the nodes run.
    speed: u32,
}

impl PuppetFleetSize {
    pub(crate) const FULL: Self = Self {
        nodes: 10_000,
        speed: 60,
    };
    pub(crate) const SMALLEST: Self = Self {
        nodes: 3,
        speed: 1_800,
    };
}

pub(crate) async fn run(installation: &Installation, size: PuppetFleetSize) -> Result<()> {
    write_code(installation)?;
    let server = installation.server().start().await?;
    let nodes = (0..size.nodes).map(|number| FleetNode::new(installation, number));
    let nodes = nodes.collect::<Result<Vec<_>>>()?;
    let since = Instant::now();
    first_catalogs(&nodes).await?;
    let values = json!({"nodes": nodes.len(), "resources": 500, "seconds": since.elapsed().as_secs_f64(),
        "server_rss_kib": machine::resident_kib(server.pid())?});
    figure("first catalogs of a fleet", &values);
    server.stop().await?;

    let since = Instant::now();
    let server = installation.server().start().await?;
    let started = since.elapsed();
    nodes[0].run(RunKind::Puppet).await?;
    let first = since.elapsed();
    let values = json!({"nodes": nodes.len(), "start_s": started.as_secs_f64(),
        "first_run_s": first.as_secs_f64(), "server_rss_kib": machine::resident_kib(server.pid())?});
    figure("start of a server with kept catalogs", &values);

    for kind in [RunKind::Puppet, RunKind::Direct] {
        measure(&nodes, size, (server.pid(), kind)).await?;
    }
    server.stop().await?;
    Ok(())
}

/// Lets each node run once, spread over the interval at the speed of the measurement.
async fn measure(
    nodes: &[FleetNode],
    size: PuppetFleetSize,
    (server, kind): (Pid, RunKind),
) -> Result<()> {
    let cpu = machine::cpu_seconds(server)?;
    let started = Instant::now();
    let pause = RUN_INTERVAL / size.speed / u32::try_from(nodes.len())?;
    let mut running = JoinSet::new();
    let mut times = Vec::with_capacity(nodes.len());
    let mut clock = tokio::time::interval(pause);
    for node in nodes {
        clock.tick().await;
        let node = node.clone();
        let due = Instant::now();
        running.spawn(async move {
            node.run(kind).await?;
            anyhow::Ok(due.elapsed().as_secs_f64() * 1e3)
        });
        while let Some(ended) = running.try_join_next() {
            times.push(ended??);
        }
        ensure!(
            running.len() < RUNS_TOGETHER_MAX,
            "the server is overloaded"
        );
    }
    while let Some(ended) = running.join_next().await {
        times.push(ended??);
    }
    let seconds = started.elapsed().as_secs_f64();
    let cpu = machine::cpu_seconds(server)? - cpu;
    let values = json!({"nodes": nodes.len(), "speed": size.speed, "seconds": seconds,
        "run_ms": Percentiles::of(times)?, "server_cpu_ms_each": cpu / nodes.len() as f64 * 1e3,
        "server_part_of_a_core": cpu / seconds, "server_rss_kib": machine::resident_kib(server)?});
    figure(kind.description(), &values);
    Ok(())
}

/// Lets all nodes get their first catalogs.
async fn first_catalogs(nodes: &[FleetNode]) -> Result<()> {
    let waiting: VecDeque<FleetNode> = nodes.iter().cloned().collect();
    let waiting = Arc::new(Mutex::new(waiting));
    let mut getting = JoinSet::new();
    for _ in 0..FIRST_TOGETHER {
        let waiting = Arc::clone(&waiting);
        getting.spawn(async move {
            let next = || {
                let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.pop_front()
            };
            while let Some(node) = next() {
                node.first_catalog().await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = getting.join_next().await {
        ended??;
    }
    Ok(())
}

/// A version of `production`, with a plugin.
fn write_code(installation: &Installation) -> Result<()> {
    let code = installation.code_dir();
    let name = format!("production_{}", "0".repeat(40));
    let version = code.join("versions").join(&name);
    for (path, text) in [
        ("manifests/site.pp", MANIFEST),
        ("modules/demo/lib/facter/demo.rb", "Facter.add(:demo) {}\n"),
    ] {
        let path = version.join(path);
        std::fs::create_dir_all(path.parent().context("a file has a directory")?)?;
        std::fs::write(path, text)?;
    }
    let live = code.join("environments/production");
    if live.exists() {
        std::fs::remove_dir_all(&live)?;
    }
    std::os::unix::fs::symlink(version, live)?;
    Ok(())
}

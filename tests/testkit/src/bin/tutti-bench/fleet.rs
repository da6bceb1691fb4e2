//! Thousands of agents: memory of idle connections, a reconnect storm, one task to all of them.

use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::json;
use testkit::client::Client;
use testkit::figures::Percentiles;
use testkit::fleet::{Fleet, FleetConfig, Identities, KeyKind};
use testkit::installation::Installation;
use testkit::machine;

use crate::measurement::figure;

/// Number of task runs over the whole fleet; the median counts.
const ROUNDS: usize = 5;

pub(crate) async fn run(installation: &Installation, agents: usize) -> Result<()> {
    let metadata = json!({"input_method": "environment"});
    installation.add_task("noop", "init.sh", &metadata, "#!/bin/sh\n")?;
    let identities = Identities::issue(&installation.ca_dir(), "sim", agents, KeyKind::Rsa4096)?;
    let server = installation.server().start().await?;
    let client = Client::login(installation).await?;
    let empty_kib = machine::resident_kib(server.pid())?;
    let empty_cpu = machine::cpu_seconds(server.pid())?;

    let started = Instant::now();
    let fleet = Fleet::start(FleetConfig::new(installation), &identities);
    fleet.all_connected().await;
    let seconds = started.elapsed().as_secs_f64();
    client.connected(agents).await?;
    let cpu = machine::cpu_seconds(server.pid())? - empty_cpu;
    let idle_kib = machine::resident_kib(server.pid())?;
    let each = (idle_kib.saturating_sub(empty_kib)) as f64 / agents as f64;
    figure(
        "connection storm, full handshakes, RSA-4096 clients, EC server",
        &json!({"agents": agents, "seconds": seconds, "server_cpu_s": cpu}),
    );
    figure(
        "idle agents, resident memory of the server",
        &json!({"agents": agents, "empty_kib": empty_kib, "idle_kib": idle_kib, "kib_each": each}),
    );

    let names: Vec<_> = fleet.certnames().iter().map(ToString::to_string).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let (mut walls, mut nodes) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let job = client.run_task("noop", &names, json!({})).await?;
        let ended = client.wait(job).await?;
        walls.push(started.elapsed().as_secs_f64());
        anyhow::ensure!(ended["state"] == "finished", "job {job}: {ended}");
        nodes.extend(durations(&client, job).await?);
    }
    let after_kib = machine::resident_kib(server.pid())?;
    figure(
        "no-op task to all agents, call to last durable result, s",
        &json!({"agents": agents, "wall_s": Percentiles::of(walls)?, "node_s": Percentiles::of(nodes)?,
                "fsync_per_s": machine::fsync_per_second()?, "server_kib_after": after_kib}),
    );
    anyhow::ensure!(fleet.ledger().repeated().is_empty(), "something ran twice");
    fleet.stop().await;
    server.stop().await?;
    Ok(())
}

/// The duration of each node's run, from its start to its result.
async fn durations(client: &Client, job: u64) -> Result<Vec<f64>> {
    let nodes = client.nodes(job).await?;
    let durations: Option<Vec<_>> = nodes.iter().map(|node| node["duration"].as_f64()).collect();
    durations.context("a node without a duration")
}

//! One simulated agent, idle: the duration of a task and of a ping through the whole system.

use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::json;
use testkit::client::Client;
use testkit::figures::Percentiles;
use testkit::fleet::{Fleet, FleetConfig, Identities, KeyKind};
use testkit::installation::Installation;
use testkit::machine;

use crate::measurement::figure;

/// Number of requests before the measurement.
const WARM_UP: usize = 20;

pub(crate) async fn run(installation: &Installation, rounds: usize) -> Result<()> {
    let metadata = json!({"input_method": "environment"});
    installation.add_task("noop", "init.sh", &metadata, "#!/bin/sh\n")?;
    let server = installation.server().start().await?;
    let identities = Identities::issue(&installation.ca_dir(), "sim", 1, KeyKind::Rsa4096)?;
    let fleet = Fleet::start(FleetConfig::new(installation), &identities);
    fleet.all_connected().await;
    let client = Client::login(installation).await?;
    client.connected(1).await?;
    let mut tasks = Vec::new();
    let mut pings = Vec::new();
    for round in 0..WARM_UP + rounds {
        let task = task_ms(&client).await?;
        let ping = ping_ms(&client).await?;
        if round >= WARM_UP {
            tasks.push(task);
            pings.push(ping);
        }
    }
    let fsync = machine::fsync_per_second()?;
    let task = Percentiles::of(tasks)?;
    figure(
        "task on one idle agent, API call to result event, ms",
        &json!({"ms": task, "fsync_per_s": fsync}),
    );
    figure(
        "blocking ping through the broker, ms",
        &json!({"ms": Percentiles::of(pings)?}),
    );
    fleet.stop().await;
    server.stop().await?;
    Ok(())
}

/// The time from the request to the event with the result on the event stream, in milliseconds.
async fn task_ms(client: &Client) -> Result<f64> {
    let started = Instant::now();
    let job = client.run_task("noop", &["sim-00000"], json!({})).await?;
    client.stream_until(job, "node_finished").await?;
    Ok(started.elapsed().as_secs_f64() * 1_000.0)
}

/// The time from the request to the agent's answer as measured by the server, in milliseconds.
async fn ping_ms(client: &Client) -> Result<f64> {
    let reply = client
        .post(
            "/orchestrator/v1/command/ping",
            &json!({"nodes": ["sim-00000"]}),
        )
        .await?;
    reply["items"][0]["duration_ms"]
        .as_f64()
        .context("no answer to a ping")
}

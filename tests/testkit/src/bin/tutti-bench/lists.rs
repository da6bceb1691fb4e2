//! Pages of lists while a million results are stored, over real HTTPS, one request after another.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use testkit::client::Client;
use testkit::figures::Percentiles;
use testkit::installation::Installation;
use testkit::machine;

use crate::{beside, figure};

/// Before anything is counted.
const WARM_UP: usize = 5;

/// Jobs and their nodes: a few wide ones first, then many narrow ones. Together 10^6 results.
const FILLED: [[u32; 2]; 2] = [[45, 20_000], [20_000, 5]];

/// What is asked; job 1 is a wide one.
const PAGES: [(&str, &str); 9] = [
    ("jobs, wide ones", "jobs?limit=50&order=asc"),
    ("jobs, the last ones", "jobs?limit=50&order=desc"),
    (
        "jobs, by state, far",
        "jobs?limit=50&offset=15000&order_by=state",
    ),
    (
        "jobs, by end",
        "jobs?limit=50&min_finish_timestamp=2026-01-02T00:00:00Z",
    ),
    ("nodes", "jobs/1/nodes?limit=50"),
    ("nodes, far", "jobs/1/nodes?limit=50&offset=19000"),
    (
        "nodes, by duration",
        "jobs/1/nodes?limit=50&order_by=duration&order=desc",
    ),
    ("nodes, failed ones", "jobs/1/nodes?limit=50&state=failed"),
    (
        "nodes, by state, far",
        "jobs/1/nodes?limit=50&offset=10000&order_by=state",
    ),
];

/// On SQLite, or on the PostgreSQL that the installation is configured with.
pub(crate) async fn run(
    installation: &Installation,
    database: Option<&str>,
    rounds: usize,
) -> Result<()> {
    let first = installation.server().start().await?;
    first.stop().await?;
    let sqlite = format!(
        "sqlite:{}",
        installation.data_dir().join("tutti.db").display()
    );
    let mut filling = Command::new(beside("examples/filled")?);
    filling.arg(database.unwrap_or(&sqlite));
    filling.args(FILLED.iter().flatten().map(u32::to_string));
    anyhow::ensure!(filling.status()?.success(), "the store was not filled");
    let server = installation.server().start().await?;
    let client = Client::login(installation).await?;
    let engine = database.map_or("SQLite", |_| "PostgreSQL");
    for (what, page) in PAGES {
        let path = format!("/orchestrator/v1/{page}");
        let ms = timed(&client, &path, rounds).await?;
        figure(
            "a page of 50 with 10^6 results stored, ms",
            &json!({"engine": engine, "page": what, "ms": Percentiles::of(ms)?}),
        );
    }
    let server_kib = machine::resident_kib(server.pid())?;
    figure(
        "after them, resident KiB of the server",
        &json!({"kib": server_kib}),
    );
    server.stop().await?;
    Ok(())
}

async fn timed(client: &Client, path: &str, rounds: usize) -> Result<Vec<f64>> {
    let mut ms = Vec::with_capacity(rounds);
    for round in 0..WARM_UP + rounds {
        let started = Instant::now();
        let answer = client.get(path).await?;
        let took = started.elapsed().as_secs_f64() * 1_000.0;
        let items = answer["items"].as_array().map(Vec::len);
        let items =
            items.with_context(|| format!("{path}: {}", Value::from(answer.to_string())))?;
        anyhow::ensure!(items == 50, "{path}: {items} items");
        if round >= WARM_UP {
            ms.push(took);
        }
    }
    Ok(ms)
}

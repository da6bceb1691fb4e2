//! Pages of lists while a million results are stored, over real HTTPS, one request after another.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use testkit::client::Client;
use testkit::figures::Percentiles;
use testkit::installation::Installation;
use testkit::machine;

use crate::measurement::{beside, figure};

/// Number of requests before the measurement.
const WARM_UP: usize = 5;

/// Number of jobs and of the nodes of each: a few wide jobs first, then many narrow ones.
pub(crate) type Filled = [[u32; 2]; 2];

/// Together 10^6 results.
pub(crate) const FILLED: Filled = [[45, 20_000], [20_000, 5]];

/// The smallest number of rows that fill every requested page.
pub(crate) const FILLED_SMALLEST: Filled = [[1, 1_200], [240, 1]];

/// Names and paths of the pages; job 1 is a wide one. A far page begins at three quarters of the
/// jobs, at nineteen twentieths of the nodes, or, by state, at half of them.
fn pages([[_, nodes], [jobs, _]]: Filled) -> [(&'static str, String); 9] {
    let of_jobs = |query: &str| format!("jobs?limit=50&{query}");
    let of_nodes = |query: &str| format!("jobs/1/nodes?limit=50&{query}");
    let (far_job, far_node, middle_node) = (jobs / 4 * 3, nodes / 20 * 19, nodes / 2);
    [
        ("jobs, wide ones", of_jobs("order=asc")),
        ("jobs, the last ones", of_jobs("order=desc")),
        (
            "jobs, by state, far",
            of_jobs(&format!("offset={far_job}&order_by=state")),
        ),
        (
            "jobs, by end",
            of_jobs("min_finish_timestamp=2026-01-02T00:00:00Z"),
        ),
        ("nodes", of_nodes("offset=0")),
        ("nodes, far", of_nodes(&format!("offset={far_node}"))),
        (
            "nodes, by duration",
            of_nodes("order_by=duration&order=desc"),
        ),
        ("nodes, failed ones", of_nodes("state=failed")),
        (
            "nodes, by state, far",
            of_nodes(&format!("offset={middle_node}&order_by=state")),
        ),
    ]
}

/// Measures on SQLite, or on the PostgreSQL of the installation's configuration.
pub(crate) async fn run(
    installation: &Installation,
    database: Option<&str>,
    filled: Filled,
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
    filling.args(filled.iter().flatten().map(u32::to_string));
    anyhow::ensure!(filling.status()?.success(), "the store was not filled");
    let server = installation.server().start().await?;
    let client = Client::login(installation).await?;
    let results: u32 = filled.iter().map(|[jobs, nodes]| jobs * nodes).sum();
    let engine = database.map_or("SQLite", |_| "PostgreSQL");
    for (what, page) in pages(filled) {
        let path = format!("/orchestrator/v1/{page}");
        let ms = timed(&client, &path, rounds).await?;
        figure(
            "a page of 50, ms",
            &json!({"engine": engine, "results_stored": results, "page": what, "ms": Percentiles::of(ms)?}),
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

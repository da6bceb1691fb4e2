//! Speed and memory of the real programs under simulated agents; one JSON object per figure.
//!
//! Started by `cargo xtask bench`, which builds the release programs first. The rule: server and
//! simulator are two processes, so that neither's memory is counted as the other's, and every durable
//! figure stands beside the disk's own rate.
#![expect(clippy::print_stdout, reason = "the figures are the output")]

mod agent;
mod api;
mod fleet;
mod lists;
mod machine;
mod one_node;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Parser;
use serde_json::{Value, json};
use testkit::installation::{Installation, Programs};
use testkit::postgres::Postgres;

/// Which figures, and how large.
#[derive(Debug, Parser)]
struct Options {
    /// Names of figures; all without any: fleet, one-node, agent, api, lists; and lists-postgres
    names: Vec<String>,
    /// Simulated agents
    #[arg(long, default_value_t = 10_000)]
    agents: usize,
    /// The agent as packages ship it, for its memory
    #[arg(long, value_name = "FILE")]
    packaged_agent: Option<PathBuf>,
    /// Repetitions of the small figures
    #[arg(long, default_value_t = 300)]
    rounds: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let wanted = |name: &str| options.names.is_empty() || options.names.iter().any(|n| n == name);
    let programs = Programs::beside(beside("tutti")?)?;
    figure("machine", &machine::describe()?);
    if wanted("one-node") {
        one_node::run(&Installation::new(programs.clone(), "")?, options.rounds).await?;
    }
    if wanted("agent") {
        let mut programs = programs.clone();
        if let Some(packaged) = &options.packaged_agent {
            programs.agent.clone_from(packaged);
        }
        agent::run(&Installation::new(programs, "")?).await?;
    }
    if wanted("api") {
        api::run(&Installation::new(programs.clone(), "")?).await?;
    }
    if wanted("lists") {
        let installation = Installation::new(programs.clone(), "")?;
        lists::run(&installation, None, options.rounds).await?;
    }
    if options.names.iter().any(|name| name == "lists-postgres") {
        let postgres = Postgres::start()?;
        let database = postgres.create_database()?;
        let installation = Installation::new(programs.clone(), "")?;
        installation.configure(&format!("\n[store]\nurl = {database:?}\n"))?;
        lists::run(&installation, Some(&database), options.rounds).await?;
        postgres.stop()?;
    }
    if wanted("fleet") {
        fleet::run(&Installation::new(programs, "")?, options.agents).await?;
    }
    Ok(())
}

/// Prints one figure.
fn figure(name: &str, values: &Value) {
    println!("{}", json!({"figure": name, "values": values}));
}

/// A program that Cargo put beside this one.
fn beside(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    anyhow::ensure!(path.exists(), "{} is not built", path.display());
    Ok(path)
}

/// `values` sorted, as percentiles.
fn percentiles(mut values: Vec<f64>) -> Result<Value> {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (share * (values.len().saturating_sub(1)) as f64).round() as usize;
        values.get(index).copied().context("nothing was measured")
    };
    Ok(json!({"min": at(0.0)?, "p50": at(0.5)?, "p99": at(0.99)?, "max": at(1.0)?}))
}

//! Speed and memory of the real programs under simulated agents; one JSON object per figure.
//!
//! Started by `cargo xtask bench`, which builds the release programs first.
//!
//! Invariant: server and simulator are two processes, so that the memory of one is never counted
//! for the other, and every figure of durable writes is accompanied by the disk's own rate.
#![expect(clippy::print_stdout, reason = "the figures are the output")]

mod agent;
mod api;
mod direct_puppet;
mod fairness;
mod fleet;
mod lists;
mod measurement;
mod one_node;
mod puppet_fleet;
mod puppet_server;
mod release_traffic;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use testkit::fairness::FairnessSize;
use testkit::installation::{Installation, Programs};
use testkit::machine;
use testkit::postgres::Postgres;

use crate::api::ApiSize;
use crate::direct_puppet::DirectPuppetSize;
use crate::measurement::{beside, figure};
use crate::puppet_fleet::PuppetFleetSize;
use crate::puppet_server::{PuppetRole, PuppetServerSize};
use crate::release_traffic::ReleaseTrafficSize;

/// The figures to measure and their size.
#[derive(Debug, Parser)]
struct Options {
    /// Names of figures; if none is named: fleet, one-node, agent, api, puppet-server, puppet-fleet, direct-puppet, lists; and
    /// lists-postgres, release-traffic and fairness only by name
    names: Vec<String>,
    /// Simulated agents: 10,000 in `fleet`, 2,000 in `fairness`
    #[arg(long)]
    agents: Option<usize>,
    /// The agent as packages ship it, whose memory is measured
    #[arg(long, value_name = "FILE")]
    packaged_agent: Option<PathBuf>,
    /// Measure at the smallest size, to test that everything works
    #[arg(long)]
    smallest: bool,
    /// Directory with the manifests of a role and the modules that it needs, for `puppet-server`
    #[arg(long, value_name = "DIR", requires = "role_facts")]
    role: Option<PathBuf>,
    /// Facts of the role's nodes, as a JSON object
    #[arg(long, value_name = "FILE", requires = "role")]
    role_facts: Option<PathBuf>,
    /// The attacks of `fairness` to measure: those with this text in their names
    #[arg(long, value_name = "TEXT")]
    attack: Option<String>,
    /// Repetitions of the small figures: 300
    #[arg(long)]
    rounds: Option<usize>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let wanted = |name: &str| options.names.is_empty() || options.names.iter().any(|n| n == name);
    let programs = Programs::beside(beside("tutti")?)?;
    let or_smallest = |full: usize, smallest| if options.smallest { smallest } else { full };
    let rounds = options.rounds.unwrap_or(or_smallest(300, 2));
    figure("machine", &machine::describe()?);
    if wanted("one-node") {
        one_node::run(&Installation::new(programs.clone(), "")?, rounds).await?;
    }
    if wanted("agent") {
        let mut programs = programs.clone();
        if let Some(packaged) = &options.packaged_agent {
            programs.agent.clone_from(packaged);
        }
        agent::run(&Installation::new(programs, "")?).await?;
    }
    if wanted("api") {
        let size = match options.smallest {
            true => ApiSize::SMALLEST,
            false => ApiSize::FULL,
        };
        api::run(&Installation::new(programs.clone(), "")?, size).await?;
    }
    if wanted("puppet-server") {
        let size = match options.smallest {
            true => PuppetServerSize::SMALLEST,
            false => PuppetServerSize::FULL,
        };
        let role = PuppetRole::read(options.role, options.role_facts)?;
        let installation = Installation::new(programs.clone(), "")?;
        puppet_server::run(&installation, size, role.as_ref()).await?;
    }
    if wanted("puppet-fleet") {
        let size = match options.smallest {
            true => PuppetFleetSize::SMALLEST,
            false => PuppetFleetSize::FULL,
        };
        puppet_fleet::run(&Installation::new(programs.clone(), "")?, size).await?;
    }
    if options.names.iter().any(|name| name == "release-traffic") {
        let size = match options.smallest {
            true => ReleaseTrafficSize::SMALLEST,
            false => ReleaseTrafficSize::FULL,
        };
        release_traffic::run(&Installation::new(programs.clone(), "")?, size).await?;
    }
    if wanted("direct-puppet") {
        let size = match options.smallest {
            true => DirectPuppetSize::SMALLEST,
            false => DirectPuppetSize::FULL,
        };
        direct_puppet::run(&Installation::new(programs.clone(), "")?, size).await?;
    }
    let filled = match options.smallest {
        true => lists::FILLED_SMALLEST,
        false => lists::FILLED,
    };
    if wanted("lists") {
        let installation = Installation::new(programs.clone(), "")?;
        lists::run(&installation, None, filled, rounds).await?;
    }
    if options.names.iter().any(|name| name == "lists-postgres") {
        let postgres = Postgres::start()?;
        let database = postgres.create_database()?;
        let installation = Installation::new(programs.clone(), "")?;
        installation.configure(&format!("\n[store]\nurl = {database:?}\n"))?;
        lists::run(&installation, Some(&database), filled, rounds).await?;
        postgres.stop()?;
    }
    if options.names.iter().any(|name| name == "fairness") {
        let size = match options.smallest {
            true => FairnessSize::smallest(),
            false => FairnessSize::full(options.agents.unwrap_or(2_000)),
        };
        fairness::run(&programs, &size, options.attack.as_deref()).await?;
    }
    if wanted("fleet") {
        let agents = options.agents.unwrap_or(or_smallest(10_000, 20));
        fleet::run(&Installation::new(programs, "")?, agents).await?;
    }
    Ok(())
}

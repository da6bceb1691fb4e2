//! `cargo xtask bench`: speed and memory, never in a timed test. Main function: [`run`].

use anyhow::Result;
use cargo_metadata::MetadataCommand;

use crate::{packages, run};

/// Which figures.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// one-node, agent, fleet, api, lists, broker, store, scope, audit, syntax, language, plans or code; all
    /// without any.
    /// Besides, fairness (15 minutes), lists-postgres, where PostgreSQL is installed, and puppet-run,
    /// where the real Puppet peers are
    names: Vec<String>,
    /// Simulated agents in the large figures: 10,000, in those of fairness 2,000
    #[arg(long)]
    agents: Option<u32>,
}

/// Figures of the whole, measured by the testkit's bench program with the real programs.
const WHOLE: [&str; 5] = ["one-node", "agent", "fleet", "api", "lists"];

/// What is measured only where it is asked for by name.
const ON_DEMAND: [&str; 2] = ["fairness", "lists-postgres"];

/// Agents whose connections the broker holds alone, unless told otherwise.
const AGENTS: u32 = 10_000;

/// A Puppet run on demand beside a bare `puppet agent`, against a real puppetserver.
const PUPPET_RUN: &str = "puppet-run";

/// Nodes of an embedded inventory, and whether they have few facts or many.
const INVENTORIES: [[&str; 2]; 3] = [["10000", "small"], ["25000", "small"], ["10000", "large"]];

/// Builds the release programs and measures what was asked for.
pub(crate) fn run(options: &Options) -> Result<()> {
    let wanted = |name: &str| options.names.is_empty() || options.names.iter().any(|n| n == name);
    let build = ["build", "--release", "--locked", "--bins", "--examples"];
    let packages = [
        "tutti",
        "tutti-agent",
        "testkit",
        "broker",
        "store",
        "jobs",
        "audit",
        "syntax",
        "evaluator",
        "plans",
        "plan-language",
        "code-manager",
    ];
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    run::visible(run::cargo(&build).args(packages))?;
    let agents = options.agents.unwrap_or(AGENTS).to_string();
    let mut whole: Vec<_> = WHOLE.into_iter().filter(|name| wanted(name)).collect();
    whole.extend(
        options
            .names
            .iter()
            .map(String::as_str)
            .filter(|name| ON_DEMAND.contains(name)),
    );
    if !whole.is_empty() {
        let mut bench = measure();
        bench.args(["--package", "testkit", "--bin", "tutti-bench", "--"]);
        if options.agents.is_some() {
            bench.args(["--agents", &agents]);
        }
        if wanted("agent") {
            bench.arg("--packaged-agent").arg(packaged_agent()?);
        }
        run::visible(bench.args(whole))?;
    }
    if wanted("broker") {
        example("broker", "idle_memory", &[&agents])?;
    }
    if wanted("store") {
        example("store", "results_rate", &["target"])?;
    }
    if wanted("scope") {
        for inventory in &INVENTORIES {
            example("jobs", "scope", inventory)?;
        }
    }
    if wanted("audit") {
        example("audit", "intent_cost", &["target"])?;
    }
    if wanted("syntax") {
        packages::ensure(packages::MODULES)?;
        example("syntax", "parse_speed", &[packages::MODULES_DIRECTORY])?;
        example("syntax", "parse_shapes", &[])?;
    }
    if wanted("plans") {
        example("plans", "plan_steps", &["target"])?;
        example("plan-language", "plan_speed", &[])?;
    }
    if wanted("language") {
        example("evaluator", "iterate", &[])?;
    }
    if wanted("code") {
        packages::ensure(packages::MODULES)?;
        packages::ensure(packages::DEPLOYERS)?;
        let tutti = release_program("tutti")?;
        example(
            "code-manager",
            "deploy_speed",
            &[&tutti, packages::MODULES_DIRECTORY],
        )?;
    }
    if options.names.iter().any(|name| name == PUPPET_RUN) {
        packages::ensure(packages::FOR_FULL_TESTS)?;
        let program = [
            "--package",
            "conformance",
            "--test",
            "puppet",
            "--",
            "overhead",
        ];
        run::visible(run::cargo(&["test", "--release", "--locked"]).args(program))?;
    }
    Ok(())
}

/// A program that was built for release.
fn release_program(name: &str) -> Result<String> {
    let metadata = MetadataCommand::new()
        .current_dir(run::root())
        .no_deps()
        .exec()?;
    Ok(metadata.target_directory.join("release").join(name).into())
}

/// The agent as packages ship it: most of its memory is its own code.
fn packaged_agent() -> Result<std::path::PathBuf> {
    let build = [
        "build",
        "--profile",
        "dist-agent",
        "--locked",
        "--package",
        "tutti-agent",
    ];
    run::visible(&mut run::cargo(&build))?;
    let metadata = MetadataCommand::new()
        .current_dir(run::root())
        .no_deps()
        .exec()?;
    Ok(metadata
        .target_directory
        .join("dist-agent/tutti-agent")
        .into())
}

/// Measures what needs no server.
fn example(package: &str, name: &str, arguments: &[&str]) -> Result<()> {
    let program = ["--package", package, "--example", name, "--"];
    run::visible(measure().args(program).args(arguments))
}

fn measure() -> std::process::Command {
    run::cargo(&["run", "--release", "--quiet", "--locked"])
}

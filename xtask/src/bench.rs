//! `cargo xtask bench`: speed and memory, never in a timed test. Main function: [`run`].

use anyhow::Result;
use cargo_metadata::MetadataCommand;

use crate::run;

/// Which figures.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// one-node, agent, fleet, broker or store; all without any
    names: Vec<String>,
    /// Simulated agents in the large figures
    #[arg(long, default_value_t = 10_000)]
    agents: u32,
}

/// Figures of the whole, measured by the testkit's bench program with the real programs.
const WHOLE: [&str; 3] = ["one-node", "agent", "fleet"];

/// Builds the release programs and measures what was asked for.
pub(crate) fn run(options: &Options) -> Result<()> {
    let wanted = |name: &str| options.names.is_empty() || options.names.iter().any(|n| n == name);
    let build = ["build", "--release", "--locked", "--bins", "--examples"];
    let packages = ["tutti", "tutti-agent", "testkit", "broker", "store"];
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    run::visible(run::cargo(&build).args(packages))?;
    let agents = options.agents.to_string();
    let whole: Vec<_> = WHOLE.into_iter().filter(|name| wanted(name)).collect();
    if !whole.is_empty() {
        let program = [
            "--package",
            "testkit",
            "--bin",
            "tutti-bench",
            "--",
            "--agents",
            &agents,
        ];
        let mut bench = measure();
        bench.args(program);
        if wanted("agent") {
            bench.arg("--packaged-agent").arg(packaged_agent()?);
        }
        run::visible(bench.args(whole))?;
    }
    if wanted("broker") {
        let program = [
            "--package",
            "broker",
            "--example",
            "idle_memory",
            "--",
            &agents,
        ];
        run::visible(measure().args(program))?;
    }
    if wanted("store") {
        let program = [
            "--package",
            "store",
            "--example",
            "results_rate",
            "--",
            "target",
        ];
        run::visible(measure().args(program))?;
    }
    Ok(())
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

fn measure() -> std::process::Command {
    run::cargo(&["run", "--release", "--quiet", "--locked"])
}

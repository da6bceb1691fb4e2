//! `cargo xtask soak`: the kill tests of `bin/tutti`, of plans and of deployments, readers and
//! plans during deployments, and power cuts, in large numbers. Main function: [`run`].

use anyhow::Result;

use crate::run;

/// Number of nodes under the plans that are killed.
const PLANS_NODES: &str = "8";

/// Number of deployments beside a reader, and of plans beside deployments.
const DEPLOYS: &str = "1000";

/// The packages with workloads whose power is cut: the spool of the agent, the database of the
/// server (SQLite and PostgreSQL), the code store.
const POWER_CUT_PACKAGES: &[&str] = &["actions", "audit", "code-deployments"];

/// Options of `cargo xtask soak`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Number of times that a process is killed
    #[arg(long, default_value_t = 5_000)]
    kills: u32,
    /// Power cuts of each workload's disk
    #[arg(long, default_value_t = 1_000)]
    power_cuts: u32,
    /// The seed of the kill times; a failing run prints its seed
    #[arg(long)]
    seed: Option<u64>,
}

/// Runs the tests of the suite with more kills and power cuts.
pub(crate) fn run(options: &Options) -> Result<()> {
    run::visible(&mut run::cargo(&[
        "build",
        "--workspace",
        "--bins",
        "--locked",
    ]))?;
    let mut test = run::cargo(&[
        "test",
        "--package",
        "tutti",
        "--test",
        "it",
        "--",
        "kill",
        "--nocapture",
    ]);
    test.env("TUTTI_KILLS", options.kills.to_string());
    test.env("TUTTI_PLANS_KILLS", options.kills.to_string());
    test.env("TUTTI_PLANS_NODES", PLANS_NODES);
    if let Some(seed) = options.seed {
        test.env("TUTTI_SEED", seed.to_string());
    }
    run::visible(&mut test)?;
    let plans = ["test", "--package", "plans", "--test", "it", "--", "kill"];
    let mut test = run::cargo(&plans);
    test.env("TUTTI_PLANS_KILLS", options.kills.to_string());
    run::visible(&mut test)?;
    let deploys = [
        "test",
        "-p",
        "code-deployments",
        "--test",
        "it",
        "--",
        "kill",
    ];
    let mut test = run::cargo(&deploys);
    test.env("TUTTI_CODE_KILLS", options.kills.to_string());
    run::visible(&mut test)?;
    let readers = ["test", "-p", "code-deployments", "--test", "it", "readers"];
    run::visible(run::cargo(&readers).env("TUTTI_CODE_DEPLOYS", DEPLOYS))?;
    let beside = ["test", "-p", "tutti", "--test", "it", "plans_beside_a_loop"];
    run::visible(run::cargo(&beside).env("TUTTI_CODE_PLANS", DEPLOYS))?;
    for package in POWER_CUT_PACKAGES {
        let mut test = run::cargo(&["test", "-p", package, "--", "power_cut"]);
        test.arg("--nocapture");
        test.env("TUTTI_POWER_CUTS", options.power_cuts.to_string());
        if let Some(seed) = options.seed {
            test.env("TUTTI_SEED", seed.to_string());
        }
        run::visible(&mut test)?;
    }
    Ok(())
}

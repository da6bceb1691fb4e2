//! `cargo xtask bench`: speed and memory, never in a timed test. Main function: [`run`].

use anyhow::Result;

use crate::run;

/// Which figures.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Names of figures; all without any
    names: Vec<String>,
    /// Simulated agents in the large figures
    #[arg(long, default_value_t = 10_000)]
    agents: u32,
}

/// Builds the release programs and hands over to the bench program of the testkit.
pub(crate) fn run(options: &Options) -> Result<()> {
    run::visible(&mut run::cargo(&[
        "build",
        "--release",
        "--workspace",
        "--bins",
        "--locked",
    ]))?;
    let agents = options.agents.to_string();
    let mut bench = run::cargo(&["run", "--release", "--quiet", "--package", "testkit"]);
    bench
        .args(["--bin", "tutti-bench", "--", "--agents", &agents])
        .args(&options.names);
    run::visible(&mut bench)
}

//! `cargo xtask test`: the whole suite. Main function: [`run`].

use std::time::Instant;

use anyhow::Result;

use crate::{bench, deny, layers, packages, puppet8, run, words};

/// Power cuts for each of the four workloads of `--full`: 104 in all. A cut under SQLite, the code store or the spool
/// costs about a second, one under PostgreSQL about nine on a busy machine (its recovery and its start), so all together
/// take some six minutes.
const POWER_CUTS: &str = "26";

/// How much of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only the tests; skip format, lints and documentation
    #[arg(long)]
    tests_only: bool,
    /// Also the tests against the real puppetserver, PuppetDB and puppet-agent
    #[arg(long)]
    full: bool,
}

/// Runs everything, stopping at the first failure.
pub(crate) fn run(options: &Options) -> Result<()> {
    let started = Instant::now();
    packages::ensure(packages::FOR_TESTS)?;
    if options.full {
        packages::ensure(packages::FOR_FULL_TESTS)?;
        oracles()?;
    }
    if !options.tests_only {
        run::visible(&mut run::cargo(&["fmt", "--all", "--check"]))?;
        layers::run()?;
        words::run(&words::Options::default())?;
        deny::run()?;
        let clippy = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ];
        run::visible(&mut run::cargo(&clippy))?;
    }
    // The tests of bin/tutti start the other program too, so it must be there.
    run::visible(&mut run::cargo(&[
        "build",
        "--workspace",
        "--bins",
        "--locked",
    ]))?;
    // One run tells of everything that is broken.
    let mut tests = run::cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]);
    match options.full {
        true => drop(tests.env("TUTTI_POWER_CUTS", POWER_CUTS)),
        false => drop(tests.args(["--exclude", "conformance", "--exclude", "oracles"])),
    }
    run::visible(&mut tests)?;
    bench::run(&bench::Options::smallest(options.full))?;
    println!("all checks passed in {} s", started.elapsed().as_secs());
    Ok(())
}

/// Installs what `tests/oracles` compares with.
pub(crate) fn oracles() -> Result<()> {
    packages::ensure(packages::FOR_ORACLES)?;
    packages::ensure(packages::MODULES)?;
    puppet8::ensure()
}

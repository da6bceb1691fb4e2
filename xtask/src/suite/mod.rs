//! `cargo xtask test`: the whole suite. Main function: [`run`].

mod cpu_time;
mod executables;
mod steps;
mod tests_run;
mod times;

use std::thread;

use anyhow::Result;

use self::steps::Steps;
use crate::compiler::Compiler;
use crate::{bench, deny, layers, packages, puppet_modules, puppet8, puppetserver8, run, words};

/// Packages whose tests need the real peers.
const WITH_PEERS: [&str; 2] = ["conformance", "oracles"];

/// Number of power cuts for each of the four workloads of `--full`: 104 in all. A cut under SQLite,
/// the code store or the spool takes about a second, one under PostgreSQL about nine on a busy
/// machine (its recovery and its start), so all together take some six minutes.
const POWER_CUTS: &str = "26";

/// Options of `cargo xtask test`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only the tests; skip format, lints and documentation
    #[arg(long)]
    tests_only: bool,
    /// Also the tests against the real puppetserver, PuppetDB and puppet-agent
    #[arg(long)]
    full: bool,
}

/// Runs everything and prints the times of each step. The first step that fails ends the run.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut steps = Steps::default();
    let outcome = all(options, &mut steps);
    steps.print();
    outcome
}

fn all(options: &Options, steps: &mut Steps) -> Result<()> {
    steps.run("packages", || packages::ensure(packages::FOR_TESTS))?;
    // The peers are downloaded and unpacked while the compiler works.
    let peers = options.full.then(|| thread::spawn(install_peers));
    if !options.tests_only {
        steps.run("format, layers, words, deny", || {
            run::visible(&mut run::cargo(&["fmt", "--all", "--check"]))?;
            layers::run()?;
            words::run(&words::Options::default())?;
            deny::run()
        })?;
    }
    let compiler = match options.tests_only {
        true => Compiler::Rustc,
        false => Compiler::Clippy,
    };
    let mut executables = steps.run(compiler.step(), || executables::build(compiler))?;
    if !options.full {
        executables.retain(|it| !WITH_PEERS.contains(&it.package.as_str()));
    }
    if let Some(peers) = peers {
        steps.run("rest of the peers", || {
            peers.join().expect("the installation does not panic")
        })?;
    }
    let power_cuts = options.full.then_some(POWER_CUTS);
    steps.run("tests", || tests_run::run_all(executables, power_cuts))?;
    steps.run("tests in documentation", || {
        let mut tests = run::cargo(&["test", "--workspace", "--locked", "--doc"]);
        run::visible(compiler.set(&mut tests))
    })?;
    steps.run("benchmarks at their smallest", || {
        bench::run(&bench::Options::smallest(options.full), compiler)
    })
}

/// Installs the programs with which Tutti is tested in the full suite.
fn install_peers() -> Result<()> {
    packages::ensure(packages::FOR_FULL_TESTS)?;
    oracles()
}

/// Installs the programs with which `tests/oracles` and `tests/conformance` compare.
pub(crate) fn oracles() -> Result<()> {
    packages::ensure(packages::FOR_ORACLES)?;
    packages::ensure(packages::MODULES)?;
    puppet8::ensure()?;
    puppet_modules::ensure()?;
    puppetserver8::ensure()
}

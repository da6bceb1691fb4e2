//! `cargo xtask bench`: speed and memory, never in a timed test. Main function: [`run`].
//!
//! Invariant: every figure has a smallest size, at which the test command tries its program.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use cargo_metadata::MetadataCommand;

use crate::compiler::Compiler;
use crate::{packages, run};

mod catalogs;

/// The figures to measure and their size.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// one-node, agent, fleet, api, puppet-server, puppet-fleet, direct-puppet, lists, broker, store, scope, actions, audit,
    /// applications, convergence, syntax, language, plans, catalogs or code; all of them if none is named.
    /// Only by name: fairness (15 minutes); release-traffic (10 minutes); lists-postgres, if PostgreSQL is installed; puppet-run,
    /// if the real Puppet peers are installed
    names: Vec<String>,
    /// Simulated agents in the large figures: 10,000, in those of fairness 2,000
    #[arg(long)]
    agents: Option<u32>,
    /// Run every program once at its smallest size, as a debug build, to test that it works
    #[arg(long, conflicts_with = "agents")]
    smallest: bool,
}

/// Figures of the whole system, measured by the testkit's bench program with the real programs.
const WHOLE: [&str; 8] = [
    "one-node",
    "agent",
    "fleet",
    "api",
    "puppet-server",
    "puppet-fleet",
    "direct-puppet",
    "lists",
];

/// Benchmarks that run only when they are named.
const ON_DEMAND: [&str; 3] = ["fairness", "lists-postgres", "release-traffic"];

/// Default number of agents in the figure of the broker alone.
const AGENTS: u32 = 10_000;

/// The figures of a Puppet run on demand compared with a bare `puppet agent`, with a real puppetserver, and of the runs
/// of an application on real agents.
const PUPPET_RUN: &str = "puppet-run";

/// The tests that print the figures: one run compared with a bare one, and the runs of an application on four nodes.
const PUPPET_RUNS: [&[&str]; 2] = [
    &["puppet", "--", "overhead"],
    &["agents", "--", "web_nodes_run_after", "--nocapture"],
];

/// Number of nodes of an embedded inventory, and the size of their facts.
const INVENTORIES: [[&str; 2]; 3] = [["10000", "small"], ["25000", "small"], ["10000", "large"]];

/// The inventories at the smallest size.
const SMALLEST_INVENTORIES: [[&str; 2]; 1] = [["20", "large"]];

/// Crates with programs that measure.
const PACKAGES: [&str; 16] = [
    "tutti",
    "tutti-agent",
    "testkit",
    "actions",
    "broker",
    "store",
    "jobs",
    "convergence",
    "audit",
    "syntax",
    "evaluator",
    "plans",
    "plan-language",
    "compiler",
    "catalogs",
    "code-deployments",
];

/// The built programs, and the size of their measurements.
struct Programs {
    /// The directory in which Cargo puts the programs.
    directory: PathBuf,
    is_smallest: bool,
}

// === impl Options ===

impl Options {
    /// The programs at their smallest size, as the test command runs them; fairness has tests of
    /// its own. Programs that measure with Debian's modules are part of the full tests.
    pub(crate) fn smallest(is_full: bool) -> Self {
        let mut names = WHOLE.to_vec();
        names.extend([
            "broker",
            "store",
            "scope",
            "actions",
            "audit",
            "applications",
            "convergence",
            "plans",
            "language",
            "catalogs",
            "release-traffic",
        ]);
        if is_full {
            names.extend(["syntax", "code", "lists-postgres"]);
        }
        Self {
            names: names.into_iter().map(str::to_owned).collect(),
            agents: None,
            smallest: true,
        }
    }
}

/// Builds the programs and measures the requested figures.
pub(crate) fn run(options: &Options, compiler: Compiler) -> Result<()> {
    let is_wanted =
        |name: &str| options.names.is_empty() || options.names.iter().any(|it| it == name);
    let programs = Programs::build(options.smallest, compiler)?;
    measure_whole(&programs, options, &is_wanted)?;
    if is_wanted("broker") {
        let connections = options.agents.unwrap_or(AGENTS).to_string();
        let connections = programs.or_smallest(connections.as_str(), "20");
        run::visible(programs.example("idle_memory").arg(connections))?;
    }
    if is_wanted("store") {
        programs.measure("results_rate", &["target"])?;
    }
    if is_wanted("scope") {
        for inventory in programs.or_smallest(&INVENTORIES[..], &SMALLEST_INVENTORIES) {
            run::visible(programs.example("scope").args(inventory))?;
        }
    }
    if is_wanted("actions") {
        programs.measure("action_latency", &["target"])?;
    }
    if is_wanted("audit") {
        programs.measure("intent_cost", &["target"])?;
    }
    if is_wanted("applications") {
        programs.measure("order_nodes", &[])?;
        programs.measure("graph_cost", &[])?;
    }
    if is_wanted("convergence") {
        programs.measure("waves", &[])?;
        programs.measure("passes", &[])?;
    }
    if is_wanted("syntax") {
        packages::ensure(packages::MODULES)?;
        programs.measure("parse_speed", &[packages::MODULES_DIRECTORY])?;
        programs.measure("parse_shapes", &[])?;
    }
    if is_wanted("plans") {
        programs.measure("plan_steps", &["target"])?;
        programs.measure("plan_speed", &[])?;
    }
    if is_wanted("language") {
        programs.measure("iterate", &[])?;
    }
    if is_wanted("catalogs") {
        catalogs::measure(&programs)?;
    }
    if is_wanted("code") {
        packages::ensure(packages::MODULES)?;
        packages::ensure(packages::DEPLOYERS)?;
        let tutti = programs.directory.join("tutti");
        let arguments = [&tutti.to_string_lossy(), packages::MODULES_DIRECTORY];
        programs.measure("deploy_speed", &arguments)?;
    }
    if options.names.iter().any(|name| name == PUPPET_RUN) {
        measure_puppet_runs()?;
    }
    Ok(())
}

fn measure_whole(
    programs: &Programs,
    options: &Options,
    is_wanted: &impl Fn(&str) -> bool,
) -> Result<()> {
    let mut names: Vec<_> = WHOLE.into_iter().filter(|name| is_wanted(name)).collect();
    let on_demand = options.names.iter().map(String::as_str);
    names.extend(on_demand.filter(|name| ON_DEMAND.contains(name)));
    if names.is_empty() {
        return Ok(());
    }
    let mut bench = run::program(&programs.directory.join("tutti-bench"));
    if let Some(agents) = options.agents {
        bench.args(["--agents", &agents.to_string()]);
    }
    if is_wanted("puppet-server")
        && let Some([role, facts]) = catalogs::write_role()?
    {
        bench.arg("--role").arg(role).arg("--role-facts").arg(facts);
    }
    if programs.is_smallest {
        bench.arg("--smallest");
    } else if is_wanted("agent") {
        bench.arg("--packaged-agent").arg(packaged_agent()?);
    }
    run::visible(bench.args(names))
}

fn measure_puppet_runs() -> Result<()> {
    packages::ensure(packages::FOR_FULL_TESTS)?;
    for test in PUPPET_RUNS {
        let mut measure = run::cargo(&["test", "--release", "--locked", "--package"]);
        run::visible(measure.args(["conformance", "--test"]).args(test))?;
    }
    Ok(())
}

/// Builds the agent as packages ship it: most of its memory is its own code.
fn packaged_agent() -> Result<PathBuf> {
    let build = [
        "build",
        "--profile",
        "dist-agent",
        "--locked",
        "--package",
        "tutti-agent",
    ];
    run::visible(&mut run::cargo(&build))?;
    Ok(target_directory()?.join("dist-agent/tutti-agent"))
}

fn target_directory() -> Result<PathBuf> {
    let mut metadata = MetadataCommand::new();
    let metadata = metadata.current_dir(run::root()).no_deps().exec()?;
    Ok(metadata.target_directory.into())
}

// === impl Programs ===

impl Programs {
    fn build(is_smallest: bool, compiler: Compiler) -> Result<Self> {
        let mut build = run::cargo(&["build", "--locked", "--bins", "--examples"]);
        if is_smallest {
            // The same options as in the build of the tests, so that nothing is built twice.
            build.arg("--workspace");
        } else {
            build.arg("--release");
            build.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
        }
        run::visible(compiler.set(&mut build))?;
        let profile = if is_smallest { "debug" } else { "release" };
        Ok(Self {
            directory: target_directory()?.join(profile),
            is_smallest,
        })
    }

    /// Measures a figure that needs no server.
    fn measure(&self, example: &str, arguments: &[&str]) -> Result<()> {
        let mut program = self.example(example);
        program.args(arguments);
        if self.is_smallest {
            program.arg("--smallest");
        }
        run::visible(&mut program)
    }

    fn example(&self, name: &str) -> Command {
        run::program(&self.directory.join("examples").join(name))
    }

    fn or_smallest<'a, T: ?Sized>(&self, full: &'a T, smallest: &'a T) -> &'a T {
        if self.is_smallest { smallest } else { full }
    }
}

//! `tutti doctor`: looks at the installation of a server and says what to do. Main function: [`run`].
//!
//! The invariant: nothing is changed, whether the server runs or not, and whoever asks; what cannot be looked at is a
//! finding, and so is a configuration that cannot be read.

mod disks;
mod state_files;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use cli::{Format, say};
use doctor::accounts::Accounts;
use doctor::{Check, Finding, Paint, Report};

use crate::config::Config;

/// Look at this server's installation: files, unit, ports, certificates, database, peers; and say what to do
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti doctor
  tutti doctor --format json | jq -r '.findings[] | select(.severity == \"problem\") | .remedy'

Exit codes: 0 no problem; 3 a problem was found; 2 the diagnosis itself could not be made.")]
pub(crate) struct Options {
    /// The server's configuration
    #[arg(long, env = "TUTTI_CONFIG", hide_env_values = true, default_value = crate::DEFAULT_CONFIG, value_name = "FILE")]
    config: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// Facts that several checks start from.
struct Installation {
    config: Config,
    /// Path of the configuration.
    config_file: PathBuf,
    accounts: Accounts,
}

/// Makes the diagnosis and answers the exit code.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let report = runtime.block_on(diagnose(options));
    // A thread that hangs on a mount never ends.
    runtime.shutdown_background();
    let paint = match std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        true => Paint::Ansi,
        false => Paint::Plain,
    };
    match options.format {
        Format::Human => say!("{}", report.text(paint)),
        Format::Json => say!("{}", report.json()),
    }
    Ok(report.exit_code())
}

async fn diagnose(options: &Options) -> Report {
    let accounts = Accounts::read();
    let own = accounts.user_name(rustix::process::geteuid().as_raw());
    let shown = options.config.display();
    let config = match Config::read(&options.config) {
        Ok(config) => config,
        Err(error) => {
            return Report {
                subject: format!("server with the configuration {shown}, looked at as {own}"),
                findings: vec![unusable(options, &error)],
            };
        }
    };
    let subject = format!("server {} ({shown}), looked at as {own}", config.certname);
    let mut findings = vec![Finding::ok(
        "configuration",
        shown.to_string(),
        "it is valid",
    )];
    let installation = Arc::new(Installation {
        config,
        config_file: options.config.clone(),
        accounts,
    });
    findings.extend(doctor::run(checks(&installation)).await);
    Report { subject, findings }
}

fn unusable(options: &Options, error: &dyn std::error::Error) -> Finding {
    let place = options.config.display().to_string();
    Finding::problem("configuration", place, error.to_string())
        .remedy("editor /etc/tutti/tutti.toml")
}

fn checks(installation: &Arc<Installation>) -> Vec<Check> {
    let local = |name, place: String, look: fn(&Installation) -> Vec<Finding>| {
        let installation = Arc::clone(installation);
        Check::local(name, place, move || look(&installation))
    };
    let data_dir = installation.config.data_dir.display().to_string();
    vec![
        local(doctor::files::CHECK, data_dir.clone(), state_files::check),
        local(doctor::disk::CHECK, data_dir, disks::check),
    ]
}

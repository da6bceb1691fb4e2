//! `tutti-agent`: runs the requests of a Tutti server, or of any PCP broker, on this node.
//!
//! Exit codes: 0 success, or stopped by a signal; 1 failure; 2 invalid command line or unreadable
//! configuration file; 3 unusable configuration, or a problem found by the doctor.

#![expect(
    clippy::print_stderr,
    reason = "what goes wrong before logging is told here"
)]
#![expect(
    clippy::print_stdout,
    reason = "bootstrap reports to the person who typed it"
)]

mod again;
mod command_result;
mod lease;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use agent::bootstrap::{BootstrapConfig, CaUri, CertificateBootstrap, Sha256Fingerprint, SslDir};
use agent::config::paths::DefaultPaths;
use agent::config::settings::AgentArguments;
use agent::config::{error, host_name};
use agent::logging::{self, AgentLogLevel, LogConfig, LogOutput};
use agent::service;
use clap::{Args, Parser, Subcommand};
use doctor::OutputColor;
use error_causes::chain;
use pcp::{Certname, CertnameError};
use pki::KeyType;

use crate::again::AgainArguments;
use crate::lease::LeaseArguments;

/// Agent of Tutti: runs tasks, commands and Puppet on this node
#[derive(Debug, Parser)]
#[command(name = "tutti-agent", version, subcommand_negates_reqs = true)]
struct CommandLine {
    #[command(flatten)]
    arguments: AgentArguments,
    #[command(subcommand)]
    command: Option<AgentCommand>,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    /// Get a certificate from a Puppet CA (Tutti's or puppetserver's)
    Bootstrap(BootstrapArguments),
    /// List or cancel reruns of Puppet that the module `common` has requested
    Again(AgainArguments),
    /// Show or end the lease with which a job keeps other runs of Puppet from starting on this node
    Lease(LeaseArguments),
    /// Check this node's installation and suggest remedies; exit code 3 if there is a problem
    Doctor(DoctorArguments),
}

#[derive(Debug, Args)]
struct DoctorArguments {
    /// Configuration file (.conf in HOCON, or .json)
    #[arg(long, value_name = "FILE")]
    config_file: Option<String>,
    /// Human-readable text, or one JSON document
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OutputFormat {
    Human,
    Json,
}

#[derive(Debug, Args)]
struct BootstrapArguments {
    /// The server that holds the CA
    #[arg(long, value_name = "HOST[:8140]")]
    server: CaUri,
    /// The certname to request; this host's name by default
    #[arg(long, value_name = "NAME")]
    certname: Option<Certname>,
    /// SHA-256 fingerprint of the CA certificate; without it the first answer
    /// is trusted
    #[arg(long, value_name = "SHA256")]
    ca_fingerprint: Option<Sha256Fingerprint>,
    /// Longest pause between two polls for the signed certificate; 0 polls once
    #[arg(long, value_name = "SECS", default_value_t = 120)]
    waitforcert: u32,
    /// Puppet's ssl directory
    #[arg(long, value_name = "DIR")]
    ssl_dir: Option<PathBuf>,
    /// Replace a key and certificate that can no longer be used, such as revoked or expired ones;
    /// usable ones are kept
    #[arg(long)]
    renew: bool,
    /// Create an RSA-4096 key, as Puppet does, instead of EC P-256
    #[arg(long)]
    rsa: bool,
}

fn main() -> ExitCode {
    let mut raw = std::env::args_os().skip(1);
    if raw
        .next()
        .is_some_and(|first| first == agent::agent::RUN_ACTION)
    {
        // Before any thread is started, since it forks.
        return actions::wrapper_main(raw);
    }
    let command_line = CommandLine::parse();
    let done = match command_line.command {
        Some(AgentCommand::Bootstrap(arguments)) => service::block_on(bootstrap(arguments)),
        Some(AgentCommand::Again(arguments)) => return arguments.run(),
        Some(AgentCommand::Lease(arguments)) => return arguments.run(),
        Some(AgentCommand::Doctor(arguments)) => service::block_on(diagnose(arguments)),
        None => match agent::config::load(&command_line.arguments) {
            Ok(config) => service::block_on(service::run(config)),
            Err(error) => {
                eprintln!("tutti-agent: {}", chain(&error));
                return ExitCode::from(error.exit_code());
            }
        },
    };
    done.unwrap_or_else(|error| {
        eprintln!("tutti-agent: cannot start the runtime: {error}");
        ExitCode::from(error::EXIT_FAILURE)
    })
}

async fn diagnose(asked: DoctorArguments) -> ExitCode {
    let arguments = AgentArguments {
        config_file: asked.config_file,
        ..AgentArguments::default()
    };
    let report = agent::doctor::diagnose(&arguments).await;
    let is_terminal = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let paint = if is_terminal {
        OutputColor::Ansi
    } else {
        OutputColor::Plain
    };
    let text = match asked.format {
        OutputFormat::Human => report.text(paint),
        OutputFormat::Json => report.json(),
    };
    // A reader that has closed the pipe needs no further output.
    let _ = writeln!(std::io::stdout(), "{text}");
    ExitCode::from(report.exit_code())
}

async fn bootstrap(arguments: BootstrapArguments) -> ExitCode {
    let log = LogConfig {
        level: AgentLogLevel::default(),
        output: LogOutput::Stdout,
    };
    if let Err(error) = logging::init(&log) {
        eprintln!("tutti-agent: {}", chain(&error));
    }
    let renew = arguments.renew;
    let config = match bootstrap_config(arguments) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("tutti-agent: this host's name is no certname, give --certname: {error}");
            return ExitCode::from(error::EXIT_INVALID_CONFIG);
        }
    };
    match CertificateBootstrap::new(config)
        .with_renewal(renew)
        .run()
        .await
    {
        Ok(files) => {
            println!("certificate: {}", files.cert.display());
            println!("private key: {}", files.key.display());
            println!("CA:          {}", files.ca.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("tutti-agent: {}", chain(&error));
            ExitCode::from(error::EXIT_FAILURE)
        }
    }
}

fn bootstrap_config(arguments: BootstrapArguments) -> Result<BootstrapConfig, CertnameError> {
    let ssl_dir = arguments
        .ssl_dir
        .unwrap_or_else(|| DefaultPaths::for_this_user().ssl_dir);
    Ok(BootstrapConfig {
        server: arguments.server,
        certname: match arguments.certname {
            Some(certname) => certname,
            None => host_name().parse()?,
        },
        fingerprint: arguments.ca_fingerprint,
        ssl_dir: SslDir::new(ssl_dir),
        wait_for_cert: Duration::from_secs(arguments.waitforcert.into()),
        key_type: if arguments.rsa {
            KeyType::Rsa4096
        } else {
            KeyType::EcP256
        },
    })
}

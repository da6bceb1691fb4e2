//! `tutti doctor`: checks the installation of a server and suggests remedies. Main function:
//! [`run`].
//!
//! Invariant: nothing is changed, regardless of the server's state and of the user; a check that
//! cannot be made is a finding, and so is a configuration that cannot be read.

mod certificate_files;
mod code;
mod database;
mod directories;
mod installation;
mod peers;
mod report_processors;
mod role;
mod running;
mod service;
mod state_files;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use cli::{OutputFormat, say};
use doctor::accounts::LocalAccounts;
use doctor::clock::{self, ClockFacts};
use doctor::{DiagnosisFinding, DiagnosisReport, DoctorCheck, FindingSeverity, OutputColor, unit};

use self::installation::DiagnosedInstallation;
use self::role::ServiceRole;
use crate::config::Config;

/// Check this server's installation (files, unit, ports, certificates, database, peers) and suggest
/// remedies
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti doctor
  tutti doctor --config /etc/tutti/broker.toml
  tutti doctor --format json | jq -r '.findings[] | select(.severity == \"problem\") | .remedy'

Exit codes: 0 no problem; 3 a problem was found; 2 the diagnosis itself could not be made.")]
pub(crate) struct Options {
    /// The configuration of the server, broker or follower on this machine
    #[arg(long, env = "TUTTI_CONFIG", hide_env_values = true, default_value = crate::config::DEFAULT_PATH, value_name = "FILE")]
    config: PathBuf,
    /// Format of the output
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
    #[command(flatten)]
    connection: cli::ConnectionFlags,
}

/// Makes the diagnosis and returns the exit code.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let report = runtime.block_on(Box::pin(diagnose(options)));
    // A thread that hangs on a mount never ends.
    runtime.shutdown_background();
    let paint = match std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        true => OutputColor::Ansi,
        false => OutputColor::Plain,
    };
    match options.format {
        OutputFormat::Human => say!("{}", report.text(paint)),
        OutputFormat::Json => say!("{}", report.json()),
    }
    Ok(report.exit_code())
}

async fn diagnose(options: &Options) -> DiagnosisReport {
    let accounts = LocalAccounts::read();
    let own = accounts.user_name(rustix::process::geteuid().as_raw());
    let shown = options.config.display().to_string();
    let (config, broken) = match Config::read(&options.config) {
        Ok(config) => (Some(config), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let Some(config) = config else {
        let mut findings: Vec<DiagnosisFinding> = broken
            .map(|why| unusable_config_finding(&shown, why))
            .into_iter()
            .collect();
        findings.extend(doctor::run(vec![service::unit_alone()]).await);
        return DiagnosisReport {
            subject: format!("server with the configuration {shown}, looked at as {own}"),
            findings,
        };
    };
    let role = ServiceRole::from_config(&config);
    let subject = format!("{role} {} ({shown}), looked at as {own}", config.certname);
    let installation = Arc::new(DiagnosedInstallation {
        role,
        unit: service::examine_unit(role).await,
        config,
        config_file: options.config.clone(),
        accounts,
        connection: options.connection.clone(),
        clocks: Mutex::default(),
    });
    let mut findings = vec![DiagnosisFinding::ok("configuration", shown, "it is valid")];
    findings.extend(remove_repeated(doctor::run(checks(&installation)).await));
    // After the others: they contact the machines whose clocks are compared.
    findings.extend(doctor::run(vec![clock_check(&installation)]).await);
    DiagnosisReport { subject, findings }
}

fn unusable_config_finding(place: &str, why: String) -> DiagnosisFinding {
    let command = format!("${{EDITOR:-vi}} {place} && tutti doctor --config {place}");
    DiagnosisFinding::problem("configuration", place, why).remedy(command)
}

fn checks(installation: &Arc<DiagnosedInstallation>) -> Vec<DoctorCheck> {
    let local = |name, place: String, look: fn(&DiagnosedInstallation) -> Vec<DiagnosisFinding>| {
        let installation = Arc::clone(installation);
        DoctorCheck::local(name, place, move || look(&installation))
    };
    let config = &installation.config;
    let data_dir = config.data_dir.display().to_string();
    let unit = installation
        .role
        .unit_name()
        .unwrap_or("no unit")
        .to_owned();
    let mut checks = vec![
        local(unit::CHECK, unit, service::check_unit),
        local(doctor::files::CHECK, data_dir.clone(), state_files::check),
        local(doctor::disk::CHECK, data_dir, directories::check),
        local(
            doctor::ports::CHECK,
            "this machine".to_owned(),
            service::check_ports,
        ),
        local(
            doctor::certificates::CHECK,
            config.tls_files().cert.display().to_string(),
            certificate_files::check,
        ),
    ];
    if installation.role == ServiceRole::Server {
        let place = database::display_url(config);
        let of = Arc::clone(installation);
        checks.push(DoctorCheck::remote(database::CHECK, place, async move {
            Box::pin(database::check(&of)).await
        }));
        let codedir = config.code.codedir.display().to_string();
        checks.push(local(code::CHECK, codedir, code::check));
        checks.push(local(
            report_processors::CHECK,
            "reports.processors".to_owned(),
            report_processors::check,
        ));
        let of = Arc::clone(installation);
        let place = config.api.listen.to_string();
        checks.push(DoctorCheck::remote(running::CHECK, place, async move {
            Box::pin(running::check(&of)).await
        }));
    }
    checks.extend(peers::checks(installation));
    checks
}

/// The findings without repetitions about code: a directory that the unit or its owner makes
/// inaccessible to the server is also reported by the server's own probe.
fn remove_repeated(findings: Vec<DiagnosisFinding>) -> Vec<DiagnosisFinding> {
    let mut kept: Vec<DiagnosisFinding> = Vec::new();
    for finding in findings {
        let is_problem = |it: &DiagnosisFinding| it.severity == FindingSeverity::Problem;
        let is_told = kept.iter().filter(|it| is_problem(it)).any(|it| {
            let text = format!("{} {}", it.place, it.cause);
            let paths = Path::new(&finding.place).ancestors();
            // A directory right below the root is too broad to be the one in question.
            let mut paths = paths.filter(|path| path.components().count() > 2);
            paths.any(|path| text.contains(&path.display().to_string()))
        });
        if finding.check == code::CHECK && is_problem(&finding) && is_told {
            continue;
        }
        kept.push(finding);
    }
    kept
}

fn clock_check(installation: &Arc<DiagnosedInstallation>) -> DoctorCheck {
    let of = Arc::clone(installation);
    DoctorCheck::local(clock::CHECK, "this machine", move || {
        let others = of.clocks.lock().unwrap_or_else(PoisonError::into_inner);
        clock::judge(&ClockFacts {
            is_synchronized: clock::is_synchronized(),
            others: others.clone(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_the_server_from_its_code_is_told_once() {
        let unit = DiagnosisFinding::problem(
            unit::CHECK,
            "tutti.service",
            "ProtectSystem=strict makes /srv/code/environments read-only for the service",
        );
        let probe =
            |path: &str| DiagnosisFinding::problem(code::CHECK, path, "no deployment can go live");
        let kept = remove_repeated(vec![
            unit.clone(),
            probe("/srv/code/environments"),
            probe("/srv/code/environments/production"),
            probe("/opt/other/code"),
            DiagnosisFinding::ok(
                code::CHECK,
                "/srv/code/environments",
                "environments: production",
            ),
        ]);
        let places: Vec<&str> = kept.iter().map(|it| it.place.as_str()).collect();
        let expected = ["tutti.service", "/opt/other/code", "/srv/code/environments"];
        assert_eq!(places, expected);
        assert_eq!(kept[0], unit);
    }
}

//! `tutti-agent doctor`: checks the installation of a node and suggests remedies. Main function:
//! [`diagnose`].
//!
//! Invariant: nothing is changed, and no session with a broker is begun, since that would end the
//! session of the running agent.

mod brokers;
mod certificate;
mod checked_node;
mod node;
mod servers;

use checked_node::{CheckedNode, UNIT};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use doctor::accounts::LocalAccounts;
use doctor::clock::{self, ClockFacts};
use doctor::unit::{self, ExpectedUnit, UnitSighting};
use doctor::{DiagnosisFinding, DiagnosisReport, DoctorCheck};
use error_causes::chain;

use crate::config::paths::DefaultPaths;
use crate::config::settings::AgentArguments;
use crate::config::{self, Config};

const SHIPPED_UNIT: &str = include_str!("../../../../../packaging/systemd/tutti-agent.service");
/// Systemd unit of the stock agent, which uses the same files and the same certname.
const STOCK_UNIT: &str = "pxp-agent.service";

/// Settings of the shipped unit without which tasks break.
const SETTINGS: &[(&str, &str)] = &[
    ("Type", "systemd does not learn when the agent is ready"),
    (
        "KillMode",
        "a restart of the agent kills the tasks that run",
    ),
    (
        "ProtectSystem",
        "tasks and Puppet cannot write what root may write",
    ),
    (
        "ProtectHome",
        "tasks and Puppet do not see home directories",
    ),
    (
        "PrivateTmp",
        "files in /tmp that tasks make are not seen by others",
    ),
    ("PrivateDevices", "tasks and Puppet do not see devices"),
    (
        "NoNewPrivileges",
        "sudo fails in tasks that run as another user",
    ),
];

/// Checks the node that the command line and its configuration file describe.
pub async fn diagnose(arguments: &AgentArguments) -> DiagnosisReport {
    let accounts = LocalAccounts::read();
    let own = accounts.user_name(rustix::process::geteuid().as_raw());
    let default = DefaultPaths::for_this_user().config_file;
    let config_file = arguments
        .config_file
        .as_ref()
        .map_or(default, PathBuf::from);
    let shown = config_file.display().to_string();
    let subject = format!("node with the configuration {shown}, looked at as {own}");
    let config = match config::load(arguments) {
        Ok(config) => config,
        Err(error) => {
            let command = format!("${{EDITOR:-vi}} {shown} && tutti-agent doctor");
            let mut findings = vec![
                DiagnosisFinding::problem("configuration", shown, chain(&error).to_string())
                    .remedy(command),
            ];
            findings.extend(doctor::run(vec![unit_alone()]).await);
            return DiagnosisReport { subject, findings };
        }
    };
    let mut findings = vec![configuration(&config, &shown)];
    let node = Arc::new(CheckedNode {
        config,
        config_file,
        accounts,
        unit: ask_unit().await,
        clocks: Mutex::default(),
    });
    findings.extend(doctor::run(checks(&node)).await);
    // After the others: they contact the machines whose clocks are compared.
    findings.extend(doctor::run(vec![clock_check(&node)]).await);
    DiagnosisReport { subject, findings }
}

fn configuration(config: &Config, place: &str) -> DiagnosisFinding {
    // Most nodes have no external modules.
    let notes = config
        .notes
        .iter()
        .filter(|it| !it.starts_with("no external modules"));
    let notes: Vec<&str> = notes.map(String::as_str).collect();
    match notes.is_empty() {
        true => DiagnosisFinding::ok("configuration", place, "it is valid"),
        false => DiagnosisFinding::note("configuration", place, notes.join("; ")),
    }
}

async fn ask_unit() -> UnitSighting {
    let asked = tokio::task::spawn_blocking(|| unit::examine_unit(UNIT));
    match tokio::time::timeout(doctor::defaults::LOCAL_DEADLINE, asked).await {
        Ok(Ok(sighting)) => sighting,
        Ok(Err(_)) | Err(_) => UnitSighting::Silent("no answer in time".to_owned()),
    }
}

fn unit_alone() -> DoctorCheck {
    DoctorCheck::local(unit::CHECK, UNIT, || {
        unit::judge(&unit::examine_unit(UNIT), &expected_unit(false))
    })
}

fn expected_unit(is_required: bool) -> ExpectedUnit {
    ExpectedUnit {
        name: UNIT,
        shipped: SHIPPED_UNIT,
        settings: SETTINGS,
        written: Vec::new(),
        config: None,
        is_required,
        installation: format!(
            "cp packaging/systemd/{UNIT} /etc/systemd/system/ && systemctl enable --now tutti-agent"
        ),
    }
}

fn checks(node: &Arc<CheckedNode>) -> Vec<DoctorCheck> {
    let local = |name, place: String, look: fn(&CheckedNode) -> Vec<DiagnosisFinding>| {
        let node = Arc::clone(node);
        DoctorCheck::local(name, place, move || look(&node))
    };
    let spool = node.config.actions.spool_dir.display().to_string();
    let cert = node.config.connection.tls.cert.display().to_string();
    let mut checks = vec![
        local(unit::CHECK, UNIT.to_owned(), check_units),
        local(doctor::files::CHECK, spool.clone(), node::check_files),
        local(doctor::disk::CHECK, spool, node::check_disks),
        local(doctor::certificates::CHECK, cert, certificate::check),
    ];
    checks.extend(brokers::checks(node));
    checks.extend(servers::checks(node));
    checks
}

/// Checks the agent's unit, and that of the stock agent if both run.
fn check_units(node: &CheckedNode) -> Vec<DiagnosisFinding> {
    let is_default = node.config_file == DefaultPaths::system().config_file;
    let mut findings = unit::judge(&node.unit, &expected_unit(is_default));
    if let UnitSighting::Known(stock) = unit::examine_unit(STOCK_UNIT)
        && stock.is_installed()
        && stock.is_active()
    {
        let cause =
            "it runs with the same certificate, so each of the two ends the other's connection";
        let command = "systemctl disable --now pxp-agent";
        findings.push(DiagnosisFinding::problem(unit::CHECK, STOCK_UNIT, cause).remedy(command));
    }
    findings
}

fn clock_check(node: &Arc<CheckedNode>) -> DoctorCheck {
    let node = Arc::clone(node);
    DoctorCheck::local(clock::CHECK, "this machine", move || {
        let others = node.clocks.lock().unwrap_or_else(PoisonError::into_inner);
        clock::judge(&ClockFacts {
            is_synchronized: clock::is_synchronized(),
            others: others.clone(),
        })
    })
}

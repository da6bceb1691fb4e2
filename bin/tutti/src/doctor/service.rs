//! Checks of the unit and the ports of the service. Main functions: [`check_unit`],
//! [`check_ports`].

use doctor::ports::{self, PortOwner};
use doctor::unit::{self, ExpectedUnit, UnitSighting};
use doctor::{DiagnosisFinding, DoctorCheck};

use super::directories;
use super::installation::DiagnosedInstallation;
use super::role::ServiceRole;

const SERVER_UNIT: &str = include_str!("../../../../packaging/systemd/tutti.service");
const BROKER_UNIT: &str = include_str!("../../../../packaging/systemd/tutti-broker.service");

/// Settings of the shipped units without which something breaks.
const SETTINGS: &[(&str, &str)] = &[
    ("Type", "systemd does not learn when the service is ready"),
    ("LimitNOFILE", "agents beyond that number cannot connect"),
];

/// Reads the unit of a role from systemd, within the deadline of a local check.
pub(super) async fn examine_unit(role: ServiceRole) -> UnitSighting {
    let Some(name) = role.unit_name() else {
        return UnitSighting::NoSystemd;
    };
    let asked = tokio::task::spawn_blocking(move || unit::examine_unit(name));
    match tokio::time::timeout(doctor::defaults::LOCAL_DEADLINE, asked).await {
        Ok(Ok(sighting)) => sighting,
        Ok(Err(_)) | Err(_) => UnitSighting::Silent("no answer in time".to_owned()),
    }
}

/// Findings about the unit of this installation.
pub(super) fn check_unit(installation: &DiagnosedInstallation) -> Vec<DiagnosisFinding> {
    match installation.role.unit_name() {
        Some(name) => unit::judge(&installation.unit, &expected_unit(installation, name)),
        None => vec![DiagnosisFinding::note(
            unit::CHECK,
            "tutti follow",
            "no unit is shipped for it, so its unit was not looked at",
        )],
    }
}

fn expected_unit(installation: &DiagnosedInstallation, name: &'static str) -> ExpectedUnit {
    let config_file = &installation.config_file;
    let is_default = config_file.as_os_str() == installation.role.default_config();
    ExpectedUnit {
        written: match installation.is_configured_in_unit() {
            true => directories::written_directories(&installation.config),
            false => Vec::new(),
        },
        config: Some(config_file.clone()),
        is_required: is_default,
        ..shipped_unit(installation.role, name)
    }
}

fn shipped_unit(role: ServiceRole, name: &'static str) -> ExpectedUnit {
    ExpectedUnit {
        name,
        shipped: match role {
            ServiceRole::Broker => BROKER_UNIT,
            ServiceRole::Server | ServiceRole::Follower => SERVER_UNIT,
        },
        settings: SETTINGS,
        written: Vec::new(),
        config: None,
        is_required: false,
        installation: format!(
            "cp packaging/systemd/{name} /etc/systemd/system/ && systemctl enable --now {name}"
        ),
    }
}

/// Check of the server's unit if its configuration cannot be read.
pub(super) fn unit_alone() -> DoctorCheck {
    DoctorCheck::local(unit::CHECK, "tutti.service", || {
        let name = "tutti.service";
        unit::judge(
            &unit::examine_unit(name),
            &shipped_unit(ServiceRole::Server, name),
        )
    })
}

/// Findings about the ports of this installation.
pub(super) fn check_ports(installation: &DiagnosedInstallation) -> Vec<DiagnosisFinding> {
    let wanted = installation.role.ports(&installation.config);
    if wanted.is_empty() {
        return Vec::new();
    }
    let listeners = ports::list_listeners();
    let is_meant = match &installation.unit {
        UnitSighting::Known(unit) => installation.is_configured_in_unit() && unit.is_active(),
        UnitSighting::NoSystemd | UnitSighting::Silent(_) => false,
    };
    let owner = PortOwner {
        program: "tutti".to_owned(),
        uid: installation.account().uid,
        is_running: is_meant || crate::local_server::is_listening(&installation.config),
    };
    ports::judge(&wanted, &listeners, &owner)
}

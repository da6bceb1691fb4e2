//! Findings about a unit: [`judge`].

use std::path::{Path, PathBuf};

use super::CHECK;
use super::facts::{UnitFacts, UnitSighting};
use super::sandbox::{is_allowed, is_mounted_writable};
use crate::finding::DiagnosisFinding;

/// Requirements on a systemd unit.
#[derive(Clone, Debug, Default)]
pub struct ExpectedUnit {
    /// Name of the unit, such as `tutti.service`.
    pub name: &'static str,
    /// Text of the shipped unit, with whose settings it is compared.
    pub shipped: &'static str,
    /// Settings that must be those of the shipped unit, with the consequence of a difference.
    pub settings: &'static [(&'static str, &'static str)],
    /// Directories that the service writes.
    pub written: Vec<PathBuf>,
    /// Configuration file of the diagnosis; `None` if the unit names none.
    pub config: Option<PathBuf>,
    /// True if this machine is expected to run the service, so that a missing unit is a problem.
    pub is_required: bool,
    /// Shell command that installs the unit.
    pub installation: String,
}

/// Returns one finding for each fault, or one for a unit without a fault.
pub fn judge(sighting: &UnitSighting, expected: &ExpectedUnit) -> Vec<DiagnosisFinding> {
    let name = expected.name;
    let unit = match sighting {
        UnitSighting::Known(unit) => unit,
        UnitSighting::NoSystemd => {
            let cause = "systemd does not run on this machine, so nothing is known of a unit";
            return vec![DiagnosisFinding::note(CHECK, name, cause)];
        }
        UnitSighting::Silent(why) => {
            let cause = format!("systemd does not tell: {why}");
            return vec![
                DiagnosisFinding::note(CHECK, name, cause)
                    .remedy(format!("systemctl status {name}")),
            ];
        }
    };
    if !unit.is_installed() {
        let cause = "it is not installed, so nothing starts the service when the machine boots";
        let finding = match expected.is_required {
            true => DiagnosisFinding::problem(CHECK, name, cause),
            false => DiagnosisFinding::note(CHECK, name, cause),
        };
        return vec![finding.remedy(&expected.installation)];
    }
    let mut findings: Vec<DiagnosisFinding> = [
        check_active(unit, name),
        check_enabled(unit, name),
        check_reload(unit, name),
        read_only(unit, expected),
        other_configuration(unit, expected),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.extend(other_settings(unit, expected));
    if findings.is_empty() {
        let cause = match unit.property("StatusText") {
            "" => "it is enabled and runs".to_owned(),
            status => format!("it is enabled and runs: {status}"),
        };
        findings.push(DiagnosisFinding::ok(CHECK, name, cause));
    }
    findings
}

fn check_active(unit: &UnitFacts, name: &str) -> Option<DiagnosisFinding> {
    let (state, sub) = (unit.property("ActiveState"), unit.property("SubState"));
    let log = format!("journalctl -u {name} -n 50");
    let result = unit.property("Result");
    match (state, sub) {
        ("activating", "auto-restart") => {
            let cause = format!("it fails and is started again and again ({result})");
            Some(DiagnosisFinding::problem(CHECK, name, cause).remedy(log))
        }
        ("active" | "reloading" | "activating", _) => None,
        ("failed", _) => {
            let cause = format!("it has failed ({result}) and does not run");
            let command = format!("{log}; systemctl restart {name}");
            Some(DiagnosisFinding::problem(CHECK, name, cause).remedy(command))
        }
        _ => Some(
            DiagnosisFinding::problem(CHECK, name, "it does not run")
                .remedy(format!("systemctl start {name}")),
        ),
    }
}

fn check_enabled(unit: &UnitFacts, name: &str) -> Option<DiagnosisFinding> {
    let state = unit.property("UnitFileState");
    let command = match state {
        "masked" | "masked-runtime" => {
            format!("systemctl unmask {name} && systemctl enable {name}")
        }
        "disabled" | "linked" | "linked-runtime" | "bad" => format!("systemctl enable {name}"),
        _ => return None,
    };
    let cause = format!("it is {state}: it does not start when the machine boots");
    Some(DiagnosisFinding::problem(CHECK, name, cause).remedy(command))
}

fn check_reload(unit: &UnitFacts, name: &str) -> Option<DiagnosisFinding> {
    (unit.property("NeedDaemonReload") == "yes").then(|| {
        let cause = "its file has changed since systemd read it";
        let command = format!("systemctl daemon-reload && systemctl restart {name}");
        DiagnosisFinding::note(CHECK, name, cause).remedy(command)
    })
}

/// Directories that the service cannot write, all in one finding.
fn read_only(unit: &UnitFacts, expected: &ExpectedUnit) -> Option<DiagnosisFinding> {
    let name = expected.name;
    let names = |paths: &[&PathBuf]| {
        let shown: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        shown.join(" ")
    };
    let denied = expected
        .written
        .iter()
        .filter(|path| !is_allowed(unit, path));
    let denied: Vec<&PathBuf> = denied.collect();
    if !denied.is_empty() {
        let paths = names(&denied);
        let cause = format!(
            "ProtectSystem={} makes {paths} read-only for the service, which writes there",
            unit.property("ProtectSystem")
        );
        let directory = format!("/etc/systemd/system/{name}.d");
        let command = format!(
            "mkdir -p {directory} && printf '[Service]\\nReadWritePaths={paths}\\n' > \
             {directory}/writable-paths.conf && systemctl daemon-reload && systemctl restart {name}"
        );
        return Some(DiagnosisFinding::problem(CHECK, name, cause).remedy(command));
    }
    let mounts = unit.mounts.as_deref()?;
    let is_stale =
        |path: &&PathBuf| is_mounted_writable(mounts, nearest_existing(path)) == Some(false);
    let stale: Vec<&PathBuf> = expected.written.iter().filter(is_stale).collect();
    (!stale.is_empty()).then(|| {
        let cause = format!(
            "{} is still read-only for the running service: it was not there, or not allowed, at its start",
            names(&stale)
        );
        DiagnosisFinding::problem(CHECK, name, cause).remedy(format!("systemctl restart {name}"))
    })
}

/// The path, or its nearest existing ancestor.
fn nearest_existing(path: &Path) -> &Path {
    path.ancestors().find(|it| it.exists()).unwrap_or(path)
}

fn other_configuration(unit: &UnitFacts, expected: &ExpectedUnit) -> Option<DiagnosisFinding> {
    let (config, named) = (expected.config.as_deref()?, unit.option("--config")?);
    (Path::new(named) != config).then(|| {
        let cause = format!(
            "it uses the configuration {named}, and {} was looked at",
            config.display()
        );
        DiagnosisFinding::note(CHECK, expected.name, cause)
            .remedy(format!("tutti doctor --config {named}"))
    })
}

fn other_settings(unit: &UnitFacts, expected: &ExpectedUnit) -> Vec<DiagnosisFinding> {
    let differing = expected.settings.iter().filter_map(|(key, consequence)| {
        let shipped = shipped_setting(expected.shipped, key);
        let set = unit.property(key);
        let is_default = |value: &str| matches!(value, "" | "no" | "false");
        if set == shipped || is_default(set) && is_default(shipped) || is_at_least(set, shipped) {
            return None;
        }
        let shown = if shipped.is_empty() { "no" } else { shipped };
        let cause = format!("it has {key}={set} where the shipped unit has {shown}: {consequence}");
        let command = format!(
            "systemctl edit {}  # [Service] {key}={shown}",
            expected.name
        );
        Some(DiagnosisFinding::problem(CHECK, expected.name, cause).remedy(command))
    });
    differing.collect()
}

/// True if a limit is at least the shipped one, which is allowed.
fn is_at_least(set: &str, shipped: &str) -> bool {
    match (set.parse::<u64>(), shipped.parse::<u64>()) {
        (Ok(set), Ok(shipped)) => set >= shipped,
        _ => set == "infinity",
    }
}

/// The last value of a key in the text of a unit.
fn shipped_setting<'t>(text: &'t str, key: &str) -> &'t str {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let mut values = pairs
        .filter(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim());
    values.next_back().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FindingSeverity;

    const SHIPPED: &str = "[Service]\nType=notify\nKillMode=process\nLimitNOFILE=131072\n";
    const FINE: &str = "LoadState=loaded\nFragmentPath=/etc/systemd/system/tutti.service\nActiveState=active\n\
        SubState=running\nUnitFileState=enabled\nNeedDaemonReload=no\nType=notify\nKillMode=process\n\
        LimitNOFILE=131072\nProtectSystem=strict\nReadWritePaths=-/opt/puppetlabs/tutti\nStateDirectory=tutti\n\
        ExecStart={ path=/usr/bin/tutti ; argv[]=/usr/bin/tutti server --config /etc/tutti/tutti.toml ; x }\n";

    fn expected() -> ExpectedUnit {
        ExpectedUnit {
            name: "tutti.service",
            shipped: SHIPPED,
            settings: &[
                ("KillMode", "tasks are killed"),
                ("LimitNOFILE", "connections are refused"),
                ("NoNewPrivileges", "sudo fails"),
            ],
            written: vec!["/var/lib/tutti".into(), "/opt/puppetlabs/tutti/code".into()],
            config: Some("/etc/tutti/tutti.toml".into()),
            is_required: true,
            installation: "systemctl enable --now tutti".to_owned(),
        }
    }

    fn judged(changes: &str, expected: &ExpectedUnit) -> Vec<DiagnosisFinding> {
        // Later lines take precedence.
        let unit = UnitFacts::parse(&format!("{FINE}{changes}"));
        judge(&UnitSighting::Known(unit), expected)
    }

    #[test]
    fn each_fault_of_a_unit_is_one_line() {
        for (changes, severity, part) in [
            ("", FindingSeverity::Ok, "enabled and runs"),
            ("StatusText=connected\n", FindingSeverity::Ok, "connected"),
            (
                "LoadState=not-found\nFragmentPath=\n",
                FindingSeverity::Problem,
                "not installed",
            ),
            (
                "ActiveState=inactive\nSubState=dead\n",
                FindingSeverity::Problem,
                "does not run",
            ),
            (
                "ActiveState=failed\nResult=exit-code\n",
                FindingSeverity::Problem,
                "(exit-code)",
            ),
            (
                "ActiveState=activating\nSubState=auto-restart\n",
                FindingSeverity::Problem,
                "again and again",
            ),
            (
                "ActiveState=activating\nSubState=start\n",
                FindingSeverity::Ok,
                "runs",
            ),
            (
                "UnitFileState=disabled\n",
                FindingSeverity::Problem,
                "does not start when",
            ),
            ("UnitFileState=masked\n", FindingSeverity::Problem, "masked"),
            (
                "NeedDaemonReload=yes\n",
                FindingSeverity::Note,
                "has changed",
            ),
            (
                "ReadWritePaths=\n",
                FindingSeverity::Problem,
                "makes /opt/puppetlabs/tutti/code read-only",
            ),
            (
                "KillMode=control-group\n",
                FindingSeverity::Problem,
                "tasks are killed",
            ),
            (
                "LimitNOFILE=1024\n",
                FindingSeverity::Problem,
                "connections are refused",
            ),
            ("LimitNOFILE=524288\n", FindingSeverity::Ok, "runs"),
            ("LimitNOFILE=infinity\n", FindingSeverity::Ok, "runs"),
            ("NoNewPrivileges=no\n", FindingSeverity::Ok, "runs"),
            (
                "NoNewPrivileges=yes\n",
                FindingSeverity::Problem,
                "sudo fails",
            ),
            (
                "ExecStart=tutti server --config /x.toml\n",
                FindingSeverity::Note,
                "/x.toml",
            ),
        ] {
            let findings = judged(changes, &expected());
            assert_eq!(findings.len(), 1, "{changes}: {findings:#?}");
            assert_eq!(findings[0].severity, severity, "{changes}: {findings:?}");
            assert!(findings[0].cause.contains(part), "{findings:?}");
        }
    }

    #[test]
    fn code_directories_that_the_unit_does_not_name_are_one_line_with_the_drop_in() {
        let written = ["/srv/code/environments", "/srv/tutti"]
            .map(PathBuf::from)
            .to_vec();
        let expected = ExpectedUnit {
            written,
            ..expected()
        };
        let findings = judged("", &expected);
        assert_eq!(findings.len(), 1, "{findings:#?}");
        let remedy = findings[0].remedy.as_deref().unwrap();
        assert!(
            remedy.contains("ReadWritePaths=/srv/code/environments /srv/tutti"),
            "{remedy}"
        );
        assert!(
            remedy.ends_with("systemctl restart tutti.service"),
            "{remedy}"
        );
    }

    #[test]
    fn a_directory_that_the_running_service_cannot_write_yet_needs_a_restart() {
        let mut unit = UnitFacts::parse(FINE);
        unit.mounts = Some("22 1 0:20 / / ro - ext4 /dev/vda rw\n".to_owned());
        let findings = judge(&UnitSighting::Known(unit), &expected());
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert_eq!(
            findings[0].remedy.as_deref(),
            Some("systemctl restart tutti.service")
        );
    }

    #[test]
    fn without_systemd_nothing_is_claimed() {
        for sighting in [
            UnitSighting::NoSystemd,
            UnitSighting::Silent("no bus".to_owned()),
        ] {
            let findings = judge(&sighting, &expected());
            assert_eq!(
                (findings.len(), findings[0].severity),
                (1, FindingSeverity::Note)
            );
        }
    }
}

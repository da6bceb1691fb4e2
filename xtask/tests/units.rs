//! Tests of the shipped systemd units: their protection of the machine, and the rights that each
//! service needs.
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Sections, keys and values of a unit, in their order.
#[derive(Debug)]
struct Unit {
    path: PathBuf,
    settings: Vec<(String, String, String)>,
}

impl Unit {
    fn read(name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/systemd");
        let path = root.join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut section = String::new();
        let mut settings = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(named) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                named.clone_into(&mut section);
                continue;
            }
            let (key, value) = line.split_once('=').expect(line);
            settings.push((section.clone(), key.to_owned(), value.to_owned()));
        }
        Self { path, settings }
    }

    /// All values of a key, which may be given several times.
    fn values(&self, section: &str, key: &str) -> Vec<&str> {
        let of = self.settings.iter();
        let of = of.filter(|(in_section, name, _)| in_section == section && name == key);
        of.map(|(_, _, value)| value.as_str()).collect()
    }

    fn is(&self, key: &str, value: &str) {
        let path = self.path.display();
        assert_eq!(self.values("Service", key), [value], "{key} of {path}");
    }
}

/// The restrictions of both services that need no root.
const SANDBOX: &[(&str, &str)] = &[
    ("User", "tutti"),
    ("ProtectSystem", "strict"),
    ("ProtectHome", "yes"),
    ("PrivateTmp", "yes"),
    ("PrivateDevices", "yes"),
    ("NoNewPrivileges", "yes"),
    ("CapabilityBoundingSet", ""),
    ("AmbientCapabilities", ""),
    ("RestrictSUIDSGID", "yes"),
    ("ProtectClock", "yes"),
    ("ProtectControlGroups", "yes"),
    ("ProtectHostname", "yes"),
    ("ProtectKernelLogs", "yes"),
    ("ProtectKernelModules", "yes"),
    ("ProtectKernelTunables", "yes"),
    ("ProtectProc", "invisible"),
    ("LockPersonality", "yes"),
    ("RestrictNamespaces", "yes"),
    ("RestrictRealtime", "yes"),
    ("SystemCallArchitectures", "native"),
    ("SystemCallFilter", "@system-service"),
    ("LimitCORE", "0"),
];

/// Units that need no root, and the exposure (in tenths) that `systemd-analyze` may find.
const SANDBOXED: &[(&str, u32)] = &[("tutti.service", 20), ("tutti-broker.service", 20)];

#[test]
fn the_services_without_root_are_sandboxed() {
    for (name, _) in SANDBOXED {
        let unit = Unit::read(name);
        for (key, value) in SANDBOX {
            unit.is(key, value);
        }
    }
    Unit::read("tutti-broker.service").is("MemoryDenyWriteExecute", "yes");
}

#[test]
fn the_server_can_write_its_state_and_deploy_code() {
    let unit = Unit::read("tutti.service");
    unit.is("StateDirectory", "tutti");
    let writable: Vec<_> = unit.values("Service", "ReadWritePaths");
    let writable: Vec<_> = writable
        .iter()
        .flat_map(|it| it.split_whitespace())
        .collect();
    for needed in [
        "-/etc/puppetlabs/code",
        "-/etc/puppet/code",
        "-/opt/puppetlabs/tutti",
    ] {
        assert!(writable.contains(&needed), "{needed}: {writable:?}");
    }
    // A path that does not exist when the service starts stays read-only, so it is created before.
    let prepared = unit.values("Service", "ExecStartPre");
    assert!(
        prepared
            .iter()
            .any(|it| it.starts_with('+') && it.ends_with("/opt/puppetlabs/tutti")),
        "{prepared:?}"
    );
    let makes_code = "install -d -m 0755 -o tutti -g tutti /etc/puppetlabs/code \
                      /etc/puppetlabs/code/environments";
    assert!(
        prepared
            .iter()
            .any(|it| it.starts_with('+') && it.contains(makes_code)),
        "{prepared:?}"
    );
}

/// Puppet and tasks are processes of this unit, so its restrictions apply to them.
#[test]
fn the_agent_denies_nothing_to_puppet_and_tasks() {
    let unit = Unit::read("tutti-agent.service");
    let inherited = [
        "Protect",
        "Private",
        "Restrict",
        "SystemCall",
        "Capability",
        "NoNewPrivileges",
        "MemoryDeny",
        "LockPersonality",
        "ReadOnly",
        "ReadWrite",
        "Inaccessible",
        "NoExec",
        "Exec",
        "RootDirectory",
        "RemoveIPC",
        "Limit",
        "UMask",
        "Device",
        "IPAddress",
        "User",
    ];
    for (section, key, _) in &unit.settings {
        let denies = inherited.iter().any(|prefix| key.starts_with(prefix));
        assert!(!denies || key == "ExecStart", "[{section}] {key}");
    }
    // Actions outlive the agent, and one that is killed for its memory does not end the agent.
    unit.is("KillMode", "process");
    unit.is("OOMPolicy", "continue");
    unit.is("Delegate", "yes");
}

#[test]
fn every_service_is_started_again_for_ever() {
    for name in [
        "tutti.service",
        "tutti-broker.service",
        "tutti-agent.service",
    ] {
        let unit = Unit::read(name);
        unit.is("Restart", "always");
        assert_eq!(
            unit.values("Unit", "StartLimitIntervalSec"),
            ["0"],
            "{name}"
        );
    }
}

#[test]
fn systemd_finds_the_sandbox_tight() {
    for (name, exposure) in SANDBOXED {
        let unit = Unit::read(name);
        let ran = Command::new("systemd-analyze")
            .args(["security", "--offline=yes", "--no-pager"])
            .arg(format!("--threshold={exposure}"))
            .arg(&unit.path)
            .output();
        let Ok(ran) = ran else {
            eprintln!("SKIPPED: {name} is not rated, since systemd-analyze is not installed");
            return;
        };
        let text = String::from_utf8_lossy(&ran.stdout);
        let complaints = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{name}: {text}\n{complaints}");
    }
}

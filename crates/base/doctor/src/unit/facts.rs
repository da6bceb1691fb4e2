//! Properties of a unit and the mounts of its process: [`UnitFacts`].

use std::collections::BTreeMap;
use std::path::Path;

use crate::program::run_for_output;

/// Exists while systemd is the first process of the machine.
const SYSTEMD_RUNS: &str = "/run/systemd/system";

/// Properties that are queried.
const PROPERTIES: &str = "LoadState,ActiveState,SubState,Result,UnitFileState,FragmentPath,NeedDaemonReload,\
    StatusText,MainPID,User,Group,Type,KillMode,LimitNOFILE,ExecStart,StateDirectory,CacheDirectory,LogsDirectory,\
    ReadWritePaths,ProtectSystem,ProtectHome,PrivateTmp,NoNewPrivileges,PrivateDevices";

/// Properties of a unit, which may be unknown to systemd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitFacts {
    properties: BTreeMap<String, String>,
    /// Mounts of its process, in the form of `/proc/PID/mountinfo`; `None` if it does not run, or
    /// this user has no access.
    pub mounts: Option<String>,
}

/// Result of querying a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitSighting {
    /// systemd returned the properties.
    Known(UnitFacts),
    /// Another program is the first process of this machine.
    NoSystemd,
    /// systemd gave no answer, for this reason.
    Silent(String),
}

/// Queries systemd for a unit.
pub fn examine_unit(unit: &str) -> UnitSighting {
    if !Path::new(SYSTEMD_RUNS).exists() {
        return UnitSighting::NoSystemd;
    }
    let properties = format!("--property={PROPERTIES}");
    match run_for_output(
        "systemctl",
        &["show", "--no-pager", &properties, "--", unit],
    ) {
        Ok(text) => {
            let mut facts = UnitFacts::parse(&text);
            if let Some(pid) = facts.main_pid() {
                facts.mounts = std::fs::read_to_string(format!("/proc/{pid}/mountinfo")).ok();
            }
            UnitSighting::Known(facts)
        }
        Err(why) => UnitSighting::Silent(why),
    }
}

// === impl UnitFacts ===

impl UnitFacts {
    /// Parses properties from lines `KEY=VALUE`.
    pub fn parse(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value.trim().to_owned()));
        Self {
            properties: pairs.collect(),
            mounts: None,
        }
    }

    /// The value of a property; empty if systemd does not know it.
    pub fn property(&self, name: &str) -> &str {
        self.properties.get(name).map_or("", String::as_str)
    }

    /// True if systemd found a file of this unit.
    pub fn is_installed(&self) -> bool {
        self.property("LoadState") != "not-found" && !self.property("FragmentPath").is_empty()
    }

    /// True if the unit runs, or is starting.
    pub fn is_active(&self) -> bool {
        matches!(
            self.property("ActiveState"),
            "active" | "reloading" | "activating"
        ) && self.property("SubState") != "auto-restart"
    }

    /// Id of its main process; `None` if it does not run.
    pub fn main_pid(&self) -> Option<u32> {
        self.property("MainPID")
            .parse()
            .ok()
            .filter(|pid| *pid != 0)
    }

    /// User that the unit runs as; `None` for root.
    pub fn user(&self) -> Option<&str> {
        Some(self.property("User")).filter(|user| !user.is_empty())
    }

    /// The value after an option in its command, such as `--config`; `None` if the option is
    /// absent.
    pub fn option(&self, option: &str) -> Option<&str> {
        let mut words = self.property("ExecStart").split_whitespace();
        words.find(|word| *word == option)?;
        words.next()
    }
}

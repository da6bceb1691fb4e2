//! Properties of a unit and the mounts of its process: [`UnitFacts`].

use std::collections::BTreeMap;
use std::path::Path;

use crate::program::output_of;

/// There while systemd is the first process of the machine.
const SYSTEMD_RUNS: &str = "/run/systemd/system";

/// Properties that are asked for.
const PROPERTIES: &str = "LoadState,ActiveState,SubState,Result,UnitFileState,FragmentPath,NeedDaemonReload,\
    StatusText,MainPID,User,Group,Type,KillMode,LimitNOFILE,ExecStart,StateDirectory,CacheDirectory,LogsDirectory,\
    ReadWritePaths,ProtectSystem,ProtectHome,PrivateTmp,NoNewPrivileges,PrivateDevices";

/// Properties of a unit that systemd knows, or says that it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitFacts {
    properties: BTreeMap<String, String>,
    /// Mounts of its process, in the form of `/proc/PID/mountinfo`; `None` where it does not run, or this user may not
    /// look.
    pub mounts: Option<String>,
}

/// Result of a look at a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitSighting {
    /// systemd answered.
    Known(UnitFacts),
    /// Another program is the first process of this machine.
    NoSystemd,
    /// systemd gave no answer, for this reason.
    Silent(String),
}

/// Asks systemd for a unit.
pub fn look(unit: &str) -> UnitSighting {
    if !Path::new(SYSTEMD_RUNS).exists() {
        return UnitSighting::NoSystemd;
    }
    let properties = format!("--property={PROPERTIES}");
    match output_of(
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
    /// Properties from lines `KEY=VALUE`.
    pub fn parse(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value.trim().to_owned()));
        Self {
            properties: pairs.collect(),
            mounts: None,
        }
    }

    /// A property; empty where systemd does not know it.
    pub fn property(&self, name: &str) -> &str {
        self.properties.get(name).map_or("", String::as_str)
    }

    /// True if systemd found a file of this unit.
    pub fn is_installed(&self) -> bool {
        self.property("LoadState") != "not-found" && !self.property("FragmentPath").is_empty()
    }

    /// True if it runs, or is about to say that it does.
    pub fn is_active(&self) -> bool {
        matches!(
            self.property("ActiveState"),
            "active" | "reloading" | "activating"
        ) && self.property("SubState") != "auto-restart"
    }

    /// Id of its first process.
    pub fn main_pid(&self) -> Option<u32> {
        self.property("MainPID")
            .parse()
            .ok()
            .filter(|pid| *pid != 0)
    }

    /// User that it runs as; `None`: root.
    pub fn user(&self) -> Option<&str> {
        Some(self.property("User")).filter(|user| !user.is_empty())
    }

    /// The value behind an option in its command, such as `--config`.
    pub fn option(&self, option: &str) -> Option<&str> {
        let mut words = self.property("ExecStart").split_whitespace();
        words.find(|word| *word == option)?;
        words.next()
    }
}

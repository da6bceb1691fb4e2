//! Paths of the lock files of the installed Puppet: [`PuppetSettings`].
//!
//! Only Puppet knows them (`puppet config print`, most of a second), so its answer is cached beside
//! the spool. Invariant: the cached answer is valid only as long as `puppet` and its `puppet.conf`
//! are unchanged.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::spawn;

/// The settings that a run needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PuppetSettings {
    pub(super) lastrunreport: PathBuf,
    pub(super) agent_disabled_lockfile: PathBuf,
    pub(super) agent_catalog_run_lockfile: PathBuf,
}

/// State of a file when the settings were read.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileWitness {
    path: PathBuf,
    /// Device, inode, size, and modification time in seconds and nanoseconds; `None` if the file
    /// did not exist.
    state: Option<(u64, u64, u64, i64, i64)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CachedSettings {
    witnesses: Vec<FileWitness>,
    settings: PuppetSettings,
}

impl PuppetSettings {
    /// The cached settings, if they are still valid.
    pub(super) fn read_cached(file: &Path, puppet: &Path) -> Option<Self> {
        let remembered: CachedSettings = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        let same = |witness: &FileWitness| *witness == FileWitness::of(&witness.path);
        let asked_this = remembered.witnesses.first()?.path == puppet;
        (asked_this && remembered.witnesses.iter().all(same)).then_some(remembered.settings)
    }

    /// Reads the settings from Puppet and caches them.
    pub(super) fn query_puppet(
        file: &Path,
        puppet: &Path,
        variables: &[(String, String)],
    ) -> Result<Self, String> {
        const NAMES: [&str; 4] = [
            "config",
            "lastrunreport",
            "agent_disabled_lockfile",
            "agent_catalog_run_lockfile",
        ];
        let mut args = vec!["config", "print", "--section", "agent"];
        args.extend(NAMES);
        let puppet_before = FileWitness::of(puppet);
        let printed = spawn::run_puppet_query(puppet, &args, variables)?;
        let values: HashMap<&str, PathBuf> = printed
            .lines()
            .filter_map(|line| line.split_once(" = "))
            .map(|(name, value)| (name.trim(), PathBuf::from(value.trim())))
            .collect();
        let get = |name: &str| {
            let found = values.get(name).filter(|path| path.is_absolute());
            found
                .cloned()
                .ok_or_else(|| format!("`puppet config print` does not say {name}"))
        };
        let settings = Self {
            lastrunreport: get("lastrunreport")?,
            agent_disabled_lockfile: get("agent_disabled_lockfile")?,
            agent_catalog_run_lockfile: get("agent_catalog_run_lockfile")?,
        };
        let remembered = CachedSettings {
            witnesses: vec![puppet_before, FileWitness::of(&get("config")?)],
            settings: settings.clone(),
        };
        let bytes = serde_json::to_vec(&remembered).map_err(|error| error.to_string())?;
        // If they cannot be cached, they are read again next time.
        let _ = pki::durable::write_atomic(file, &bytes, 0o640);
        Ok(settings)
    }
}

impl FileWitness {
    fn of(path: &Path) -> Self {
        let state = std::fs::metadata(path).ok().map(|meta| {
            (
                meta.dev(),
                meta.ino(),
                meta.size(),
                meta.mtime(),
                meta.mtime_nsec(),
            )
        });
        Self {
            path: path.to_owned(),
            state,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn puppet(dir: &Path, lock: &str) -> PathBuf {
        let path = dir.join("puppet");
        let text = format!(
            "#!/bin/sh\necho asked >>{0}/asked\necho 'config = {0}/puppet.conf'\n\
             echo 'lastrunreport = {0}/report'\necho 'agent_disabled_lockfile = {0}/disabled'\n\
             echo 'agent_catalog_run_lockfile = {lock}'\n",
            dir.display()
        );
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn settings_are_remembered_until_a_witness_changes() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("cache");
        let bin = puppet(dir.path(), "/run/a.lock");
        assert_eq!(PuppetSettings::read_cached(&file, &bin), None);
        let asked = PuppetSettings::query_puppet(&file, &bin, &[]).unwrap();
        assert_eq!(asked.agent_catalog_run_lockfile, Path::new("/run/a.lock"));
        assert_eq!(PuppetSettings::read_cached(&file, &bin), Some(asked));
        assert_eq!(
            PuppetSettings::read_cached(&file, Path::new("/bin/sh")),
            None
        );
        std::fs::write(dir.path().join("puppet.conf"), "[main]\n").unwrap();
        assert_eq!(PuppetSettings::read_cached(&file, &bin), None);
        std::fs::write(&file, "{").unwrap();
        assert_eq!(PuppetSettings::read_cached(&file, &bin), None);
    }

    #[test]
    fn a_puppet_that_says_nothing_useful_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let bin = puppet(dir.path(), "relative");
        let error = PuppetSettings::query_puppet(&dir.path().join("cache"), &bin, &[]).unwrap_err();
        assert!(error.contains("agent_catalog_run_lockfile"), "{error}");
    }
}

//! Settings of the installed Puppet: [`PuppetSettings`].
//!
//! Only Puppet knows them (`puppet config print`, most of a second), so its answer is cached beside
//! the spool. Invariant: the cached answer is valid only as long as `puppet` and its `puppet.conf`
//! are unchanged.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::runner_request::{CONFIG_FILE, PuppetModuleConfig};
use super::{environment, spawn};

/// The settings that a run needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PuppetSettings {
    pub(super) lastrunreport: PathBuf,
    pub(super) agent_disabled_lockfile: PathBuf,
    pub(super) agent_catalog_run_lockfile: PathBuf,
    /// Settings of the last catalog and its server; `None` if Puppet does not tell all of them.
    pub(super) catalog: Option<CatalogSettings>,
}

/// Settings of the last catalog, and of the server that gives catalogs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CatalogSettings {
    /// Directory of the last catalog.
    pub(super) client_datadir: PathBuf,
    pub(super) hostcert: PathBuf,
    pub(super) hostprivkey: PathBuf,
    pub(super) localcacert: PathBuf,
    pub(super) hostcrl: PathBuf,
    pub(super) certname: String,
    /// `HOST:PORT` of each server, in the order in which Puppet asks them.
    pub(super) servers: Vec<String>,
    /// `HOST:PORT` of the server of reports; `None` if it is the server that gives the catalog.
    pub(super) report_server: Option<String>,
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
        let mut args = vec!["config", "print", "--section", "agent"];
        args.extend(NAMES);
        let puppet_before = FileWitness::of(puppet);
        let printed = spawn::run_puppet_query(puppet, &args, variables)?;
        let values = PrintedSettings::parse(&printed);
        let settings = Self {
            lastrunreport: values.path("lastrunreport")?,
            agent_disabled_lockfile: values.path("agent_disabled_lockfile")?,
            agent_catalog_run_lockfile: values.path("agent_catalog_run_lockfile")?,
            catalog: values.catalog(),
        };
        let remembered = CachedSettings {
            witnesses: vec![puppet_before, FileWitness::of(&values.path("config")?)],
            settings: settings.clone(),
        };
        let bytes = serde_json::to_vec(&remembered).map_err(|error| error.to_string())?;
        // If they cannot be cached, they are read again next time.
        let _ = pki::durable::write_atomic(file, &bytes, 0o640);
        Ok(settings)
    }
}

/// The settings of the installed Puppet, cached in `file`. `modules_config_dir` has the file that may name the program.
pub(super) fn read_or_query(
    file: &Path,
    modules_config_dir: Option<&Path>,
) -> Result<PuppetSettings, String> {
    let (puppet, variables) = find_installed(modules_config_dir)?;
    match PuppetSettings::read_cached(file, &puppet) {
        Some(settings) => Ok(settings),
        None => PuppetSettings::query_puppet(file, &puppet, &variables),
    }
}

/// The path of the installed Puppet and its environment.
fn find_installed(
    modules_config_dir: Option<&Path>,
) -> Result<(PathBuf, Vec<(String, String)>), String> {
    let file = modules_config_dir.map(|directory| directory.join(CONFIG_FILE));
    let config = PuppetModuleConfig::read(file.as_deref())?;
    let puppet = environment::find(config.puppet_bin.as_deref())
        .map_err(|places| format!("Puppet is not installed (looked for {places})"))?;
    let own = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let variables = environment::variables(own, &puppet);
    Ok((puppet, variables))
}

/// Asks the installed Puppet for its state directory. `modules_config_dir` has the file that may name the program.
pub(crate) fn query_state_dir(modules_config_dir: Option<&Path>) -> Result<PathBuf, String> {
    let (puppet, variables) = find_installed(modules_config_dir)?;
    // Of a single setting Puppet prints the value alone.
    let args = ["config", "print", "--section", "agent", "statedir"];
    let printed = spawn::run_puppet_query(&puppet, &args, &variables)?;
    let path = PathBuf::from(printed.trim());
    match path.is_absolute() {
        true => Ok(path),
        false => Err("`puppet config print` does not say statedir".to_owned()),
    }
}

/// The settings that Puppet is asked for.
const NAMES: [&str; 15] = [
    "config",
    "lastrunreport",
    "agent_disabled_lockfile",
    "agent_catalog_run_lockfile",
    "client_datadir",
    "hostcert",
    "hostprivkey",
    "localcacert",
    "hostcrl",
    "certname",
    "server",
    "serverport",
    "server_list",
    "report_server",
    "report_port",
];

/// Port of a server if Puppet names none, as before Puppet 7.
const DEFAULT_PORT: &str = "8140";

/// The output of `puppet config print`.
struct PrintedSettings<'p>(HashMap<&'p str, &'p str>);

impl<'p> PrintedSettings<'p> {
    fn parse(printed: &'p str) -> Self {
        let lines = printed.lines().filter_map(|line| line.split_once(" = "));
        Self(
            lines
                .map(|(name, value)| (name.trim(), value.trim()))
                .collect(),
        )
    }

    /// A value; empty if Puppet does not know the setting.
    fn text(&self, name: &str) -> &'p str {
        self.0.get(name).copied().unwrap_or_default()
    }

    fn path(&self, name: &str) -> Result<PathBuf, String> {
        let path = PathBuf::from(self.text(name));
        match path.is_absolute() {
            true => Ok(path),
            false => Err(format!("`puppet config print` does not say {name}")),
        }
    }

    fn catalog(&self) -> Option<CatalogSettings> {
        Some(CatalogSettings {
            client_datadir: self.path("client_datadir").ok()?,
            hostcert: self.path("hostcert").ok()?,
            hostprivkey: self.path("hostprivkey").ok()?,
            localcacert: self.path("localcacert").ok()?,
            hostcrl: self.path("hostcrl").ok()?,
            certname: self.text("certname").to_owned(),
            servers: self.servers(),
            report_server: self.report_server(),
        })
    }

    fn servers(&self) -> Vec<String> {
        let listed = self.text("server_list").split(',').map(str::trim);
        let listed = listed.filter(|server| !server.is_empty());
        let port = Some(self.text("serverport")).filter(|port| !port.is_empty());
        let port = port.unwrap_or(DEFAULT_PORT);
        let mut servers: Vec<String> = listed.map(|server| with_port(server, port)).collect();
        let single = self.text("server");
        if servers.is_empty() && !single.is_empty() {
            servers.push(with_port(single, port));
        }
        servers
    }

    fn report_server(&self) -> Option<String> {
        let (server, port) = (self.text("report_server"), self.text("report_port"));
        let is_default =
            server.is_empty() || (server == self.text("server") && port == self.text("serverport"));
        (!is_default).then(|| with_port(server, port))
    }
}

/// `HOST:PORT` of a server that may have its own port.
fn with_port(server: &str, port: &str) -> String {
    match server.matches(':').count() {
        0 => format!("{server}:{port}"),
        1 => server.to_owned(),
        // an address of IPv6 in brackets may have a port
        _ if server.starts_with('[') && !server.ends_with(']') => server.to_owned(),
        _ if server.starts_with('[') => format!("{server}:{port}"),
        _ => format!("[{server}]:{port}"),
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
        assert_eq!(asked.catalog, None, "Puppet does not tell it");
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
    fn servers_are_those_that_puppet_asks() {
        let servers = |printed: &str| {
            let values = PrintedSettings::parse(printed);
            (values.servers(), values.report_server())
        };
        let single =
            "server = a\nserverport = 8141\nreport_server = a\nreport_port = 8141\nserver_list = ";
        assert_eq!(servers(single), (vec!["a:8141".to_owned()], None));
        let listed = "server = a\nserverport = 8140\nserver_list = b:1,c,2001:db8::1,[::1]:2\nreport_server = r\n\
                      report_port = 3";
        let (found, report) = servers(listed);
        assert_eq!(found, ["b:1", "c:8140", "[2001:db8::1]:8140", "[::1]:2"]);
        assert_eq!(report.as_deref(), Some("r:3"));
        assert_eq!(servers("server = old").0, ["old:8140"]);
        assert!(servers("").0.is_empty());
    }

    #[test]
    fn a_puppet_that_says_nothing_useful_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let bin = puppet(dir.path(), "relative");
        let error = PuppetSettings::query_puppet(&dir.path().join("cache"), &bin, &[]).unwrap_err();
        assert!(error.contains("agent_catalog_run_lockfile"), "{error}");
    }
}

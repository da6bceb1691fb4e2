//! The API's address and the certificates to trust. Main type: [`ConnectionFlags`].
//!
//! Invariant: a flag overrides the environment, which overrides the user's file, which overrides
//! the machine's file; the files are those of Puppet's client tools.

mod files;

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::Result;
use crate::defaults::SERVICE_URL;
use crate::input::read_limited;

use files::ConfigDirectories;
pub(crate) use files::ConfigTool;

/// Flags of all verbs. Environment variables are read by [`ConnectionFlags::settings`] and not by
/// `clap`, which would print a variable that is set as if it had been typed.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionFlags {
    /// URL of the API [env: TUTTI_SERVICE_URL] [default: https://localhost:8143]
    #[arg(long, global = true, value_name = "URL")]
    service_url: Option<String>,
    /// CA certificate that verifies the server [env: TUTTI_CACERT]
    #[arg(long, alias = "ca-cert", global = true, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Token file [env: TUTTI_TOKEN_FILE] [default: ~/.puppetlabs/token]
    #[arg(long, short = 'T', aliases = ["token", "token-path"], global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Read this file instead of those in ~/.puppetlabs/client-tools and /etc/puppetlabs/client-tools
    #[arg(long, short = 'c', global = true, value_name = "FILE")]
    config_file: Option<PathBuf>,
}

/// The effective settings from all sources.
#[derive(Clone, Debug)]
pub(crate) struct ClientSettings {
    pub service_url: String,
    /// Address to connect to, whatever the name in `service_url` resolves to.
    pub address: Option<SocketAddr>,
    pub cacert: Option<PathBuf>,
    pub token_file: PathBuf,
    /// Default environment of the verbs.
    pub environment: Option<String>,
    /// True if jobs are noop by default.
    pub noop: bool,
    /// False if output must never have colours.
    pub color: bool,
    /// Client certificate and its key; only for `PuppetDB` itself and for the CA.
    pub identity: Option<ClientIdentity>,
}

/// Files of a client certificate and its key.
#[derive(Clone, Debug)]
pub(crate) struct ClientIdentity {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// The CA certificate of Puppet's agent.
const PUPPET_CACERT: &str = "/etc/puppetlabs/puppet/ssl/certs/ca.pem";
const USER_TOKEN: &str = ".puppetlabs/token";
/// Paths that Puppet Enterprise's files have in the URL, and that this client adds itself.
const SERVICE_PATHS: [&str; 3] = ["/rbac-api", "/orchestrator/v1", "/orchestrator"];

// === impl ConnectionFlags ===

impl ConnectionFlags {
    /// Builds a connection from typed values, by the ids of their arguments.
    pub(crate) fn from_values<'v>(value: impl Fn(&str) -> Option<&'v str>) -> Self {
        let path = |id: &str| value(id).map(PathBuf::from);
        Self {
            service_url: value("service_url").map(str::to_owned),
            cacert: path("cacert"),
            token_file: path("token_file"),
            config_file: path("config_file"),
        }
    }

    /// The effective settings of most verbs.
    pub(crate) fn settings(&self) -> Result<ClientSettings> {
        self.settings_for(ConfigTool::Orchestrator)
    }

    /// The effective settings of the verbs of `tool`.
    pub(crate) fn settings_for(&self, tool: ConfigTool) -> Result<ClientSettings> {
        self.settings_at(tool, &ConfigDirectories::of_this_machine())
    }

    fn settings_at(&self, tool: ConfigTool, places: &ConfigDirectories) -> Result<ClientSettings> {
        let file = places.combined_options(tool, self.config_file.as_deref())?;
        let default_cacert = || Some(PathBuf::from(PUPPET_CACERT)).filter(|path| path.exists());
        let flags = self.clone();
        let url = flags
            .service_url
            .or_else(|| read_variable("TUTTI_SERVICE_URL"))
            .or(file.service_url)
            .unwrap_or_else(|| SERVICE_URL.to_owned());
        Ok(ClientSettings {
            service_url: strip_service_path(&url),
            address: None,
            cacert: flags
                .cacert
                .or_else(|| read_variable("TUTTI_CACERT").map(PathBuf::from))
                .or(file.cacert)
                .or_else(default_cacert),
            token_file: flags
                .token_file
                .or_else(|| read_variable("TUTTI_TOKEN_FILE").map(PathBuf::from))
                .or(file.token_file)
                .unwrap_or_else(|| places.home.join(USER_TOKEN)),
            environment: file.environment,
            noop: file.noop.unwrap_or(false),
            color: file.color.unwrap_or(true),
            identity: None,
        })
    }

    /// The text of `puppetdb.conf`, which has its own format: the named file, or the user's, or the
    /// machine's.
    pub(crate) fn read_config_text(&self, name: &str) -> Result<Option<(PathBuf, String)>> {
        match &self.config_file {
            Some(path) => Ok(Some((path.clone(), read_limited(path)?))),
            None => ConfigDirectories::of_this_machine().text(name),
        }
    }

    /// True if a flag or the environment names the CA.
    pub(crate) fn has_explicit_ca(&self) -> bool {
        self.cacert.is_some()
    }

    /// A connection that reads only the named file.
    #[cfg(test)]
    pub(crate) fn from_file(path: &std::path::Path) -> Self {
        Self {
            config_file: Some(path.to_owned()),
            ..Self::default()
        }
    }

    /// True if a flag, the environment or a file names the API's URL.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn has_service(&self) -> Result<bool> {
        if self.service_url.is_some() || read_variable("TUTTI_SERVICE_URL").is_some() {
            return Ok(true);
        }
        let file = ConfigDirectories::of_this_machine()
            .combined_options(ConfigTool::Orchestrator, self.config_file.as_deref())?;
        Ok(file.service_url.is_some())
    }

    /// True if a flag or the environment names the API's URL.
    pub(crate) fn has_explicit_service(&self) -> bool {
        self.service_url.is_some()
    }
}

/// The URL without the path that Puppet Enterprise's files have.
fn strip_service_path(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let path = SERVICE_PATHS.iter().find_map(|path| url.strip_suffix(path));
    path.unwrap_or(url).trim_end_matches('/').to_owned()
}

/// An environment variable; an empty one counts as not set.
fn read_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::files::USER;
    use super::*;

    /// The settings if the user's and the machine's files have these texts.
    fn settings(
        tool: ConfigTool,
        connection: &ConnectionFlags,
        files: &[(&str, &str)],
    ) -> ClientSettings {
        let directory = tempfile::tempdir().unwrap();
        let (home, machine) = (
            directory.path().join("home"),
            directory.path().join("machine"),
        );
        for (path, text) in files {
            let path = match path.strip_prefix("user/") {
                Some(name) => home.join(USER).join(name),
                None => machine.join(path.trim_start_matches("machine/")),
            };
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let places = ConfigDirectories { home, machine };
        connection.settings_at(tool, &places).unwrap()
    }

    const ORCHESTRATOR: &str = r#"{"options":{"service-url":"https://o:8143","token-file":"/o",
        "environment":"test","noop":true,"color":false,"other":[1]}}"#;
    const ACCESS: &str = r#"{"service-url":"https://a:4433/rbac-api","token-file":"/a",
        "certificate-file":"/a.pem"}"#;

    #[test]
    fn a_flag_beats_everything_and_slashes_do_not_matter() {
        let connection = ConnectionFlags {
            service_url: Some("https://tutti.example:8143/".to_owned()),
            cacert: Some("/ca.pem".into()),
            token_file: Some("/token".into()),
            config_file: None,
        };
        let settings = settings(
            ConfigTool::Orchestrator,
            &connection,
            &[("user/orchestrator.conf", ORCHESTRATOR)],
        );
        assert_eq!(settings.service_url, "https://tutti.example:8143");
        assert_eq!(settings.token_file, Path::new("/token"));
        assert_eq!(settings.environment.as_deref(), Some("test"));
        assert!(settings.noop && !settings.color);
    }

    #[test]
    fn the_users_file_beats_the_machines_key_by_key() {
        let user = r#"{"options":{"service-url":"https://u:8143/orchestrator/v1/"}}"#;
        let files = [
            ("user/orchestrator.conf", user),
            ("machine/orchestrator.conf", ORCHESTRATOR),
        ];
        let settings = settings(
            ConfigTool::Orchestrator,
            &ConnectionFlags::default(),
            &files,
        );
        assert_eq!(settings.service_url, "https://u:8143");
        assert_eq!(settings.token_file, Path::new("/o"));
    }

    #[test]
    fn puppet_access_has_a_file_of_its_own() {
        let files = [
            ("machine/puppet-access.conf", ACCESS),
            ("user/orchestrator.conf", ORCHESTRATOR),
        ];
        let access = settings(ConfigTool::Access, &ConnectionFlags::default(), &files);
        assert_eq!(access.service_url, "https://a:4433");
        assert_eq!(access.cacert.as_deref(), Some(Path::new("/a.pem")));
        let other = settings(
            ConfigTool::Orchestrator,
            &ConnectionFlags::default(),
            &files,
        );
        assert_eq!(other.service_url, "https://o:8143");
        let neither = settings(ConfigTool::Access, &ConnectionFlags::default(), &files[1..]);
        assert_eq!(neither.token_file, Path::new("/o"));
    }

    #[test]
    fn a_file_that_is_named_replaces_all_others_and_must_be_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.conf");
        std::fs::write(&path, ACCESS).unwrap();
        let mut connection = ConnectionFlags {
            config_file: Some(path),
            ..ConnectionFlags::default()
        };
        let files = [("user/orchestrator.conf", ORCHESTRATOR)];
        let settings = settings(ConfigTool::Orchestrator, &connection, &files);
        assert_eq!(settings.token_file, Path::new("/a"));
        assert_eq!(settings.environment, None);
        connection.config_file = Some("/nonexistent/x.conf".into());
        assert!(
            connection
                .settings()
                .unwrap_err()
                .to_string()
                .contains("/nonexistent/x.conf")
        );
    }
}

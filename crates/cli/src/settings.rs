//! Where the API is and how to trust it. Main type: [`Connection`].
//!
//! The rule: a flag beats the environment, the environment beats the user's file, that beats the
//! machine's file; the files are those of Puppet's client tools.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Failure;
use crate::defaults::{FILE_BYTES, SERVICE_URL};

/// Flags that every verb takes. The environment is read by [`Connection::settings`] and not by `clap`,
/// which would print a variable that is set as if it had been typed.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Connection")]
pub struct Connection {
    /// The API's address [env: TUTTI_SERVICE_URL] [default: https://localhost:8143]
    #[arg(long, global = true, value_name = "URL")]
    service_url: Option<String>,
    /// The CA's certificate that the server is checked against [env: TUTTI_CACERT]
    #[arg(long, global = true, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Where the token is kept [env: TUTTI_TOKEN_FILE] [default: ~/.puppetlabs/token]
    #[arg(long, short = 't', global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// What is in force after all places were read.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub service_url: String,
    pub cacert: Option<PathBuf>,
    pub token_file: PathBuf,
}

#[derive(Debug, Default, Deserialize)]
struct File {
    #[serde(default)]
    options: Options,
}

/// `orchestrator.conf`; keys of other tools are none of our business and ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Options {
    service_url: Option<String>,
    cacert: Option<PathBuf>,
    token_file: Option<PathBuf>,
}

/// Where Puppet's agent keeps the CA's certificate.
const PUPPET_CACERT: &str = "/etc/puppetlabs/puppet/ssl/certs/ca.pem";
const MACHINE_FILE: &str = "/etc/puppetlabs/client-tools/orchestrator.conf";
const USER_FILE: &str = ".puppetlabs/client-tools/orchestrator.conf";
const USER_TOKEN: &str = ".puppetlabs/token";

// === impl Connection ===

impl Connection {
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let home = std::env::home_dir();
        let user = match &home {
            Some(home) => read(&home.join(USER_FILE))?,
            None => Options::default(),
        };
        let machine = read(Path::new(MACHINE_FILE))?;
        let default_cacert = || Some(PathBuf::from(PUPPET_CACERT)).filter(|path| path.exists());
        let default_token = || home.unwrap_or_default().join(USER_TOKEN);
        let flags = self.clone();
        let url = flags
            .service_url
            .or_else(|| variable("TUTTI_SERVICE_URL"))
            .or(user.service_url)
            .or(machine.service_url);
        Ok(Settings {
            service_url: url
                .unwrap_or_else(|| SERVICE_URL.to_owned())
                .trim_end_matches('/')
                .to_owned(),
            cacert: flags
                .cacert
                .or_else(|| variable("TUTTI_CACERT").map(PathBuf::from))
                .or(user.cacert)
                .or(machine.cacert)
                .or_else(default_cacert),
            token_file: flags
                .token_file
                .or_else(|| variable("TUTTI_TOKEN_FILE").map(PathBuf::from))
                .or(user.token_file)
                .or(machine.token_file)
                .unwrap_or_else(default_token),
        })
    }
}

/// A variable that is set to nothing counts as not set.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn read(path: &Path) -> Result<Options, Failure> {
    match read_limited(path) {
        Ok(text) => serde_json::from_str::<File>(&text)
            .map(|file| file.options)
            .map_err(|error| Failure::Content {
                place: path.display().to_string(),
                what: error.to_string(),
            }),
        Err(Failure::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(Options::default())
        }
        Err(failure) => Err(failure),
    }
}

/// Reads a text file that a person named, but not without end.
pub(crate) fn read_limited(path: &Path) -> Result<String, Failure> {
    use std::io::Read as _;
    let fail = |source| Failure::Read {
        path: path.to_owned(),
        source,
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    file.take(FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(fail)?;
    if text.len() as u64 > FILE_BYTES {
        let what = format!("it is larger than {} MiB", FILE_BYTES >> 20);
        return Err(Failure::Content {
            place: path.display().to_string(),
            what,
        });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_beats_everything_and_slashes_do_not_matter() {
        let connection = Connection {
            service_url: Some("https://tutti.example:8143/".to_owned()),
            cacert: Some("/ca.pem".into()),
            token_file: Some("/token".into()),
        };
        let settings = connection.settings().unwrap();
        assert_eq!(settings.service_url, "https://tutti.example:8143");
        assert_eq!(settings.token_file, Path::new("/token"));
    }

    #[test]
    fn a_broken_file_is_named_with_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("orchestrator.conf");
        std::fs::write(&path, "{\n \"options\": 3}").unwrap();
        let said = read(&path).unwrap_err().to_string();
        assert!(
            said.contains("orchestrator.conf") && said.contains("line 2"),
            "{said}"
        );
    }

    #[test]
    fn keys_of_the_client_tools_are_read_and_others_are_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("orchestrator.conf");
        let text = r#"{"options":{"service-url":"https://x:8143","color":true,"noop":false}}"#;
        std::fs::write(&path, text).unwrap();
        assert_eq!(
            read(&path).unwrap().service_url.as_deref(),
            Some("https://x:8143")
        );
    }
}

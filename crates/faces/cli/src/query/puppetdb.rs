//! Queries to a `PuppetDB` without Tutti. Main types: [`PuppetDbFlags`], [`PuppetDbServer`].

use std::path::PathBuf;

use api_types::PuppetDbQuery;
use serde::Deserialize;
use serde_json::Value;

use crate::client::ApiClient;
use crate::input::parse_json;
use crate::settings::{ClientIdentity, ClientSettings, ConnectionFlags};
use crate::{CommandFailure, ProgramName, Result};

const FILE: &str = "puppetdb.conf";

/// URLs of PuppetDB, and the client certificate.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "PuppetDB itself")]
pub struct PuppetDbFlags {
    /// Query these PuppetDBs instead of Tutti; the first that answers is used; separated by commas
    #[arg(long, value_name = "URLS", value_delimiter = ',')]
    urls: Vec<String>,
    /// Client certificate
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the certificate
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

/// The URLs of one `PuppetDB` and a client for them.
#[derive(Debug)]
pub(crate) struct PuppetDbServer {
    urls: Vec<String>,
    settings: ClientSettings,
}

/// The content of `puppetdb.conf`.
#[derive(Debug, Default, Deserialize)]
struct PuppetDbConf {
    #[serde(default)]
    puppetdb: PuppetDbKeys,
}

#[derive(Debug, Default, Deserialize)]
struct PuppetDbKeys {
    server_urls: Option<ServerUrls>,
    cacert: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ServerUrls {
    One(String),
    Several(Vec<String>),
}

// === impl PuppetDbFlags ===

impl PuppetDbFlags {
    /// The PuppetDB to query; `None`: Tutti.
    pub(crate) fn server(
        &self,
        connection: &ConnectionFlags,
        name: ProgramName,
    ) -> Result<Option<PuppetDbServer>> {
        let reads_file = name == ProgramName::Puppet && !connection.has_explicit_service();
        let file = match reads_file {
            true => connection.read_config_text(FILE)?,
            false => None,
        };
        let keys = match file {
            Some((path, text)) => parse(&path.display().to_string(), &text)?,
            None => PuppetDbKeys::default(),
        };
        let urls = match (self.urls.is_empty(), keys.server_urls) {
            (false, _) => self.urls.clone(),
            (true, Some(ServerUrls::One(url))) => vec![url],
            (true, Some(ServerUrls::Several(urls))) => urls,
            (true, None) => return Ok(None),
        };
        let mut settings = connection.settings()?;
        let pair = (
            self.cert.clone().or(keys.cert),
            self.key.clone().or(keys.key),
        );
        if let (Some(cert), Some(key)) = pair {
            settings.identity = Some(ClientIdentity { cert, key });
        }
        if !connection.has_explicit_ca() {
            settings.cacert = keys.cacert.or(settings.cacert);
        }
        Ok(Some(PuppetDbServer { urls, settings }))
    }
}

// === impl PuppetDbServer ===

impl PuppetDbServer {
    /// Sends the query to the first URL that can be reached.
    pub(crate) async fn ask(&self, query: &PuppetDbQuery) -> Result<Vec<Value>> {
        let ask = async |client: ApiClient| client.post(&["pdb", "query", "v4"], query).await;
        self.first_that_answers(ask).await
    }

    /// Reads a document from the first URL that can be reached.
    pub(crate) async fn get(&self, path: &[&str]) -> Result<Value> {
        self.first_that_answers(async |client: ApiClient| client.get(path, &[]).await)
            .await
    }

    async fn first_that_answers<T>(&self, ask: impl AsyncFn(ApiClient) -> Result<T>) -> Result<T> {
        let mut last = CommandFailure::Usage("no PuppetDB is named in server_urls".to_owned());
        for url in &self.urls {
            let mut settings = self.settings.clone();
            settings.service_url = url.trim_end_matches('/').to_owned();
            match ask(ApiClient::with_identity(&settings)?).await {
                Err(failure @ CommandFailure::Unreachable { .. }) => last = failure,
                answer => return answer,
            }
        }
        Err(last)
    }
}

fn parse(place: &str, text: &str) -> Result<PuppetDbKeys> {
    parse_json(place, text).map(|file: PuppetDbConf| file.puppetdb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_puppet_enterprise_is_read() {
        let text = r#"{"puppetdb":{"server_urls":["https://a:8081","https://b:8081"],
            "cacert":"/ca","cert":"/cert","key":"/key"}}"#;
        let keys = parse("puppetdb.conf", text).unwrap();
        assert!(matches!(keys.server_urls, Some(ServerUrls::Several(urls)) if urls.len() == 2));
        let one = parse("x", r#"{"puppetdb":{"server_urls":"https://a:8081"}}"#).unwrap();
        assert!(matches!(one.server_urls, Some(ServerUrls::One(_))));
        let said = parse("puppetdb.conf", "{").err().unwrap().to_string();
        assert!(said.contains("puppetdb.conf"), "{said}");
    }

    #[test]
    fn tutti_is_asked_unless_somebody_names_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("puppetdb.conf");
        std::fs::write(&path, r#"{"puppetdb":{"server_urls":"https://a:8081"}}"#).unwrap();
        let with_file = ConnectionFlags::from_file(&path);
        let flags = PuppetDbFlags::default();
        assert!(
            flags
                .server(&with_file, ProgramName::Tutti)
                .unwrap()
                .is_none()
        );
        let server = flags
            .server(&with_file, ProgramName::Puppet)
            .unwrap()
            .unwrap();
        assert_eq!(server.urls, ["https://a:8081"]);
        let named = PuppetDbFlags {
            urls: vec!["https://b".to_owned()],
            ..PuppetDbFlags::default()
        };
        let server = named
            .server(&with_file, ProgramName::Tutti)
            .unwrap()
            .unwrap();
        assert_eq!(server.urls, ["https://b"]);
    }
}

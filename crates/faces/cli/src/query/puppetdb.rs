//! A `PuppetDB` that is asked without Tutti between. Main types: [`Flags`], [`Server`].

use std::path::PathBuf;

use api_types::PuppetDbQuery;
use serde::Deserialize;
use serde_json::Value;

use crate::client::Client;
use crate::settings::{Connection, Identity, Settings};
use crate::{Failure, Name};

const FILE: &str = "puppetdb.conf";

/// Where it is, and how to show who asks.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "PuppetDB itself")]
pub struct Flags {
    /// Ask these PuppetDBs, the first that answers, instead of Tutti; commas between them
    #[arg(long, value_name = "URLS", value_delimiter = ',')]
    urls: Vec<String>,
    /// The client's certificate
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

/// Several addresses of one `PuppetDB`.
#[derive(Debug)]
pub(crate) struct Server {
    urls: Vec<String>,
    settings: Settings,
}

/// `puppetdb.conf`.
#[derive(Debug, Default, Deserialize)]
struct File {
    #[serde(default)]
    puppetdb: Keys,
}

#[derive(Debug, Default, Deserialize)]
struct Keys {
    server_urls: Option<Urls>,
    cacert: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Urls {
    One(String),
    Several(Vec<String>),
}

// === impl Flags ===

impl Flags {
    /// The server that is to be asked; `None`: Tutti.
    pub(crate) fn server(
        &self,
        connection: &Connection,
        name: Name,
    ) -> Result<Option<Server>, Failure> {
        let reads_file = name == Name::Puppet && !connection.names_a_service();
        let file = match reads_file {
            true => connection.text_of(FILE)?,
            false => None,
        };
        let keys = match file {
            Some((path, text)) => parse(&path.display().to_string(), &text)?,
            None => Keys::default(),
        };
        let urls = match (self.urls.is_empty(), keys.server_urls) {
            (false, _) => self.urls.clone(),
            (true, Some(Urls::One(url))) => vec![url],
            (true, Some(Urls::Several(urls))) => urls,
            (true, None) => return Ok(None),
        };
        let mut settings = connection.settings()?;
        let pair = (
            self.cert.clone().or(keys.cert),
            self.key.clone().or(keys.key),
        );
        if let (Some(cert), Some(key)) = pair {
            settings.identity = Some(Identity { cert, key });
        }
        if !connection.names_a_ca() {
            settings.cacert = keys.cacert.or(settings.cacert);
        }
        Ok(Some(Server { urls, settings }))
    }
}

// === impl Server ===

impl Server {
    /// Asks one after the other until one can be reached.
    pub(crate) async fn ask(&self, query: &PuppetDbQuery) -> Result<Vec<Value>, Failure> {
        let ask = async |client: Client| client.post(&["pdb", "query", "v4"], query).await;
        self.first_that_answers(ask).await
    }

    /// Reads one document of the first that can be reached.
    pub(crate) async fn get(&self, path: &[&str]) -> Result<Value, Failure> {
        self.first_that_answers(async |client: Client| client.get(path, &[]).await)
            .await
    }

    async fn first_that_answers<T>(
        &self,
        ask: impl AsyncFn(Client) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut last = Failure::Usage("no PuppetDB is named in server_urls".to_owned());
        for url in &self.urls {
            let mut settings = self.settings.clone();
            settings.service_url = url.trim_end_matches('/').to_owned();
            match ask(Client::with_identity(&settings)?).await {
                Err(failure @ Failure::Unreachable { .. }) => last = failure,
                answer => return answer,
            }
        }
        Err(last)
    }
}

fn parse(place: &str, text: &str) -> Result<Keys, Failure> {
    let file: File = decode_errors::json::from_str(text).map_err(|error| Failure::Content {
        place: place.to_owned(),
        what: error.to_string(),
    })?;
    Ok(file.puppetdb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_puppet_enterprise_is_read() {
        let text = r#"{"puppetdb":{"server_urls":["https://a:8081","https://b:8081"],
            "cacert":"/ca","cert":"/cert","key":"/key"}}"#;
        let keys = parse("puppetdb.conf", text).unwrap();
        assert!(matches!(keys.server_urls, Some(Urls::Several(urls)) if urls.len() == 2));
        let one = parse("x", r#"{"puppetdb":{"server_urls":"https://a:8081"}}"#).unwrap();
        assert!(matches!(one.server_urls, Some(Urls::One(_))));
        let said = parse("puppetdb.conf", "{").err().unwrap().to_string();
        assert!(said.contains("puppetdb.conf"), "{said}");
    }

    #[test]
    fn tutti_is_asked_unless_somebody_names_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("puppetdb.conf");
        std::fs::write(&path, r#"{"puppetdb":{"server_urls":"https://a:8081"}}"#).unwrap();
        let with_file = Connection::reading(&path);
        let flags = Flags::default();
        assert!(flags.server(&with_file, Name::Tutti).unwrap().is_none());
        let server = flags.server(&with_file, Name::Puppet).unwrap().unwrap();
        assert_eq!(server.urls, ["https://a:8081"]);
        let named = Flags {
            urls: vec!["https://b".to_owned()],
            ..Flags::default()
        };
        let server = named.server(&with_file, Name::Tutti).unwrap().unwrap();
        assert_eq!(server.urls, ["https://b"]);
    }
}

//! Configuration of the PuppetDB connection: [`PuppetDbConfig`], also read from a `puppetdb.conf`
//! of Puppet's own tools.
//!
//! Two forms of that file are read: `{"puppetdb": {"server_urls": […], "cacert", "cert", "key"}}`
//! of the client tools, and `[main] server_urls = …` of a Puppet server. Invariant: plain `http`
//! is accepted for this machine only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pki::TlsFiles;
use reqwest::Url;
use serde_json::Value;

use crate::defaults::{CONNECT_TIMEOUT, MAX_RESPONSE_BYTES, READ_TIMEOUT, TOTAL_TIMEOUT};

/// Servers, certificate files, timeouts and limits of the PuppetDB connection.
#[derive(Clone, Debug)]
pub struct PuppetDbConfig {
    /// The servers, in the order in which they are tried.
    pub(crate) server_urls: Vec<Url>,
    /// `None` if every URL is plain `http` on this machine.
    pub(crate) tls: Option<TlsFiles>,
    /// Timeout for one connection attempt.
    pub connect_timeout: Duration,
    /// Timeout between two reads of a response.
    pub read_timeout: Duration,
    /// Timeout for one request, over all servers.
    pub total_timeout: Duration,
    /// Maximum size of one response, in bytes.
    pub max_response_bytes: usize,
}

/// The configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfError {
    /// The list of servers is empty.
    #[error(
        "no PuppetDB is named; give server_urls, for example [\"https://puppetdb.example:8081\"]"
    )]
    NoServer,
    /// A URL in the list is invalid.
    #[error("{url:?} is no address of a PuppetDB: {why}")]
    Url {
        /// The URL as configured.
        url: String,
        /// Description of the defect.
        why: String,
    },
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: std::io::Error,
    },
    /// The content of the file is invalid.
    #[error("{}: {what}", path.display())]
    Content {
        /// Path of the file.
        path: PathBuf,
        /// Position and description of the defect.
        what: String,
    },
}

/// The settings in a `puppetdb.conf`.
#[derive(Debug, Default, PartialEq, Eq)]
struct PuppetDbConfFile {
    server_urls: Vec<String>,
    cacert: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl PuppetDbConfig {
    /// A configuration with these servers and the default timeouts. `tls` is not used for plain
    /// `http`, which does not need it.
    pub fn new(
        server_urls: impl IntoIterator<Item = impl AsRef<str>>,
        tls: impl Into<Option<TlsFiles>>,
    ) -> Result<Self, ConfError> {
        let urls = server_urls
            .into_iter()
            .map(|url| parse_server_url(url.as_ref()));
        let urls: Vec<Url> = urls.collect::<Result<_, _>>()?;
        let Some(first) = urls.first() else {
            return Err(ConfError::NoServer);
        };
        let secure = first.scheme() == "https";
        if let Some(other) = urls.iter().find(|url| (url.scheme() == "https") != secure) {
            return Err(ConfError::Url {
                url: other.to_string(),
                why: "http and https cannot be mixed".to_owned(),
            });
        }
        let tls = tls.into().filter(|_| secure);
        if secure && tls.is_none() {
            return Err(ConfError::Url {
                url: first.to_string(),
                why: "https needs a client certificate".to_owned(),
            });
        }
        Ok(Self {
            server_urls: urls,
            tls,
            connect_timeout: CONNECT_TIMEOUT,
            read_timeout: READ_TIMEOUT,
            total_timeout: TOTAL_TIMEOUT,
            max_response_bytes: MAX_RESPONSE_BYTES,
        })
    }

    /// Reads a `puppetdb.conf`; certificate files that it does not name are taken from `tls`.
    pub fn from_file(path: &Path, tls: TlsFiles) -> Result<Self, ConfError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfError::Read {
            path: path.to_owned(),
            source,
        })?;
        let told = |what| ConfError::Content {
            path: path.to_owned(),
            what,
        };
        let conf = PuppetDbConfFile::parse(&text).map_err(told)?;
        let tls = TlsFiles {
            cert: conf.cert.unwrap_or(tls.cert),
            key: conf.key.unwrap_or(tls.key),
            ca: conf.cacert.unwrap_or(tls.ca),
            crl: tls.crl,
        };
        Self::new(conf.server_urls, tls).map_err(|error| told(error.to_string()))
    }

    /// Certificate files for connections to the servers; `None` for plain HTTP.
    pub fn tls(&self) -> Option<&TlsFiles> {
        self.tls.as_ref()
    }

    /// The URLs of the servers, in the order in which they are tried.
    pub fn server_urls(&self) -> &[Url] {
        &self.server_urls
    }
}

fn parse_server_url(text: &str) -> Result<Url, ConfError> {
    let told = |why: String| ConfError::Url {
        url: text.to_owned(),
        why,
    };
    let url = Url::parse(text.trim());
    let url = url.map_err(|_| told("write it as https://host:port".to_owned()))?;
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() {
        return Err(told("write only https://host:port".to_owned()));
    }
    let here = matches!(
        url.host_str(),
        Some("localhost" | "127.0.0.1" | "[::1]" | "::1")
    );
    match url.scheme() {
        "https" if url.host_str().is_some() => Ok(url),
        "http" if here => Ok(url),
        "http" => Err(told(
            "plain http goes to this machine only; use https, port 8081".to_owned(),
        )),
        _ => Err(told("it does not begin with https://".to_owned())),
    }
}

// === impl PuppetDbConfFile ===

impl PuppetDbConfFile {
    fn parse(text: &str) -> Result<Self, String> {
        let begin = text.trim_start_matches('\u{feff}').trim_start();
        if begin.starts_with('{') || begin.starts_with("puppetdb") {
            let value = hocon::parse(text).map_err(|error| error.to_string())?;
            return Self::from_json(&value);
        }
        Ok(Self::from_ini(text))
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        let section = value
            .get("puppetdb")
            .ok_or("there is no `puppetdb`; write {\"puppetdb\": {\"server_urls\": […]}}")?;
        let mut conf = Self::default();
        match section.get("server_urls") {
            Some(Value::String(urls)) => conf.add_urls(urls),
            Some(Value::Array(urls)) => {
                for url in urls {
                    let url = url.as_str();
                    conf.add_urls(url.ok_or("puppetdb.server_urls: an entry is no string")?);
                }
            }
            Some(_) => return Err("puppetdb.server_urls is a string or a list".to_owned()),
            None => {}
        }
        let path = |name: &str| match section.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(path)) => Ok(Some(PathBuf::from(path))),
            Some(_) => Err(format!("puppetdb.{name} is a path")),
        };
        conf.cacert = path("cacert")?;
        conf.cert = path("cert")?;
        conf.key = path("key")?;
        Ok(conf)
    }

    /// Only the section `[main]` is read; other keys are settings of the terminus.
    fn from_ini(text: &str) -> Self {
        let mut conf = Self::default();
        let mut in_main = true;
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                in_main = section.trim_end_matches(']').trim() == "main";
            } else if in_main
                && !line.starts_with(['#', ';'])
                && let Some((name, value)) = line.split_once('=')
            {
                let value = value.trim();
                match name.trim() {
                    "server_urls" => conf.add_urls(value),
                    "cacert" => conf.cacert = Some(value.into()),
                    "cert" => conf.cert = Some(value.into()),
                    "key" => conf.key = Some(value.into()),
                    _ => {}
                }
            }
        }
        conf
    }

    fn add_urls(&mut self, urls: &str) {
        let urls = urls.split(',').map(str::trim).filter(|url| !url.is_empty());
        self.server_urls.extend(urls.map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls() -> TlsFiles {
        TlsFiles {
            cert: "c".into(),
            key: "k".into(),
            ca: "a".into(),
            crl: Some("r".into()),
        }
    }

    #[test]
    fn both_forms_of_the_file_say_the_same() {
        let json = r#"{"puppetdb": {"server_urls": ["https://a:8081", "https://b:8081"],
            "cacert": "/ca.pem"}}"#;
        let ini = "# of the server\n[main]\nserver_urls = https://a:8081, https://b:8081\n\
                   soft_write_failure = true\ncacert=/ca.pem\n[other]\nserver_urls = x\n";
        let expected = PuppetDbConfFile {
            server_urls: vec!["https://a:8081".into(), "https://b:8081".into()],
            cacert: Some("/ca.pem".into()),
            ..PuppetDbConfFile::default()
        };
        assert_eq!(PuppetDbConfFile::parse(json).as_ref(), Ok(&expected));
        assert_eq!(PuppetDbConfFile::parse(ini).as_ref(), Ok(&expected));
    }

    #[test]
    fn a_file_fills_in_what_it_does_not_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "server_urls = https://a\ncert = /own.pem").unwrap();
        let config = PuppetDbConfig::from_file(file.path(), tls()).unwrap();
        let files = config.tls.unwrap();
        assert_eq!(files.cert, PathBuf::from("/own.pem"));
        assert_eq!(files.key, PathBuf::from("k"));
        assert_eq!(files.crl, Some(PathBuf::from("r")));
        std::fs::write(file.path(), "[main]\n").unwrap();
        let error = PuppetDbConfig::from_file(file.path(), tls()).unwrap_err();
        assert!(error.to_string().contains("server_urls"), "{error}");
    }

    #[test]
    fn plain_http_stays_on_this_machine() {
        let config = PuppetDbConfig::new(["http://localhost:8080"], tls()).unwrap();
        assert_eq!(config.tls, None);
        for bad in [
            "http://db.example:8080",
            "ftp://a",
            "db.example",
            "https://user:word@a",
            "https://a/?q=1",
            "",
        ] {
            assert!(PuppetDbConfig::new([bad], tls()).is_err(), "{bad}");
        }
        let mixed = ["https://a", "http://localhost:8080"];
        assert!(PuppetDbConfig::new(mixed, tls()).is_err());
        assert!(PuppetDbConfig::new([""; 0], tls()).is_err());
    }
}

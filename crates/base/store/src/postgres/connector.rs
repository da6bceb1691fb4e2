//! The settings of every connection to PostgreSQL: [`PostgresConnector`].

use tokio_postgres_rustls::MakeRustlsConnect;

use super::session;
use super::tls::TlsOptions;
use crate::OpenStoreError;

/// Address, TLS and settings with which every connection is made.
#[derive(Clone)]
pub(crate) struct PostgresConnector {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) tls: MakeRustlsConnect,
}

impl PostgresConnector {
    /// The connector that a URL describes.
    pub(crate) fn from_url(url: &str) -> Result<Self, OpenStoreError> {
        let (options, url) = TlsOptions::extract_options(url)?;
        let parsed = url.parse().map_err(|error: tokio_postgres::Error| {
            let what =
                std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string);
            OpenStoreError::InvalidUrl { what }
        });
        let mut config: tokio_postgres::Config = parsed?;
        let tls = options.into_connector(&mut config)?;
        session::configure(&mut config, &url);
        if config.get_application_name().is_none() {
            config.application_name("tutti");
        }
        Ok(Self { config, tls })
    }

    /// Host and name of the database, without user and password.
    pub(crate) fn describe_database(&self) -> String {
        use tokio_postgres::config::Host;
        let hosts: Vec<String> = self
            .config
            .get_hosts()
            .iter()
            .map(|host| match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(path) => path.display().to_string(),
            })
            .collect();
        format!(
            "PostgreSQL {}/{}",
            hosts.join(","),
            self.config.get_dbname().unwrap_or_default()
        )
    }
}

//! `[puppetserver]` of `tutti.toml`: [`PuppetserverSection`].
//!
//! Invariant: a puppetserver that is behind this server is not this server itself.

use std::path::PathBuf;

use anyhow::Result;
use pki::TlsFiles;
use reqwest::Url;
use serde::Deserialize;

use super::tls_files::client_files;

/// The puppetserver from which classes are read, and which may be behind this server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PuppetserverSection {
    /// URL of the puppetserver, `https://HOST:8140`.
    pub url: String,
    /// CA certificate for the puppetserver. The server's own certificate files are used for absent
    /// ones.
    pub cacert: Option<PathBuf>,
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// True if it is on this machine and uses Tutti's code ids.
    #[serde(default)]
    pub code_ids: bool,
    /// True if agents reach it through this server.
    #[serde(default)]
    pub front: bool,
}

// === impl PuppetserverSection ===

impl PuppetserverSection {
    /// Checks the values; `own_name` and `own_port` are those under which agents reach this server.
    pub(super) fn check(&self, own_name: &str, own_port: u16) -> Result<(), String> {
        let url = self.parse_url()?;
        let is_own_name = url.host_str().is_some_and(|host| host == own_name);
        match self.front && is_own_name && url.port_or_known_default() == Some(own_port) {
            true => Err(format!(
                "puppetserver.url is this server itself ({own_name}:{own_port}), so with puppetserver.front its \
                 requests would come back: move the puppetserver to another port, such as 8141 (ssl-port in its \
                 webserver.conf)"
            )),
            false => Ok(()),
        }
    }

    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [&mut self.cacert, &mut self.cert, &mut self.key]
            .into_iter()
            .flatten()
    }

    /// URL of the puppetserver, and the TLS files used for it; `own` are the server's.
    pub(crate) fn resolve_connection(&self, own: TlsFiles) -> Result<(Url, TlsFiles)> {
        let url = self.parse_url().map_err(anyhow::Error::msg)?;
        let files = [&self.cacert, &self.cert, &self.key].map(|file| file.as_deref());
        Ok((url, client_files(own, files[0], files[1], files[2])))
    }

    fn parse_url(&self) -> Result<Url, String> {
        match self.url.parse::<Url>() {
            Ok(url) if url.scheme() == "https" && url.has_host() => Ok(url),
            _ => Err("puppetserver.url must be like https://puppet.example:8140".to_owned()),
        }
    }
}

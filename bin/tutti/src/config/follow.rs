//! `[follow]` of `tutti.toml`: [`FollowSection`].

use std::net::SocketAddr;

use reqwest::Url;
use serde::Deserialize;

/// The server that is followed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowSection {
    /// Address of the server, such as `https://tutti.example.com:8143`.
    pub server: String,
    /// Certnames of the server, if they differ from the host of the address; `*` for any.
    #[serde(default)]
    pub server_certnames: Vec<String>,
    /// Behaviour if the server is silent for longer than its lease.
    #[serde(default)]
    pub stale: StaleEnvironmentPolicy,
    /// Address of the status page; `None`: the status is only in the log and in its file.
    pub status_listen: Option<SocketAddr>,
}

/// Treatment of environments that may no longer be live.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StaleEnvironmentPolicy {
    /// They are kept.
    #[default]
    Keep,
    /// They are removed until it is known.
    Withdraw,
}

// === impl FollowSection ===

impl FollowSection {
    pub(super) fn check(&self) -> Result<(), String> {
        self.parse_server_url().map(drop)
    }

    /// Address of the server that is followed.
    pub(crate) fn parse_server_url(&self) -> Result<Url, String> {
        match self.server.parse::<Url>() {
            Ok(url) if url.scheme() == "https" && url.has_host() && url.path() == "/" => Ok(url),
            _ => Err("follow.server must be like https://tutti.example.com:8143".to_owned()),
        }
    }
}

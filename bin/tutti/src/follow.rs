//! `tutti follow`: replicates the environments of another server, usually to a compiler. Main
//! function: [`run`].
//!
//! Invariant: it needs only a certificate of the CA, and a name on the other server's list.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use code_store::code_cache::CodeCache;
use file_sync::{Follower, FollowerSettings, StaleLeasePolicy};
use pki::{ClientAuth, ServerCertnames, ServerTls};
use reqwest::Url;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::{server, services};

/// The server that is followed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowSection {
    /// Address of the server, such as `https://tutti.example.com:8143`.
    server: String,
    /// Certnames of the server, if they differ from the host of the address; `*` for any.
    #[serde(default)]
    server_certnames: Vec<String>,
    /// Behaviour if the server is silent for longer than its lease.
    #[serde(default)]
    stale: StaleEnvironmentPolicy,
    /// Address of the status page; `None`: the status is only in the log and in its file.
    status_listen: Option<SocketAddr>,
}

/// Treatment of environments that may no longer be live.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StaleEnvironmentPolicy {
    /// They are kept.
    #[default]
    Keep,
    /// They are removed until it is known.
    Withdraw,
}

// === impl FollowSection ===

impl FollowSection {
    pub(crate) fn check(&self) -> Result<(), String> {
        self.parse_server_url().map(drop)
    }

    /// Address at which the status is served.
    pub(crate) fn status_listen(&self) -> Option<SocketAddr> {
        self.status_listen
    }

    fn parse_server_url(&self) -> Result<Url, String> {
        match self.server.parse::<Url>() {
            Ok(url) if url.scheme() == "https" && url.has_host() && url.path() == "/" => Ok(url),
            _ => Err("follow.server must be like https://tutti.example.com:8143".to_owned()),
        }
    }
}

/// Follows until `stop` is cancelled.
pub(crate) async fn run(config: Config, stop: CancellationToken) -> Result<()> {
    let follow = config
        .follow
        .as_ref()
        .context("the section [follow] is missing: server = \"https://tutti.example.com:8143\"")?;
    anyhow::ensure!(
        config.tls.is_some(),
        "the section [tls] is missing; who follows has a certificate from the CA of the server: a \
         compiler has that of its agent"
    );
    config.require_revocation()?;
    config.warn_without_revocation();
    let server = follow.parse_server_url().map_err(anyhow::Error::msg)?;
    let mut after: Vec<Arc<dyn CodeCache>> = Vec::new();
    if let Some(named) = &config.puppetserver {
        after.push(Arc::new(crate::code_manager::puppetserver(&config, named)?));
    }
    let settings = FollowerSettings {
        server: server.clone(),
        tls: config.tls_files(),
        certnames: ServerCertnames::from_list(&follow.server_certnames),
        directory: config.code.directory.clone(),
        environments: config.code.codedir.join("environments"),
        stale: match follow.stale {
            StaleEnvironmentPolicy::Keep => StaleLeasePolicy::Keep,
            StaleEnvironmentPolicy::Withdraw => StaleLeasePolicy::Withdraw,
        },
        code_caches: after,
    };
    let opened = tokio::task::spawn_blocking(move || Follower::open(settings)).await?;
    let follower = opened.context("cannot open the directories of code")?;
    let faces = TaskTracker::new();
    let mut summary = format!("following {server}");
    if let Some(address) = follow.status_listen {
        let tls = Arc::new(ServerTls::load(config.tls_files(), ClientAuth::Optional)?);
        faces.spawn(Arc::clone(&tls).watch(stop.clone()));
        let router =
            api::follower_status_router(env!("CARGO_PKG_VERSION").to_owned(), follower.subscribe());
        let at = server::serve(address, router, &tls, &faces, &stop)?;
        summary = format!("{summary}, status on {at}");
    }
    services::notify_ready(&summary);
    Box::pin(follower.run(stop)).await;
    services::notify_stopping();
    faces.close();
    faces.wait().await;
    Ok(())
}

//! `tutti follow`: replicates the environments of another server, usually to a compiler. Main
//! function: [`run`].
//!
//! Invariant: it needs only a certificate of the CA, and a name on the other server's list.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use code_store::code_cache::CodeCache;
use file_sync::{Follower, FollowerSettings, StaleLeasePolicy};
use pki::{ClientAuth, ServerCertnames, ServerTls};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::config::follow::StaleEnvironmentPolicy;
use crate::{server, services};

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

//! `tutti broker`: a standalone broker, which connects to its orchestrators. Main function:
//! [`run`].
//!
//! Invariant: it keeps no state except its certificate; agents stay connected while the
//! orchestrators are unreachable.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use broker::{Broker, BrokerConfig, ControllersConfig, ShippedPolicy};
use pki::{ClientAuth, ServerCertnames, ServerTls};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::services;

/// Serves until `stop` is cancelled.
pub(crate) async fn run(config: Config, stop: CancellationToken) -> Result<()> {
    ensure!(
        !config.broker.controller_uris.is_empty(),
        "broker.controller_uris is empty; name the orchestrators, such as \
         [\"wss://tutti.example.com:8143/server\"]"
    );
    ensure!(
        config.tls.is_some(),
        "the section [tls] is missing; a broker has a certificate from the CA of its agents \
         (`tutti ca generate {}`)",
        config.certname
    );
    config.require_revocation()?;
    config.warn_without_revocation();
    let tls = Arc::new(ServerTls::load(config.tls_files(), ClientAuth::Optional)?);
    let tasks = TaskTracker::new();
    tasks.spawn(Arc::clone(&tls).watch(stop.clone()));
    let mut settings = settings(&config)?;
    settings.controllers = Some(ControllersConfig {
        certnames: ServerCertnames::from_list(&config.broker.controller_certnames),
        ..ControllersConfig::new(config.broker.controller_uris.clone(), config.tls_files())
    });
    let broker = Broker::start(settings, tls, None)?;
    services::notify_ready(&format!("broker on {}", broker.local_addr()));
    stop.cancelled().await;
    services::notify_stopping();
    broker.shutdown().await;
    tasks.close();
    tasks.wait().await;
    Ok(())
}

/// A broker's settings from the file's section; the same for a broker inside the server.
pub(crate) fn settings(config: &Config) -> Result<BrokerConfig> {
    let policy = match &config.broker.authorization {
        Some(path) => crate::privileged_names::policy(path)?,
        None => ShippedPolicy::default()
            .policy()
            .context("the shipped authorization rules")?,
    };
    let mut settings = BrokerConfig::new(config.certname.parse()?, policy);
    settings.listen = config.broker.listen;
    settings.limits.max_connections = config.broker.max_connections;
    settings.limits.message_bytes = config.broker.max_message_bytes;
    settings.timeouts.idle = std::time::Duration::from_secs(config.broker.idle_timeout_s);
    Ok(settings)
}

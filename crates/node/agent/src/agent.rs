//! The complete agent: engine, connection, the intake between them, and the refresh of the
//! revocation list.
//!
//! [`Agent`] is the handle. Invariant: the engine has recovered its spool before the first request
//! can arrive, and outlives the connection, so that no received message is lost between the two.

use std::sync::Arc;
use std::time::Duration;

use actions::{ActionEngine, DownloadConfig, EngineConfig, EngineStartError};
use pki::TlsFiles;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::access_log::AccessLog;
use crate::bootstrap::{BootstrapError, CertificateBootstrap};
use crate::config::{ActionConfig, Config};
use crate::connection::{
    BrokerConnection, ConnectionConfig, ConnectionStartError, ConnectionStatus, LiveOutbox,
};
use crate::crl::{self, CrlConfig, CrlRefresh, CrlSource};
use crate::intake::{MessageIntake, RequestHandler};
use crate::worker::EngineWorker;

/// The hidden subcommand by which the agent starts wrappers: the program must call
/// [`actions::wrapper_main`] for it.
pub const RUN_ACTION: &str = "run-action";

/// Reason for which an agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum AgentStartError {
    /// There is no certificate and none could be obtained.
    #[error("no certificate")]
    Bootstrap(#[from] BootstrapError),
    /// The existing certificates cannot be used.
    #[error("the certificate files cannot be used")]
    Certificates(#[from] pki::LoadError),
    /// The spool or another directory cannot be used.
    #[error("cannot start the engine")]
    Engine(#[from] EngineStartError),
    /// The connection cannot be started: there is no broker.
    #[error(transparent)]
    Connection(#[from] ConnectionStartError),
}

/// A running agent; the handle of all its tasks.
#[derive(Debug)]
pub struct Agent {
    engine: ActionEngine,
    connection: BrokerConnection,
    crl_refresh: Option<CrlRefresh>,
}

// === impl Agent ===

impl Agent {
    /// Obtains a certificate if there is none, recovers earlier actions, and begins to connect.
    /// Returns before a connection is established. `bootstrap` is that of the configuration, if it
    /// has one, created beforehand so that its waits can be watched.
    pub async fn start(
        config: Config,
        bootstrap: Option<CertificateBootstrap>,
        access_log: AccessLog,
    ) -> Result<Self, AgentStartError> {
        let mut connection_config = config.connection;
        let ca = config.bootstrap.map(|ca| ca.server);
        if let Some(bootstrap) = bootstrap.filter(CertificateBootstrap::is_needed) {
            tracing::info!("there is no certificate yet");
            // Boxed: it contains an HTTP client that is needed once in a node's life.
            let files = Box::pin(bootstrap.run()).await?;
            if config.crl_from_ca.is_some() {
                connection_config.tls.crl = files.crl;
            }
        }
        let crl_source = match ca.zip(config.crl_from_ca) {
            Some((server, path)) => {
                let tls = &mut connection_config.tls;
                Some(crl_source(CrlConfig::new(server, tls.clone(), path), tls).await)
            }
            None => None,
        };
        if connection_config.tls.crl.is_none() {
            tracing::warn!(
                "no revocation list is in use: a revoked broker is not recognised; set ssl-crl, \
                 or start again when the CA answers"
            );
        }
        // Later attempts read the files again; at the start, an error is returned to the caller.
        pki::ClientTls::load(&connection_config.tls)?;

        let outbox = LiveOutbox::new(config.actions.max_message_bytes);
        let engine_config = engine_config(config.actions, &connection_config)?;
        let engine = ActionEngine::start(engine_config, Arc::new(outbox.clone())).await?;
        let worker = Arc::new(EngineWorker::new(engine.clone()));
        let requests: Arc<dyn RequestHandler> = Arc::clone(&worker) as _;
        let intake = Arc::new(MessageIntake::new(requests, access_log));
        let connection = BrokerConnection::start(connection_config, worker, outbox, intake)?;
        let crl_refresh =
            crl_source.map(|source| CrlRefresh::start(source, connection.revocations()));
        Ok(Self {
            engine,
            connection,
            crl_refresh,
        })
    }

    /// The current status of the connection, with its changes.
    pub fn status(&self) -> watch::Receiver<ConnectionStatus> {
        self.connection.status()
    }

    /// Stops all parts within `deadline`; running actions go on.
    pub async fn shutdown(self, deadline: Duration) {
        let end = Instant::now() + deadline;
        if let Some(refresh) = self.crl_refresh {
            refresh.shutdown(deadline).await;
        }
        self.connection
            .shutdown(end.saturating_duration_since(Instant::now()))
            .await;
        self.engine
            .shutdown(end.saturating_duration_since(Instant::now()))
            .await;
    }
}

// === impl AgentStartError ===

impl AgentStartError {
    /// True if a change of the configuration would help.
    pub fn is_configuration(&self) -> bool {
        !matches!(self, Self::Bootstrap(_))
    }
}

/// The source of the CA's revocation list, which is polled. If there is no list yet, it is fetched
/// at once, because only files that exist at the start are used.
async fn crl_source(config: CrlConfig, tls: &mut TlsFiles) -> CrlSource {
    let (server, path) = (config.server.clone(), config.path.clone());
    let mut source = CrlSource::new(config);
    if tls.crl.is_none() {
        tracing::info!("there is no revocation list yet");
        match source.refresh().await {
            Ok(_) => tls.crl = Some(path),
            Err(error) => crl::warn_about(&error, &server),
        }
    }
    source
}

/// The engine's settings, derived from the agent's.
fn engine_config(
    actions: ActionConfig,
    connection: &ConnectionConfig,
) -> Result<EngineConfig, AgentStartError> {
    // Not the path of the executable: after an upgrade on disk a running agent would start a newer
    // wrapper, whose orders may look different, or would find no file.
    let wrapper = vec!["/proc/self/exe".into(), RUN_ACTION.into()];
    let base = EngineConfig::new(actions.spool_dir, actions.cache_dir, wrapper);
    Ok(EngineConfig {
        spool_ttl: actions.spool_ttl,
        task_cache_ttl: actions.cache_ttl,
        modules_dir: actions.modules_dir,
        modules_config_dir: Some(actions.modules_config_dir),
        downloads: DownloadConfig {
            primary_uris: actions.primary_uris,
            tls: Some(connection.tls.clone()),
            proxy: actions.proxy.map(|proxy| proxy.to_string()),
            connect_timeout: actions.download_connect_timeout,
            total_timeout: actions.download_timeout,
            ..DownloadConfig::default()
        },
        max_message_bytes: actions.max_message_bytes,
        max_output_bytes: actions.max_output_bytes,
        max_spool_output_bytes: actions.max_spool_output_bytes,
        max_concurrent_actions: actions.concurrency,
        action_timeout: actions.action_timeout,
        facts_min_interval: actions.facts_min_interval,
        ..base
    })
}

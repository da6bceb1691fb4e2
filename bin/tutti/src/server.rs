//! `tutti server`: orchestrator, broker, CA and APIs in one process. Main function: [`run`].
//!
//! The rule: engines start before the faces that lead to them and stop after them, so that no request
//! is taken that cannot be kept.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use broker::{Broker, BrokerHandle};
use deploy::{Blobs, Code, EnvironmentDir};
use fabric::Fabric;
use jobs::{Jobs, JobsConfig};
use pcp::{Certname, PcpUri};
use pki::seal::SealKey;
use pki::{ClientAuth, ServerTls};
use store::{Store, StoreConfig};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::{ca, services};

/// Serves until `stop`.
pub(crate) async fn run(config: Config, stop: CancellationToken) -> Result<()> {
    let data_dir = config.data_dir.display().to_string();
    std::fs::create_dir_all(&config.data_dir).with_context(|| format!("cannot make {data_dir}"))?;
    let authority = match config.ca.enabled {
        true => Some(ca::open_or_init(&config)?),
        false => None,
    };
    if let Some(authority) = &authority {
        ca::ensure_own_certificate(&config, authority)?;
    }
    config.warn_without_revocation();
    let tls = Arc::new(ServerTls::load(config.tls_files(), ClientAuth::Optional)?);
    let background = TaskTracker::new();
    let stop_background = CancellationToken::new();
    background.spawn(Arc::clone(&tls).watch(stop_background.clone()));

    let engines = Engines::start(&config).await?;
    let broker = start_broker(&config, &tls, &engines.fabric)?;
    let faces = TaskTracker::new();
    let api = api::router(engines.api_state(&config, &stop)?);
    let api = serve(config.api.listen, api, &tls, &faces, &stop).await?;
    let mut listening = format!("API on {api}");
    if let Some(broker) = &broker {
        listening = format!("{listening}, broker on {}", broker.local_addr());
    }
    if config.puppet_api.enabled {
        let router = puppet_api::router(engines.puppet_api_state(&config, authority)?);
        let address = serve(config.puppet_api.listen, router, &tls, &faces, &stop).await?;
        listening = format!("{listening}, Puppet API on {address}");
    }
    services::ready(&listening);

    let lost = tokio::select! {
        () = stop.cancelled() => None,
        error = engines.jobs.lost() => Some(error),
    };
    stop.cancel();
    services::stopping();
    faces.close();
    if tokio::time::timeout(services::DRAIN_DEADLINE, faces.wait())
        .await
        .is_err()
    {
        tracing::warn!("some requests did not end in time and are cut");
    }
    engines.jobs.shutdown().await;
    if let Some(broker) = broker {
        broker.shutdown().await;
    }
    engines.store.close().await;
    stop_background.cancel();
    background.close();
    background.wait().await;
    match lost {
        None => Ok(()),
        // Not zero, so that whoever supervises the process starts it again.
        Some(error) => Err(error).context("the server ended because its job engine did"),
    }
}

/// What the faces lead to.
struct Engines {
    store: Store,
    fabric: Fabric,
    code: Arc<dyn Code>,
    blobs: Blobs,
    jobs: Jobs,
    access: access::Access,
}

// === impl Engines ===

impl Engines {
    async fn start(config: &Config) -> Result<Self> {
        let store = Store::open(&StoreConfig::new(config.store_url())).await?;
        let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
        let blobs = Blobs::open(config.data_dir.join("blobs"))?;
        let code: Arc<dyn Code> = Arc::new(EnvironmentDir::new(&config.code.codedir));
        let certname: Certname = config.certname.parse()?;
        let (fabric, inbox) = Fabric::new(PcpUri::server(&certname));
        let access = access::Access::open(store.clone(), &config.data_dir).await?;
        let jobs = Jobs::start(
            jobs_config(config),
            store.clone(),
            fabric.clone(),
            inbox,
            Arc::clone(&code),
            blobs.clone(),
            seal,
        )
        .await
        .context("cannot take up the jobs of before")?;
        Ok(Self {
            store,
            fabric,
            code,
            blobs,
            jobs,
            access,
        })
    }

    fn api_state(&self, config: &Config, stopping: &CancellationToken) -> Result<api::ApiState> {
        let brokers = remote_brokers(config)?;
        Ok(api::ApiState {
            jobs: self.jobs.clone(),
            store: self.store.clone(),
            fabric: self.fabric.clone(),
            code: Arc::clone(&self.code),
            access: self.access.clone(),
            info: api::Info {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                brokers,
                stopping: stopping.clone(),
                ..api::Info::default()
            },
        })
    }

    fn puppet_api_state(
        &self,
        config: &Config,
        authority: Option<pki::CertificateAuthority>,
    ) -> Result<puppet_api::State> {
        let autosign = puppet_api::Autosign::from_patterns(&config.ca.autosign)
            .context("ca.autosign of the configuration")?;
        let administrators = config.ca.administrators.iter().map(|name| name.parse());
        let administrators: Vec<Certname> = administrators
            .collect::<Result<_, _>>()
            .context("ca.administrators of the configuration")?;
        // Whoever held a certificate of one of these names would be taken for it.
        let mut reserved = remote_brokers(config)?;
        reserved.push(config.certname.parse()?);
        Ok(puppet_api::State {
            code: Arc::clone(&self.code),
            blobs: self.blobs.clone(),
            ca: authority.map(|authority| {
                puppet_api::CaService::new(authority, autosign, administrators, &reserved)
            }),
        })
    }
}

fn remote_brokers(config: &Config) -> Result<Vec<Certname>> {
    let names = config.broker.remote_brokers.iter();
    names
        .map(|name| name.parse())
        .collect::<Result<_, _>>()
        .context("broker.remote_brokers of the configuration")
}

fn jobs_config(config: &Config) -> JobsConfig {
    let day = Duration::from_secs(24 * 60 * 60);
    JobsConfig {
        task_concurrency: config.jobs.task_concurrency,
        run_timeout: Duration::from_secs(config.jobs.node_timeout_s),
        prune_after: Some(day * config.jobs.keep_days),
        ..JobsConfig::default()
    }
}

fn start_broker(
    config: &Config,
    tls: &Arc<ServerTls>,
    fabric: &Fabric,
) -> Result<Option<BrokerHandle>> {
    if !config.broker.enabled {
        return Ok(None);
    }
    let settings = crate::broker::settings(config)?;
    Ok(Some(Broker::start(
        settings,
        Arc::clone(tls),
        Some(fabric.clone()),
    )?))
}

/// Listens, and serves `router` until `stop`; answers where.
async fn serve(
    address: SocketAddr,
    router: axum::Router,
    tls: &Arc<ServerTls>,
    faces: &TaskTracker,
    stop: &CancellationToken,
) -> Result<SocketAddr> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; is another service there?"))?;
    let address = listener.local_addr()?;
    let config = https::Config {
        drain_deadline: services::DRAIN_DEADLINE / 2,
        ..Default::default()
    };
    faces.spawn(https::serve(
        listener,
        Arc::clone(tls),
        router,
        config,
        stop.clone(),
    ));
    Ok(address)
}

//! `tutti server`: orchestrator, broker, CA and APIs in one process. Main function: [`run`].
//!
//! Invariant: engines start before the APIs that use them and stop after them, so that no request
//! is accepted that cannot be served.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use broker::{Broker, BrokerHandle};
use environments::{BlobStore, CodeReader, EnvironmentDir};
use fabric::Fabric;
use jobs::{BootClock, Jobs, JobsConfig};
use optional_feature::FeatureStatus;
use pcp::{Certname, PcpUri};
use pki::seal::SealKey;
use pki::{ClientAuth, PrivilegedNames, ServerTls};
use store::Store;
use telemetry::Tracer;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::{ca, services};

/// Serves until `stop` is cancelled.
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
    let privileged_names = crate::privileged_names::registry(&config)?;
    let authority = authority.map(|it| it.with_privileged_names(Arc::clone(&privileged_names)));
    // Before any listener: a name with rights must not be issued on request.
    let autosign = puppet_api::AutosignPolicy::from_patterns(&config.ca.autosign)?;
    autosign.check(&privileged_names)?;
    config.warn_without_revocation();
    let tls = Arc::new(ServerTls::load(config.tls_files(), ClientAuth::Optional)?);
    let background = TaskTracker::new();
    let stop_background = CancellationToken::new();
    background.spawn(Arc::clone(&tls).watch(stop_background.clone()));

    let traces = crate::telemetry_export::start(&config.telemetry).await;
    let tracer = traces.tracer();
    let mut engines = Box::pin(ServerEngines::start(&config, &tracer)).await?;
    engines.features.extend(traces.feature());
    let broker = start_broker(&config, &tls, &engines.fabric)?;
    let collector =
        crate::inventory::collect(&config, &engines.inventory, &engines.fabric, &engines.jobs);
    let classes = crate::classifier::read_classes(&config, &engines.classifier)?;
    let faces = TaskTracker::new();
    let certificates = match authority {
        Some(authority) => {
            let service = puppet_api::CaService::new(authority, autosign, engines.audit.clone())?;
            Some(api::ServerAuthority {
                service,
                tls: Arc::clone(&tls),
                revocation_wait: api::defaults::REVOCATION_WAIT,
            })
        }
        None => None,
    };
    let state = engines.api_state(&config, privileged_names, tracer, &stop);
    let api = api::router(api::ApiState {
        certificates: certificates.clone(),
        ..state
    });
    let api = serve(config.api.listen, api, &tls, &faces, &stop)?;
    let mut listening = format!("API on {api}");
    if let Some(broker) = &broker {
        listening = format!("{listening}, broker on {}", broker.local_addr());
    }
    if config.puppet_api.enabled {
        let router = puppet_api::router(engines.puppet_api_state(certificates));
        let address = serve(config.puppet_api.listen, router, &tls, &faces, &stop)?;
        listening = format!("{listening}, Puppet API on {address}");
    }
    services::notify_ready(&listening);

    let lost = tokio::select! {
        () = stop.cancelled() => None,
        error = engines.store.ended() => Some(engine_ended_error("database", error)),
        error = engines.jobs.wait_until_lost() => Some(engine_ended_error("job engine", error)),
        error = engines.plans.wait_until_lost() => Some(engine_ended_error("plan engine", error)),
    };
    stop.cancel();
    services::notify_stopping();
    // First: a launch needs everything else.
    engines.scheduler.shutdown().await;
    faces.close();
    if tokio::time::timeout(services::DRAIN_DEADLINE, faces.wait())
        .await
        .is_err()
    {
        tracing::warn!("some requests did not end in time and are cut");
    }
    if let Some(collector) = collector {
        collector.shutdown().await;
    }
    if let Some(classes) = classes {
        classes.shutdown().await;
    }
    if let Some(code_manager) = &engines.code_manager {
        code_manager.shutdown().await;
    }
    // Before the jobs, which the plans create.
    engines.plans.shutdown().await;
    engines.jobs.shutdown().await;
    engines.ssh.shutdown().await;
    // After the jobs, so that their last events are sent if possible.
    engines.webhooks.shutdown().await;
    if let Some(broker) = broker {
        broker.shutdown().await;
    }
    engines.recheck.shutdown().await;
    engines.access.shutdown().await;
    engines.audit.shutdown().await;
    engines.store.close().await;
    // Last: all engines above may have produced spans.
    traces.shutdown().await;
    stop_background.cancel();
    background.close();
    background.wait().await;
    // Not zero, so that the supervisor restarts the process.
    lost.map_or(Ok(()), Err)
}

/// Error for an engine that ended unexpectedly.
fn engine_ended_error(
    what: &str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("the server ended because its {what} did"))
}

/// The engines that the APIs use.
struct ServerEngines {
    store: Store,
    fabric: Fabric,
    code: Arc<dyn CodeReader>,
    blobs: BlobStore,
    jobs: Jobs,
    plans: plans::Plans,
    inventory: inventory::Inventory,
    access: rbac::Rbac,
    external_directories: api::ExternalDirectories,
    recheck: external_directories::RemoteUserCheck,
    audit: audit::Audit,
    scheduler: api::JobScheduler,
    classifier: classifier::Classifier,
    connections: ssh::SshConnections,
    ssh: ssh::SshRunner,
    webhooks: webhooks::Webhooks,
    code_manager: Option<api::CodeService>,
    /// Configured parts that may be missing, in addition to the code deployments.
    features: Vec<FeatureStatus>,
}

// === impl ServerEngines ===

impl ServerEngines {
    async fn start(config: &Config, tracer: &Tracer) -> Result<Self> {
        let store = Store::open(&config.store_config()).await?;
        let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
        let blobs = BlobStore::open(config.data_dir.join("blobs"))?;
        let modules = config.data_dir.join("modules");
        crate::shipped_modules::write(&modules)?;
        let code = EnvironmentDir::new(&config.code.codedir)
            .with_modules(modules)
            .with_versions(config.code.directory.join("versions"));
        let code: Arc<dyn CodeReader> = Arc::new(code);
        let certname: Certname = config.certname.parse()?;
        let (fabric, inbox) = Fabric::new(PcpUri::server(&certname));
        let inventory = crate::inventory::open(config, store.clone()).await?;
        let directories = Box::pin(crate::directories::open(config, store.clone())).await?;
        let external_directories = directories.external_directories;
        let mut features = directories.features;
        features.extend(inventory.feature());
        let access = rbac::Rbac::open_with(
            store.clone(),
            &config.data_dir,
            crate::rbac::settings(config, &external_directories),
        );
        let access = Box::pin(access).await?;
        access.bind_groups(&external_directories.origins()).await?;
        let recheck = crate::directories::recheck(config, &access, &external_directories);
        let audit = crate::audit::open(config, store.clone()).await;
        let classifier = crate::classifier::open(store.clone(), &inventory).await?;
        let fleet = jobs::FleetResolver::new(inventory.clone(), classifier.clone());
        let connections = crate::ssh::connections(config, store.clone()).await?;
        let ssh = crate::ssh::start(config, &fabric, &connections, &blobs);
        let jobs = Jobs::start(
            JobsConfig {
                tracer: tracer.clone(),
                ..jobs_config(config, fleet)
            },
            store.clone(),
            fabric.clone(),
            inbox,
            Arc::clone(&code),
            blobs.clone(),
            seal,
        );
        let jobs = Box::pin(jobs)
            .await
            .context("cannot take up the jobs of before")?;
        let reach = crate::plans::PlanDependencies {
            store: &store,
            jobs: &jobs,
            access: &access,
            code: &code,
            blobs: &blobs,
            inventory: &inventory,
            classifier: &classifier,
            fabric: &fabric,
        };
        let plans = Box::pin(crate::plans::start(config, reach)).await?;
        let webhooks = crate::webhooks::start(config, store.clone()).await?;
        let works = crate::code_manager::CodeUsers {
            jobs: &jobs,
            plans: &plans,
            inventory: &inventory,
        };
        let code_manager = Box::pin(crate::code_manager::start(config, store.clone(), works)).await;
        let scheduler = crate::schedules::start(config, store.clone(), audit.clone())?;
        Ok(Self {
            store,
            fabric,
            code,
            blobs,
            jobs,
            plans,
            inventory,
            access,
            external_directories,
            recheck,
            audit,
            scheduler,
            classifier,
            connections,
            ssh,
            webhooks,
            code_manager,
            features,
        })
    }

    fn api_state(
        &self,
        config: &Config,
        privileged_names: Arc<PrivilegedNames>,
        tracer: Tracer,
        stopping: &CancellationToken,
    ) -> api::ApiState {
        api::ApiState {
            jobs: self.jobs.clone(),
            plans: self.plans.clone(),
            store: self.store.clone(),
            fabric: self.fabric.clone(),
            inventory: self.inventory.clone(),
            classifier: self.classifier.clone(),
            connections: self.connections.clone(),
            code: Arc::clone(&self.code),
            certificates: None,
            code_manager: self.code_manager.clone(),
            access: self.access.clone(),
            external_directories: self.external_directories.clone(),
            audit: self.audit.clone(),
            scheduler: self.scheduler.clone(),
            webhooks: self.webhooks.clone(),
            info: api::ServerInfo {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                privileged_names,
                metrics: vec![self.ssh.metrics()],
                plan_code: api::CodeModes {
                    everywhere: config.code.plans,
                    by_environment: config.code.plans_of.clone(),
                },
                plans_are_unattended: config.jobs.unattended_plans,
                run_code: api::CodeModes {
                    everywhere: config.code.puppet_runs,
                    by_environment: config.code.puppet_runs_of.clone(),
                },
                features: self.features.clone(),
                tracer,
                stopping: stopping.clone(),
                ..api::ServerInfo::default()
            },
        }
    }

    fn puppet_api_state(
        &self,
        certificates: Option<api::ServerAuthority>,
    ) -> puppet_api::PuppetApiState {
        puppet_api::PuppetApiState {
            code: Arc::clone(&self.code),
            blobs: self.blobs.clone(),
            ca: certificates.map(|it| it.service),
        }
    }
}

fn jobs_config(config: &Config, fleet: jobs::FleetResolver) -> JobsConfig {
    let day = Duration::from_secs(24 * 60 * 60);
    JobsConfig {
        task_concurrency: config.jobs.task_concurrency,
        global_concurrent_compiles: config.jobs.global_concurrent_compiles,
        resolve: Arc::new(fleet),
        console_url: config.jobs.console_url.clone(),
        file_server: config.puppet_api.file_server(&config.certname),
        run_timeout: Duration::from_secs(config.jobs.node_timeout_s),
        prune_after: Some(day * config.jobs.keep_days),
        withdrawals: Some(config.data_dir.join("withdrawn")),
        downloads: Some(config.data_dir.join("downloads")),
        clock: Arc::new(steady_clock(config)),
        ..JobsConfig::default()
    }
}

/// The clock of jobs and plans, which continues over restarts of the server.
pub(crate) fn steady_clock(config: &Config) -> BootClock {
    BootClock::open(&config.data_dir.join("clock.json"))
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

/// Listens, and serves `router` until `stop` is cancelled; returns the address.
pub(crate) fn serve(
    address: SocketAddr,
    router: axum::Router,
    tls: &Arc<ServerTls>,
    faces: &TaskTracker,
    stop: &CancellationToken,
) -> Result<SocketAddr> {
    let listener = https::listen(address)
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

//! `tutti server`: orchestrator, broker, CA and APIs in one process. Main function: [`run`].
//!
//! Invariant: engines start before the APIs that use them and stop after them, so that no request
//! is accepted that cannot be served.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_catalogs::AgentCatalogSources;
use anyhow::{Context as _, Result};
use broker::{Broker, BrokerHandle};
use convergence::RerunLimiter;
use environments::{BlobStore, CodeReader, EnvironmentDir};
use fabric::Fabric;
use file_bucket::FileBucket;
use jobs::{BootClock, Jobs, JobsConfig};
use pcp::{Certname, PcpUri};
use pki::seal::SealKey;
use pki::{CertificateAuthority, ClientAuth, PrivilegedNames, ServerTls};
use store::Store;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::applications::CompiledApplications;
use crate::catalog_compilers::ConfiguredCompilers;
use crate::config::Config;
use crate::{ca, services};

/// Serves until `stop` is cancelled.
pub(crate) async fn run(config: Config, stop: CancellationToken) -> Result<()> {
    let data_dir = config.data_dir.display().to_string();
    std::fs::create_dir_all(&config.data_dir).with_context(|| format!("cannot make {data_dir}"))?;
    let rules = config.puppet_api.rules()?;
    let issuing = CertificateIssuing::open(&config)?;
    config.warn_without_revocation();
    let tls = Arc::new(ServerTls::load(config.tls_files(), ClientAuth::Optional)?);
    let background = TaskTracker::new();
    let stop_background = CancellationToken::new();
    background.spawn(Arc::clone(&tls).watch(stop_background.clone()));

    let traces = crate::telemetry_export::start(&config.telemetry).await;
    let info = api::ServerInfo {
        privileged_names: Arc::clone(&issuing.privileged_names),
        tracer: traces.tracer(),
        stopping: stop.clone(),
        ..server_info(&config)
    };
    let mut engines = Box::pin(ServerEngines::start(&config, info)).await?;
    engines.api.info.features.extend(traces.feature());
    let broker = start_broker(&config, &tls, &engines.api.fabric)?;
    let collector = crate::inventory::collect(
        &config,
        &engines.api.inventory,
        &engines.api.fabric,
        &engines.api.jobs,
    );
    let classes = crate::classifier::read_classes(&config, &engines.api.classifier)?;
    let faces = TaskTracker::new();
    engines.api.certificates = issuing.start(engines.api.audit.clone(), &tls)?;
    let api = api::router(engines.api.clone());
    let api = serve(config.api.listen, api, &tls, &faces, &stop)?;
    let mut listening = format!("API on {api}");
    if let Some(broker) = &broker {
        listening = format!("{listening}, broker on {}", broker.local_addr());
    }
    if config.puppet_api.enabled {
        let router = puppet_api::router(engines.puppet_api_state(&config, rules)?);
        let address = serve(config.puppet_api.listen, router, &tls, &faces, &stop)?;
        listening = format!("{listening}, Puppet API on {address}");
    }
    services::notify_ready(&listening);

    let lost = engines.wait_until_lost(&stop).await;
    stop.cancel();
    services::notify_stopping();
    // First: a launch needs everything else.
    engines.api.scheduler.shutdown().await;
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
    engines.shutdown(broker).await;
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

/// What the server issues certificates with.
struct CertificateIssuing {
    /// `None` if another server has the CA.
    authority: Option<CertificateAuthority>,
    privileged_names: Arc<PrivilegedNames>,
    autosign: puppet_api::AutosignPolicy,
    /// Lifetime of certificates that agents renew; `None` if none are renewed.
    renewal: Option<Duration>,
}

// === impl CertificateIssuing ===

impl CertificateIssuing {
    /// Opens the CA, and issues the server's own certificate if there is none. To be called before any
    /// listener: a name with rights must not be issued on request.
    fn open(config: &Config) -> Result<Self> {
        let authority = match config.ca.enabled {
            true => Some(ca::open_or_init(config)?),
            false => None,
        };
        if let Some(authority) = &authority {
            ca::ensure_own_certificate(config, authority)?;
        }
        let privileged_names = crate::privileged_names::registry(config)?;
        let authority = authority.map(|it| it.with_privileged_names(Arc::clone(&privileged_names)));
        let autosign = puppet_api::AutosignPolicy::from_patterns(&config.ca.autosign)?;
        autosign.check(&privileged_names)?;
        Ok(Self {
            authority,
            privileged_names,
            autosign,
            renewal: config.ca.renewal_lifetime(),
        })
    }

    /// The CA for the APIs.
    fn start(
        self,
        audit: audit::Audit,
        tls: &Arc<ServerTls>,
    ) -> Result<Option<api::ServerAuthority>> {
        let Some(authority) = self.authority else {
            return Ok(None);
        };
        Ok(Some(api::ServerAuthority {
            service: puppet_api::CaService::new(authority, self.autosign, audit)?
                .with_renewal(self.renewal),
            tls: Arc::clone(tls),
            revocation_wait: api::defaults::REVOCATION_WAIT,
        }))
    }
}

/// The engines of the server.
struct ServerEngines {
    /// Those that the API uses.
    api: api::ApiState,
    blobs: BlobStore,
    job_catalogs: environments::JobCatalogs,
    file_bucket: FileBucket,
    recheck: external_directories::RemoteUserCheck,
    ssh: ssh::SshRunner,
}

// === impl ServerEngines ===

impl ServerEngines {
    /// Starts the engines; those that are metrics or optional parts are added to `info`.
    async fn start(config: &Config, mut info: api::ServerInfo) -> Result<Self> {
        let store = Store::open(&config.store_config()).await?;
        let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
        let blobs = BlobStore::open(config.data_dir.join("blobs"))?;
        let file_bucket = FileBucket::start(config.bucket.settings(&config.data_dir))?;
        let modules = config.data_dir.join("modules");
        crate::shipped_modules::write(&modules)?;
        let code = environments(config, &modules);
        let certname: Certname = config.certname.parse()?;
        let (fabric, inbox) = Fabric::new(PcpUri::server(&certname));
        let inventory = crate::inventory::open(config, store.clone()).await?;
        let users = Box::pin(UserEngines::open(config, &store, &mut info)).await?;
        let UserEngines {
            access,
            external_directories,
            recheck,
        } = users;
        info.features.extend(inventory.feature());
        let run_reports = crate::run_reports::start(config, &store, &inventory).await?;
        info.metrics
            .extend(crate::run_reports::metrics(&run_reports));
        let audit = crate::audit::open(config, store.clone()).await;
        let classifier = crate::classifier::open(store.clone(), &inventory).await?;
        let catalogs = crate::catalogs::start(
            config,
            Arc::clone(&code),
            modules,
            &classifier,
            &inventory,
            store.clone(),
        )
        .await?;
        let sources = AgentCatalogSources {
            catalogs: catalogs.clone(),
            inventory: inventory.clone(),
            run_reports: run_reports.clone(),
            code: Arc::clone(&code),
        };
        let agent_catalogs = crate::catalogs::agent_catalogs(config, &store, sources).await?;
        let fleet = jobs::FleetResolver::new(inventory.clone(), classifier.clone());
        let connections = crate::ssh::connections(config, store.clone()).await?;
        let ssh = crate::ssh::start(config, &fabric, &connections, &blobs);
        info.metrics.push(ssh.metrics());
        let job_catalogs = environments::JobCatalogs::default();
        let jobs = Jobs::start(
            JobsConfig {
                tracer: info.tracer.clone(),
                job_catalogs: job_catalogs.clone(),
                applications: Arc::new(CompiledApplications(catalogs.clone())),
                compilers: Arc::new(ConfiguredCompilers(catalogs.clone())),
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
        let limits = config.jobs.rerun_limits();
        let reruns = RerunLimiter::new(limits, Arc::new(steady_clock(config)));
        let reruns = Arc::new(reruns);
        info.metrics.push(reruns.metrics());
        let reach = crate::plans::PlanDependencies {
            store: &store,
            jobs: &jobs,
            access: &access,
            code: &code,
            blobs: &blobs,
            inventory: &inventory,
            classifier: &classifier,
            fabric: &fabric,
            catalogs: &catalogs,
            agent_catalogs: &agent_catalogs,
            reruns: &reruns,
        };
        let plans = Box::pin(crate::plans::start(config, reach)).await?;
        let webhooks = crate::webhooks::start(config, store.clone()).await?;
        let works = crate::code_manager::CodeUsers {
            jobs: &jobs,
            plans: &plans,
            inventory: &inventory,
            catalogs: &catalogs,
            agent_catalogs: &agent_catalogs,
        };
        let code_manager = Box::pin(crate::code_manager::start(config, store.clone(), works)).await;
        let scheduler = crate::schedules::start(config, store.clone(), audit.clone())?;
        let api = api::ApiState {
            jobs,
            plans,
            store,
            fabric,
            inventory,
            run_reports,
            classifier,
            connections,
            code,
            catalogs,
            agent_catalogs,
            certificates: None,
            code_manager,
            access,
            external_directories,
            audit,
            scheduler,
            webhooks,
            info,
        };
        Ok(Self {
            api,
            blobs,
            job_catalogs,
            file_bucket,
            recheck,
            ssh,
        })
    }

    /// Waits until `stop` is cancelled, or returns the error of an engine that ended before.
    async fn wait_until_lost(&self, stop: &CancellationToken) -> Option<anyhow::Error> {
        tokio::select! {
            () = stop.cancelled() => None,
            error = self.api.store.ended() => Some(engine_ended_error("database", error)),
            error = self.api.jobs.wait_until_lost() => Some(engine_ended_error("job engine", error)),
            error = self.api.plans.wait_until_lost() => Some(engine_ended_error("plan engine", error)),
        }
    }

    /// Ends the engines in the order in which they use each other. No API uses them any more.
    async fn shutdown(self, broker: Option<BrokerHandle>) {
        if let Some(code_manager) = &self.api.code_manager {
            code_manager.shutdown().await;
        }
        // Before the jobs, which the plans create.
        self.api.plans.shutdown().await;
        self.api.jobs.shutdown().await;
        self.ssh.shutdown().await;
        // After the plans and the API, which request catalogs.
        self.api.catalogs.shutdown().await;
        self.api.agent_catalogs.shutdown().await;
        // After the jobs, so that their last events are sent if possible.
        self.api.webhooks.shutdown().await;
        if let Some(broker) = broker {
            broker.shutdown().await;
        }
        // After the Puppet API, which stores files and records reports.
        self.file_bucket.shutdown().await;
        self.api.run_reports.shutdown().await;
        self.recheck.shutdown().await;
        self.api.access.shutdown().await;
        self.api.audit.shutdown().await;
        self.api.store.close().await;
    }

    fn puppet_api_state(
        &self,
        config: &Config,
        rules: Option<puppet_api::AuthorizationRules>,
    ) -> Result<puppet_api::PuppetApiState> {
        let certificates = self.api.certificates.as_ref();
        let agents = puppet_api::AgentServer {
            catalogs: self.api.agent_catalogs.clone(),
            code: Arc::clone(&self.api.code),
            name: config.certname.clone(),
        };
        Ok(puppet_api::PuppetApiState {
            code: Arc::clone(&self.api.code),
            job_catalogs: self.job_catalogs.clone(),
            codedir: config.code.codedir.clone(),
            catalogs: self.api.catalogs.clone(),
            blobs: self.blobs.clone(),
            mounts: config.puppet_api.mounts()?,
            ca: certificates.map(|it| it.service.clone()),
            run_reports: self.api.run_reports.clone(),
            agents: Some(agents),
            rules,
            bucket: self.file_bucket.clone(),
            front: crate::catalogs::front(config, &self.api.catalogs, &self.api.code)?,
        })
    }
}

/// Users, roles and tokens, and the directories of users who are not of this server.
struct UserEngines {
    access: rbac::Rbac,
    external_directories: api::ExternalDirectories,
    recheck: external_directories::RemoteUserCheck,
}

// === impl UserEngines ===

impl UserEngines {
    /// Opens them; the states of the directories are added to `info`.
    async fn open(config: &Config, store: &Store, info: &mut api::ServerInfo) -> Result<Self> {
        let directories = Box::pin(crate::directories::open(config, store.clone())).await?;
        let external_directories = directories.external_directories;
        info.features.extend(directories.features);
        let access = rbac::Rbac::open_with(
            store.clone(),
            &config.data_dir,
            crate::rbac::settings(config, &external_directories),
        );
        let access = Box::pin(access).await?;
        access.bind_groups(&external_directories.origins()).await?;
        let recheck = crate::directories::recheck(config, &access, &external_directories);
        Ok(Self {
            access,
            external_directories,
            recheck,
        })
    }
}

/// The code of all environments, with the modules that the server has for each.
fn environments(config: &Config, modules: &Path) -> Arc<dyn CodeReader> {
    let code = EnvironmentDir::new(&config.code.codedir)
        .with_modules(modules.to_owned())
        .with_versions(config.code.directory.join("versions"));
    Arc::new(code)
}

/// The properties of the server that its configuration determines.
fn server_info(config: &Config) -> api::ServerInfo {
    api::ServerInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        plan_code: api::CodeModes {
            everywhere: config.code.plans,
            by_environment: config.code.plans_of.clone(),
        },
        plans_are_unattended: config.jobs.unattended_plans,
        run_code: api::CodeModes {
            everywhere: config.code.puppet_runs,
            by_environment: config.code.puppet_runs_of.clone(),
        },
        ..api::ServerInfo::default()
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

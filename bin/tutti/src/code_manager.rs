//! Code deployments of this server. Main function: [`start`].

use agent_catalogs::AgentCatalogs;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use code_deployments::gate::CompileGate;
use code_deployments::puppetserver::PuppetserverAdmin;
use code_deployments::service::{CodeUser, DeploymentListeners, DeploymentObserver, VersionsInUse};
use code_deployments::{CodeManager, Deployer};
use code_settings::{DeploymentSettings, R10kFile};
use code_sources::git::GitProgram;
use code_store::code_cache::CodeCache;
use code_store::version::VersionSignature;
use code_store::versioned_code::VersionCodeId;
use code_store::write_probe::WriteProbe;
use environments::EnvironmentName;
use file_sync::{FileSync, FileSyncSettings};
use forges::incoming_webhooks::WebhookSecret;
use jobs::CatalogCode;
use optional_feature::{Feature, FeatureStatus};
use serde_json::Value;
use store::Store;
use tokio::sync::{Mutex, watch};

use crate::catalogs_ahead::CatalogsAhead;
use crate::config::Config;
use crate::config::puppetserver::PuppetserverSection;
use crate::configured_file::read_text;

/// Parts of the server that use code.
#[derive(Clone, Copy)]
pub(crate) struct CodeUsers<'s> {
    pub(crate) jobs: &'s jobs::Jobs,
    pub(crate) plans: &'s ::plans::Plans,
    /// Source of the code versions that nodes use.
    pub(crate) inventory: &'s inventory::Inventory,
    /// Compilations, which use code versions.
    pub(crate) catalogs: &'s ::catalogs::Catalogs,
    pub(crate) agent_catalogs: &'s AgentCatalogs,
}

/// Starts the code deployments; `None`: the configuration names neither sources nor a staging
/// directory. No fault in them keeps the server from starting.
pub(crate) async fn start(
    config: &Config,
    store: Store,
    works: CodeUsers<'_>,
) -> Option<api::CodeService> {
    if config.code.r10k_config.is_none() && config.code.staging_directory.is_none() {
        return None;
    }
    let starter = Arc::new(CodeManagerStarter {
        config: config.clone(),
        store,
        jobs: works.jobs.clone(),
        plans: works.plans.clone(),
        inventory: works.inventory.clone(),
        catalogs: works.catalogs.clone(),
        agent_catalogs: works.agent_catalogs.clone(),
    });
    let inability = "this server cannot deploy code";
    let begin = move || {
        let starter = Arc::clone(&starter);
        async move { starter.start().await }
    };
    let started = Feature::start(api::CODE_MANAGER_SERVICE, inability, begin).await;
    let webhook_secret = match &config.code.webhook_secret_file {
        Some(path) => Some(webhook_secret(path.clone()).await),
        None => None,
    };
    Some(api::CodeService::new(started, webhook_secret))
}

async fn webhook_secret(path: PathBuf) -> Feature<WebhookSecret> {
    const KEY: &str = "code.webhook_secret_file";
    let inability = "this server cannot check webhooks of forges";
    let read = move || {
        let text = read_text(KEY, &path)?;
        WebhookSecret::new(&text).map_err(|error| format!("{KEY}, {}: {error}", path.display()))
    };
    Feature::start_by_reading("code-webhook-service", inability, read).await
}

/// Starts the code deployments, also repeatedly.
struct CodeManagerStarter {
    config: Config,
    store: Store,
    jobs: jobs::Jobs,
    plans: ::plans::Plans,
    inventory: inventory::Inventory,
    catalogs: ::catalogs::Catalogs,
    agent_catalogs: AgentCatalogs,
}

impl CodeManagerStarter {
    /// Opens the directories and resumes earlier deployments. The error names cause, place and next
    /// step.
    async fn start(&self) -> Result<api::CodeDeploymentParts, String> {
        Box::pin(self.try_start()).await.map_err(|error| {
            let code = &self.config.code;
            let probe = WriteProbe::new(&code.directory, code.codedir.join("environments"));
            let obstacles = probe.obstacles();
            let told: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
            match told.is_empty() {
                true => format!("{error:#}"),
                false => format!("{error:#}: {}", told.join("; ")),
            }
        })
    }

    /// Resumes earlier deployments.
    async fn try_start(&self) -> Result<api::CodeDeploymentParts> {
        let (config, store) = (&self.config, &self.store);
        let (deployer, observers, features) = open(config).await?;
        let mut after: Vec<Arc<dyn CodeCache>> = Vec::new();
        if let Some(named) = &config.puppetserver {
            after.push(Arc::new(puppetserver(config, named)?));
        }
        if config.catalogs.compile_ahead {
            after.push(Arc::new(CatalogsAhead(self.agent_catalogs.clone())));
        }
        let in_use = Arc::new(VersionUsers {
            store: store.clone(),
            inventory: self.inventory.clone(),
            catalogs: self.catalogs.clone(),
            agent_catalogs: self.agent_catalogs.clone(),
            worker_ends: Mutex::new(WorkerEndReceivers {
                plans: self.plans.watch_ended_plans(),
                puppet: self.jobs.watch_puppet_ends(),
            }),
        });
        let followed = FileSyncSettings {
            lease: Duration::from_secs(config.code.followers_lease_s),
            timeout: Duration::from_secs(config.code.followers_timeout_s),
        };
        let file_sync = FileSync::start(followed, store.clone(), deployer.versions().clone()).await;
        let others = DeploymentListeners {
            code_caches: after,
            observers,
            file_sync: Some(file_sync.context("cannot take up what followers were told")?),
        };
        let manager = CodeManager::start(deployer, store.clone(), in_use, others).await;
        let manager = manager.context("cannot take up the deployments of before")?;
        for obstacle in manager.write_obstacles().await {
            tracing::warn!("no deployment can go live: {obstacle}");
        }
        Ok(api::CodeDeploymentParts { manager, features })
    }
}

/// Opens the directories, with the control repositories of r10k's settings and the observers;
/// without repositories if only other tools publish.
async fn open(
    config: &Config,
) -> Result<(
    Deployer,
    Vec<Arc<dyn DeploymentObserver>>,
    Vec<FeatureStatus>,
)> {
    let code = &config.code;
    let mut own = DeploymentSettings::new(&code.directory, code.codedir.join("environments"));
    own.staging.clone_from(&code.staging_directory);
    own.keep = code.retention();
    let file = code.r10k_config.as_ref();
    let file = file.map(|path| R10kFile::new(path, own.clone()));
    let (settings, git) = match &file {
        Some(file) => file.read_settled().await.context("code.r10k_config")?,
        None => (own, GitProgram::default()),
    };
    let (observers, features) = crate::deployment_observers::observers(config, &settings).await?;
    let opened = tokio::task::spawn_blocking(move || Deployer::open(settings, git)).await?;
    let deployer = opened.context("cannot open the directories of code")?;
    let deployer = match file {
        Some(file) => deployer.with_settings_file(file),
        None => deployer,
    };
    Ok((deployer, observers, features))
}

pub(crate) fn puppetserver(
    config: &Config,
    named: &PuppetserverSection,
) -> Result<PuppetserverAdmin> {
    let (url, files) = named.resolve_connection(config.tls_files())?;
    let puppetserver = PuppetserverAdmin::new(url, files);
    let puppetserver = match named.front {
        true => puppetserver.behind(),
        false => puppetserver,
    };
    Ok(match named.code_ids {
        true => puppetserver.with_gate(CompileGate::new(&config.code.directory)),
        false => puppetserver,
    })
}

/// Code versions in use: unfinished plans and jobs keep their versions, nodes those of their
/// catalogs, and compilations theirs.
#[derive(Debug)]
struct VersionUsers {
    store: Store,
    inventory: inventory::Inventory,
    catalogs: ::catalogs::Catalogs,
    agent_catalogs: AgentCatalogs,
    worker_ends: Mutex<WorkerEndReceivers>,
}

/// Receivers that change when a plan or a job is over.
#[derive(Debug)]
struct WorkerEndReceivers {
    plans: watch::Receiver<u64>,
    puppet: watch::Receiver<u64>,
}

#[async_trait]
impl VersionsInUse for VersionUsers {
    async fn versions(&self) -> Result<HashSet<(EnvironmentName, VersionSignature)>, String> {
        let running = self.unfinished_plans().await?;
        let of_plans = running
            .iter()
            .filter_map(|(_, options)| options["code_id"].as_str());
        // A node may request the files of its catalog, even of a cached one.
        let of_nodes = self.inventory.code_ids().await;
        let of_nodes = of_nodes.map_err(|error| error.to_string())?;
        let of_catalogs = self.catalogs.versions_in_use();
        let of_agents = self.agent_catalogs.versions_in_use().await;
        let of_agents = of_agents.map_err(|error| error.to_string())?;
        let of_jobs = self.unfinished_puppet_jobs().await?;
        let of_jobs = of_jobs.iter().filter_map(|(_, options)| {
            CatalogCode::pinned_code_id(options).and_then(parse_code_version)
        });
        let others = of_nodes.iter().chain(&of_catalogs).chain(&of_agents);
        let used = of_plans.chain(others.map(String::as_str));
        Ok(used.filter_map(parse_code_version).chain(of_jobs).collect())
    }

    async fn code_users(&self) -> Result<Vec<(CodeUser, EnvironmentName)>, String> {
        let running = self.unfinished_plans().await?;
        let plan = |(number, options): &(i64, Value)| {
            let environment = options["environment"].as_str()?.parse().ok()?;
            (options["code"] == "lock").then_some((CodeUser::Plan(*number), environment))
        };
        let mut held: Vec<_> = running.iter().filter_map(plan).collect();
        let jobs = self.unfinished_puppet_jobs().await?.into_iter();
        held.extend(jobs.filter_map(|(row, options)| {
            let environment = row.environment.parse().ok()?;
            CatalogCode::is_locked(&options)
                .then_some((CodeUser::Job(row.number.get()), environment))
        }));
        Ok(held)
    }

    async fn wait_for_finished_user(&self) {
        let mut over = self.worker_ends.lock().await;
        let WorkerEndReceivers { plans, puppet } = &mut *over;
        let over = tokio::select! {
            over = plans.changed() => over,
            over = puppet.changed() => over,
        };
        if over.is_err() {
            // The engines have stopped, and no plan or job of theirs ends any more.
            std::future::pending::<()>().await;
        }
    }
}

/// Environment and version that a code id names; `None`: it is not one of Tutti's.
fn parse_code_version(code_id: &str) -> Option<(EnvironmentName, VersionSignature)> {
    let VersionCodeId {
        environment,
        signature,
    } = code_id.parse().ok()?;
    Some((environment, signature))
}

impl VersionUsers {
    /// The unfinished plans, with their requests.
    async fn unfinished_plans(&self) -> Result<Vec<(i64, Value)>, String> {
        let running = self.store.running_plans().await;
        let running = running.map_err(|error| error.to_string())?.into_iter();
        let read = |row: store::RunningPlanRow| {
            let options = serde_json::from_str(&row.options).unwrap_or_default();
            (row.number, options)
        };
        Ok(running.map(read).collect())
    }

    /// The unfinished jobs of Puppet runs, with their options.
    async fn unfinished_puppet_jobs(&self) -> Result<Vec<(store::OpenDeployRow, Value)>, String> {
        let jobs = self.store.open_deploys().await;
        let jobs = jobs.map_err(|error| error.to_string())?.into_iter();
        let read = |row: store::OpenDeployRow| {
            let options = serde_json::from_str(&row.options).unwrap_or_default();
            (row, options)
        };
        Ok(jobs.map(read).collect())
    }
}

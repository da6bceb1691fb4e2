//! The compiler of catalogs of this server. Main function: [`start`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::catalogs::{
    CapabilitySources, CatalogSettings, Catalogs, EmbeddedCapabilities, EmbeddedExports,
    InventoryQueries, PuppetdbCapabilities, PuppetdbExports,
};
use agent_catalogs::{AgentCatalogSettings, AgentCatalogSources, AgentCatalogs, CatalogDatabase};
use anyhow::{Context as _, Result};
use classifier::Classifier;
use code_settings::R10kSettings;
use compiler::{ExportedResources, PuppetdbQueries};
use environments::CodeReader;
use inventory::Inventory;
use pcore::{Hash, Value};
use pki::seal::SealKey;
use puppet_api::PuppetserverFront;
use ruby_workers::{HiddenPaths, RubyUser, RubyWorkerSettings, RubyWorkers};
use store::Store;
use tokio::runtime::Handle;

use crate::config::Config;
use crate::server_address::ServerAddresses;

/// The version of Puppet whose catalogs are compiled, for `$serverversion`.
const PUPPET_VERSION: &str = "8.10.0";

/// Starts the engine. It reads no code before the first request.
pub(crate) async fn start(
    config: &Config,
    code: Arc<dyn CodeReader>,
    shipped_modules: PathBuf,
    classifier: &Classifier,
    inventory: &Inventory,
    store: Store,
) -> Result<Catalogs> {
    let section = &config.catalogs;
    warn_of_unknown_groups(config, classifier);
    let defaults = CatalogSettings::default();
    let runtime = Handle::current();
    let seal = Arc::new(SealKey::open_or_create(&config.data_dir.join("seal.key"))?);
    let is_embedded = inventory.is_embedded();
    let (of_store, of_seal) = (store.clone(), Arc::clone(&seal));
    let capabilities = EmbeddedCapabilities::open(of_store, of_seal, runtime.clone(), is_embedded);
    let capabilities = capabilities
        .await
        .context("the capabilities of nodes cannot be read")?;
    let capabilities = CapabilitySources {
        embedded: Some(capabilities),
        puppetdb: foreign_capabilities(config, inventory, &runtime)?,
    };
    let (exports, kept_exports): (Arc<dyn ExportedResources>, _) = match is_embedded {
        true => {
            let kept = EmbeddedExports::new(store, seal, runtime.clone());
            (Arc::new(kept.clone()), Some(kept))
        }
        false => {
            let exports = PuppetdbExports::new(inventory.clone(), runtime.clone());
            (Arc::new(exports), None)
        }
    };
    let hidden_paths = HiddenPaths {
        hidden: hidden_paths(config),
        except: vec![shipped_modules.clone()],
    };
    let queries = InventoryQueries::new(inventory.clone(), runtime);
    let settings = CatalogSettings {
        codedir: config.code.codedir.clone(),
        base_modules: vec![config.code.codedir.join("modules"), shipped_modules.clone()],
        fixed_modules: vec![shipped_modules],
        hiera_config: config.code.hiera_config(),
        concurrent_compiles: section
            .concurrent_compiles
            .unwrap_or(defaults.concurrent_compiles),
        waiting_max: section.max_queued_requests,
        time_max: section.time_max(),
        ruby: match section.ruby {
            true => Some(ruby_workers(config, &hidden_paths)?),
            false => None,
        },
        hidden_paths,
        choices: section.choices(),
        puppetserver: puppetserver(config)?,
        server_facts: server_facts(config),
        exports: Some(exports),
        kept_exports,
        capabilities,
        puppetdb_queries: Some(Arc::new(queries) as Arc<dyn PuppetdbQueries>),
    };
    Ok(Catalogs::new(settings, code, classifier.clone()))
}

/// The capabilities of nodes whose catalogs other servers compile, if the configuration asks for them.
fn foreign_capabilities(
    config: &Config,
    inventory: &Inventory,
    runtime: &Handle,
) -> Result<Option<PuppetdbCapabilities>> {
    if !config.puppetdb.as_ref().is_some_and(|it| it.capabilities) {
        return Ok(None);
    }
    let server = config.certname.parse().context("certname")?;
    let (inventory, runtime) = (inventory.clone(), runtime.clone());
    Ok(Some(PuppetdbCapabilities::new(
        inventory,
        runtime,
        Some(&server),
    )))
}

/// Warns of settings for node groups that do not exist: they may have been renamed.
fn warn_of_unknown_groups(config: &Config, classifier: &Classifier) {
    let groups = classifier.groups();
    for name in config.catalogs.node_groups.keys() {
        if !groups.iter().any(|group| group.name == *name) {
            tracing::warn!(
                group = name,
                "catalogs.node_groups names a node group that does not exist; its setting has no effect"
            );
        }
    }
}

/// Starts the engine that gives agents their catalogs.
pub(crate) async fn agent_catalogs(
    config: &Config,
    store: &Store,
    sources: AgentCatalogSources,
) -> Result<AgentCatalogs> {
    let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
    let database = CatalogDatabase {
        store: store.clone(),
        seal: Arc::new(seal),
        known_nodes_only: sources.inventory.is_embedded(),
    };
    let settings = AgentCatalogSettings {
        facts_policies: config.catalogs.facts_policies(),
        ..AgentCatalogSettings::new(program_build())
    };
    let started = AgentCatalogs::start(settings, sources, Some(database)).await;
    started.context("cannot read the catalogs of agents")
}

/// This build of the program: another one has another file.
fn program_build() -> String {
    use std::os::unix::fs::MetadataExt as _;
    let version = env!("CARGO_PKG_VERSION");
    match std::fs::metadata("/proc/self/exe") {
        Ok(file) => format!(
            "{version} {} {}.{}",
            file.size(),
            file.mtime(),
            file.mtime_nsec()
        ),
        // unknown: unique, so that nothing of another build is used
        Err(_) => format!("{version} {}", uuid::Uuid::new_v4()),
    }
}

/// Files with secrets that the configuration names, and those that r10k's settings name now.
fn hidden_paths(config: &Config) -> Vec<PathBuf> {
    let mut paths = config.secret_paths();
    if let Some(file) = &config.code.r10k_config {
        match r10k_secret_files(file) {
            Ok(files) => paths.extend(files),
            Err(error) => tracing::warn!(
                file = %file.display(),
                error = format!("{error:#}"),
                "private keys that this file names are not kept from the code of environments: restart the \
                 server when the file can be read"
            ),
        }
    }
    paths
}

fn r10k_secret_files(file: &Path) -> Result<Vec<PathBuf>> {
    let text = std::fs::read_to_string(file).context("cannot read it")?;
    Ok(R10kSettings::parse(&text)?.git.secret_files())
}

/// Ruby workers, which have a user of their own if this process is root's, and cannot open the files with
/// secrets of this server.
fn ruby_workers(config: &Config, hidden_paths: &HiddenPaths) -> Result<RubyWorkers> {
    let user = match rustix::process::geteuid().is_root() {
        true => Some(RubyUser::find(&config.catalogs.ruby_user).context("catalogs.ruby_user")?),
        false => None,
    };
    Ok(RubyWorkers::new(RubyWorkerSettings {
        user,
        hidden_paths: hidden_paths.clone(),
        ..RubyWorkerSettings::default()
    }))
}

fn puppetserver(config: &Config) -> Result<Option<::catalogs::PuppetserverCatalogs>> {
    let Some(named) = &config.puppetserver else {
        return Ok(None);
    };
    if !config.catalogs.uses_puppetserver() {
        return Ok(None);
    }
    let (url, files) = named.resolve_connection(config.tls_files())?;
    let client = match named.front {
        true => ::catalogs::PuppetserverCatalogs::behind(url, &files),
        false => ::catalogs::PuppetserverCatalogs::new(url, &files),
    };
    Ok(Some(client.context("the puppetserver for catalogs")?))
}

/// The puppetserver that agents reach through this server; `None` if they do not.
pub(crate) fn front(
    config: &Config,
    catalogs: &Catalogs,
    code: &Arc<dyn CodeReader>,
) -> Result<Option<PuppetserverFront>> {
    let Some(named) = config.puppetserver.as_ref().filter(|it| it.front) else {
        return Ok(None);
    };
    let (url, files) = named.resolve_connection(config.tls_files())?;
    let front = PuppetserverFront::new(url, &files, catalogs.clone(), Arc::clone(code));
    Ok(Some(front.context("the puppetserver behind this server")?))
}

/// The facts of this server, in the order of Puppet.
fn server_facts(config: &Config) -> Hash {
    let found = ServerAddresses::find(config.puppet_api.listen);
    let v4 = config.catalogs.serverip.or(found.v4);
    let v6 = config.catalogs.serverip6.or(found.v6);
    let mut facts = Hash::new();
    facts.insert("serverversion", Value::from(PUPPET_VERSION));
    facts.insert("servername", Value::from(config.certname.as_str()));
    if let Some(address) = v4 {
        facts.insert("serverip", Value::from(address.to_string()));
    }
    if let Some(address) = v6 {
        facts.insert("serverip6", Value::from(address.to_string()));
    }
    facts
}

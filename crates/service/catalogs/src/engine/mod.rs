//! The engine that compiles catalogs for a server: [`Catalogs`].
//!
//! It finds the facts and the classification of a node, the compiler that the configuration chooses,
//! and the version of the code, waits for a slot, and compiles within the limits of time and memory.
//!
//! Invariants: no more compilations run than there are slots; a compilation whose request ended, or
//! that takes too long, is interrupted and keeps its slot until it has ended; a catalog is never
//! given for a version that was removed meanwhile.

mod application_graph;
mod compile;
mod compiler_choice;
mod environment_cache;
mod error;
mod impact;
mod known_groups;
mod listings;
mod node_data;
mod plan_places;
mod query_check;
mod queue;
mod slots;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use classifier::{ClassifiedNode, Classifier, NodeFacts};
use compiler::{ExportedResources, PuppetdbQueries};
use environments::{CodeReader, CodeVersion, EnvironmentName};
use evaluator::SharedUnits;
use partial_debug::partial_debug;
use pcore::Hash;
use pcp::Certname;
use ruby_workers::{HiddenPaths, RubyWorkers};
use serde_json::{Map, Value as Json};
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::environment_cache::EnvironmentCache;
use self::known_groups::KnownGroups;
use self::plan_places::PlanPlaces;
use self::queue::QueueBounds;
use self::slots::CompileSlots;
use crate::capabilities::CapabilitySources;
use crate::defaults::{
    COMPILE_TIME_MAX, COMPILES_WAITING_EACH_MAX, COMPILES_WAITING_MAX,
    COMPILES_WAITING_OF_CALLER_MAX, FACTS_WAITING_BYTES_MAX, FACTS_WAITING_BYTES_OF_CALLER_MAX,
    OPEN_VERSIONS_MAX, PLAN_COMPILES_PER_SLOT, QUERY_CHECKS_MAX,
};
use crate::environment::{CompilerOptions, EnvironmentOnDisk, OutsideFiles, module_directories};
use crate::exports::EmbeddedExports;
use crate::shadow::PuppetserverCatalogs;

pub use self::compile::{CompiledNode, KeptCatalog, NodeMessage, WrittenCatalog};
pub use self::compiler_choice::{CatalogCompiler, ChosenCompiler, CompilerChoices};
pub use self::environment_cache::OpenEnvironment;
pub use self::error::CatalogError;
pub use self::impact::{CodeImpactRequest, ImpactVersion, NodeImpact};
pub use self::node_data::{CatalogNode, NodeInputs};
pub use self::query_check::QueryChange;
pub use self::queue::{CompileCaller, CompileOrigin, CompilePriority, CompileQueueFull};

/// Settings of the engine.
pub struct CatalogSettings {
    /// The directory that holds `environments`, for `$codedir` in `environment.conf`.
    pub codedir: PathBuf,
    /// The directories of `$basemodulepath`.
    pub base_modules: Vec<PathBuf>,
    /// Those of them whose files do not change while the server runs, nor as long as its build is the same.
    pub fixed_modules: Vec<PathBuf>,
    /// The `hiera.yaml` of the global layer, which need not exist.
    pub hiera_config: PathBuf,
    /// Compilations that run at the same time; at least one.
    pub concurrent_compiles: usize,
    /// Compilations that wait for a slot; further ones are refused.
    pub waiting_max: usize,
    /// Time of one compilation, without its time in the queue.
    pub time_max: Duration,
    /// Files of the server that code of environments cannot read.
    pub hidden_paths: HiddenPaths,
    /// Ruby for functions, templates and types; `None` refuses them.
    pub ruby: Option<RubyWorkers>,
    pub choices: CompilerChoices,
    /// The puppetserver of nodes that it compiles.
    pub puppetserver: Option<PuppetserverCatalogs>,
    /// The variable `$server_facts`, without the environment.
    pub server_facts: Hash,
    /// Exported resources of other nodes; `None` if resources are neither exported nor collected.
    pub exports: Option<Arc<dyn ExportedResources>>,
    /// Store for the exported resources of nodes that are compiled here; `None` if a PuppetDB has
    /// those of all nodes.
    pub kept_exports: Option<EmbeddedExports>,
    /// Capabilities that nodes produce for applications.
    pub capabilities: CapabilitySources,
    /// Answers to `puppetdb_query`; `None` if the function is unknown.
    pub puppetdb_queries: Option<Arc<dyn PuppetdbQueries>>,
}

partial_debug!(CatalogSettings {
    codedir,
    concurrent_compiles,
    choices
});

impl Default for CatalogSettings {
    fn default() -> Self {
        let codedir = PathBuf::from("/etc/puppetlabs/code");
        Self {
            base_modules: vec![codedir.join("modules")],
            fixed_modules: Vec::new(),
            hiera_config: codedir.join("hiera.yaml"),
            codedir,
            concurrent_compiles: std::thread::available_parallelism().map_or(1, usize::from),
            waiting_max: COMPILES_WAITING_MAX,
            time_max: COMPILE_TIME_MAX,
            hidden_paths: HiddenPaths::default(),
            ruby: None,
            choices: CompilerChoices::default(),
            puppetserver: None,
            server_facts: Hash::new(),
            exports: None,
            kept_exports: None,
            capabilities: CapabilitySources::default(),
            puppetdb_queries: None,
        }
    }
}

/// Compiles catalogs. Clones share the queue and the open environments.
#[derive(Debug, Clone)]
pub struct Catalogs {
    inner: Arc<CatalogsInner>,
}

#[derive(Debug)]
struct CatalogsInner {
    settings: CatalogSettings,
    code: Arc<dyn CodeReader>,
    classifier: Classifier,
    environments: EnvironmentCache,
    /// Code that versions with equal files share.
    shared_units: Arc<SharedUnits>,
    slots: CompileSlots,
    /// Requests to the puppetserver, which use no core of this machine: a slow one delays no
    /// compilation here.
    puppetserver_slots: CompileSlots,
    plan_places: PlanPlaces,
    known_groups: KnownGroups,
    /// Permits to run the queries of kept catalogs again.
    query_checks: Arc<Semaphore>,
    compilations: TaskTracker,
    stopping: CancellationToken,
}

/// A catalog that is requested.
#[derive(Debug, Clone)]
pub struct CatalogRequest {
    pub certname: Certname,
    /// The environment; `None` for the one of the node groups, or else of the agent.
    pub environment: Option<EnvironmentName>,
    /// Code id of the version; `None` for the live one.
    pub code_id: Option<String>,
    /// Facts instead of those that are known of the node.
    pub facts: Option<Map<String, Json>>,
    pub origin: CompileOrigin,
    /// True to keep the exported resources of the catalog for other nodes. It must be the node's own
    /// catalog: of its own environment, the live version and the known facts.
    pub keep_exports: bool,
}

impl Catalogs {
    /// Creates the engine. Nothing is read before the first request.
    #[must_use]
    pub fn new(
        settings: CatalogSettings,
        code: Arc<dyn CodeReader>,
        classifier: Classifier,
    ) -> Self {
        let bounds = QueueBounds {
            slots: settings.concurrent_compiles.max(1),
            waiting_max: settings.waiting_max,
            waiting_each_max: COMPILES_WAITING_EACH_MAX,
            waiting_of_caller_max: COMPILES_WAITING_OF_CALLER_MAX,
            waiting_bytes_max: FACTS_WAITING_BYTES_MAX,
            waiting_bytes_of_caller_max: FACTS_WAITING_BYTES_OF_CALLER_MAX,
        };
        // no more than may wait, so that blocks of plans are never refused because of others of the owner
        let plan_places = bounds.slots * PLAN_COMPILES_PER_SLOT;
        let plan_places = plan_places.min(COMPILES_WAITING_OF_CALLER_MAX);
        Self {
            inner: Arc::new(CatalogsInner {
                settings,
                code,
                classifier,
                environments: EnvironmentCache::new(OPEN_VERSIONS_MAX),
                shared_units: Arc::default(),
                slots: CompileSlots::new(bounds),
                puppetserver_slots: CompileSlots::new(bounds),
                plan_places: PlanPlaces::new(plan_places),
                known_groups: KnownGroups::default(),
                query_checks: Arc::new(Semaphore::new(QUERY_CHECKS_MAX)),
                compilations: TaskTracker::new(),
                stopping: CancellationToken::new(),
            }),
        }
    }

    /// Compiles the catalog of a node.
    ///
    /// # Errors
    /// The node, its environment or its code cannot be used, or the engine is busy.
    pub async fn compile(&self, request: CatalogRequest) -> Result<CompiledNode, CatalogError> {
        // first, because it stands for the age of all that is read
        let kept = self.begin_keeping(&request);
        let node = CatalogNode::read(
            &self.inner.classifier,
            &request.certname,
            request.facts.clone(),
        );
        let node = node.await?;
        let environment = match request.environment.clone() {
            Some(environment) => environment,
            None => node.environment_or_default()?,
        };
        let chosen = self.compiler_of(&node, &environment);
        match chosen.compiler {
            CatalogCompiler::Native => {
                let code_id = request.code_id.as_deref();
                let opened = self.environment(&environment, code_id).await?;
                let has_store = kept.as_ref().is_some_and(KeptCatalog::keeps_exports);
                check_kept_catalog(&request, &node, has_store)?;
                let node = node.without_reported_facts();
                let compiling = self.compile_native(&node, opened, &request.origin, chosen, kept);
                Box::pin(compiling).await
            }
            CatalogCompiler::Puppetserver => {
                self.compile_on_puppetserver(&node, &environment, &request, chosen)
                    .await
            }
        }
    }

    /// The environment of a node: that of its node groups, else the one that its agent requested
    /// last, else Puppet's default. `facts` replace those that are known of the node.
    ///
    /// # Errors
    /// The facts of the node are not known, or its node groups contradict each other.
    pub async fn environment_of(
        &self,
        certname: &Certname,
        facts: Option<Map<String, Json>>,
    ) -> Result<EnvironmentName, CatalogError> {
        let node = CatalogNode::read(&self.inner.classifier, certname, facts).await?;
        node.environment_or_default()
    }

    /// The place of the catalog among those of its node; `None` if its exported resources and capabilities are
    /// not to be kept.
    fn begin_keeping(&self, request: &CatalogRequest) -> Option<KeptCatalog> {
        let begin = || self.begin_catalog(&request.certname);
        request.keep_exports.then(begin)
    }

    /// The place of a catalog that its node gets among those of the node, for its exported resources and
    /// capabilities; to be taken before anything is read for it.
    #[must_use]
    pub fn begin_catalog(&self, certname: &Certname) -> KeptCatalog {
        KeptCatalog::begin(&self.inner.settings, certname)
    }

    /// True if the exported resources of catalogs are kept here, and not by a PuppetDB.
    #[must_use]
    pub fn keeps_exports(&self) -> bool {
        self.inner.settings.kept_exports.is_some()
    }

    /// Number of compilations that run at the same time.
    #[must_use]
    pub fn concurrent_compiles(&self) -> usize {
        self.inner.settings.concurrent_compiles.max(1)
    }

    /// A node with these facts and this data of its certificate, as the node groups classify it.
    ///
    /// # Errors
    /// The node groups contradict each other, or name an environment without a valid name.
    pub fn classify_node(&self, facts: NodeFacts) -> Result<CatalogNode, CatalogError> {
        CatalogNode::classify(&self.inner.classifier, facts)
    }

    /// A node with this data of its certificate, for a comparison: only the rules of node groups read its facts.
    ///
    /// # Errors
    /// The node groups contradict each other, or name an environment without a valid name.
    pub fn classify_node_without_facts(
        &self,
        node: &impl ClassifiedNode,
        trusted: Map<String, Json>,
    ) -> Result<CatalogNode, CatalogError> {
        CatalogNode::classify_without_facts(&self.inner.classifier, node, trusted)
    }

    /// The variable `$server_facts` of all catalogs, without the environment.
    #[must_use]
    pub fn server_facts(&self) -> &Hash {
        &self.inner.settings.server_facts
    }

    /// The settings on which the content of catalogs depends, as a text: with others, catalogs of before are
    /// not to be used again.
    #[must_use]
    pub fn settings_identity(&self) -> String {
        let settings = &self.inner.settings;
        format!(
            "{:?} {:?} {:?} {:?} {} {} {} {} {} {}",
            settings.codedir,
            settings.base_modules,
            settings.hiera_config,
            settings.hidden_paths,
            settings.ruby.is_some(),
            settings.exports.is_some(),
            settings.kept_exports.is_some(),
            settings.capabilities.embedded.is_some(),
            settings.capabilities.puppetdb.is_some(),
            settings.puppetdb_queries.is_some()
        )
    }

    /// The compilers of the configuration.
    #[must_use]
    pub fn choices(&self) -> &CompilerChoices {
        &self.inner.settings.choices
    }

    /// The compiler of a node in an environment, as the configuration chooses it.
    #[must_use]
    pub fn compiler_of(&self, node: &CatalogNode, environment: &EnvironmentName) -> ChosenCompiler {
        let choices = &self.inner.settings.choices;
        let chosen = choices.choose(
            node.certname().as_str(),
            node.groups(),
            environment.as_str(),
        );
        chosen.clone()
    }

    /// The same for a node of which nothing but the name is known now. Its groups are those of its last request
    /// for a catalog, or else those that its known facts give it.
    pub async fn compiler_of_certname(
        &self,
        certname: &Certname,
        environment: &EnvironmentName,
    ) -> ChosenCompiler {
        let choices = &self.inner.settings.choices;
        let groups = match choices.depends_on_groups() {
            true => self.groups_of(certname).await,
            false => Arc::default(),
        };
        let chosen = choices.choose(certname.as_str(), &groups, environment.as_str());
        chosen.clone()
    }

    /// Remembers the groups of a node that requests a catalog, if the choice of its compiler depends on them.
    pub fn remember_groups(&self, certname: &Certname, groups: &[String]) {
        if self.inner.settings.choices.depends_on_groups() {
            self.inner.known_groups.set(certname, groups);
        }
    }

    async fn groups_of(&self, certname: &Certname) -> Arc<[String]> {
        if let Some(groups) = self.inner.known_groups.get(certname) {
            return groups;
        }
        // a node without facts, or with groups that contradict each other, is in none
        let node = CatalogNode::read(&self.inner.classifier, certname, None).await;
        let groups = node.as_ref().map_or(&[][..], CatalogNode::groups);
        // the source may answer again before the next request
        if !matches!(node, Err(CatalogError::FactSource(_))) {
            self.inner.known_groups.set(certname, groups);
        }
        groups.into()
    }

    /// An environment, ready to compile; the live version if `code_id` is `None`. The version is not
    /// removed as long as the result exists.
    ///
    /// # Errors
    /// The environment or the version does not exist, or its `environment.conf` cannot be read.
    pub async fn environment(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&str>,
    ) -> Result<Arc<OpenEnvironment>, CatalogError> {
        let opening = self.with_environment(environment, code_id, |opened| opened);
        opening.await
    }

    /// Opens the environment and does work with it on the same thread, which may read files: each further
    /// thread costs a request as much as all its comparisons.
    ///
    /// # Errors
    /// The environment or the version does not exist, or cannot be read.
    pub async fn with_environment<T: Send + 'static>(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&str>,
        work: impl FnOnce(Arc<OpenEnvironment>) -> T + Send + 'static,
    ) -> Result<T, CatalogError> {
        let (inner, name) = (Arc::clone(&self.inner), environment.clone());
        let code_id = code_id.map(str::to_owned);
        let working = tokio::task::spawn_blocking(move || {
            let opened = inner.open(&name, code_id.as_deref())?;
            Ok(work(opened))
        });
        match working.await {
            Ok(done) => done,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Code ids of the versions that compilations use now; garbage collection keeps them.
    #[must_use]
    pub fn versions_in_use(&self) -> Vec<String> {
        self.inner.environments.versions_in_use()
    }

    /// Numbers of waiting and of running compilations.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let (waiting, running) = self.inner.slots.counts();
        let (waiting_there, running_there) = self.inner.puppetserver_slots.counts();
        (waiting + waiting_there, running + running_there)
    }

    /// Interrupts the compilations and waits until they have ended. Later requests are refused.
    pub async fn shutdown(&self) {
        self.inner.stopping.cancel();
        self.inner.compilations.close();
        self.inner.compilations.wait().await;
    }
}

/// Refuses to keep the exported resources of another catalog than the node's own.
fn check_kept_catalog(
    request: &CatalogRequest,
    node: &CatalogNode,
    has_store: bool,
) -> Result<(), CatalogError> {
    if !request.keep_exports {
        return Ok(());
    }
    if !has_store {
        let certname = request.certname.clone();
        return Err(CatalogError::ExportsElsewhere { certname });
    }
    // Nodes of all environments collect the resources, so they must be those of the node's own
    // catalog: otherwise the right to compile in one environment would change catalogs of others.
    let environment = node.environment_or_default()?;
    let is_own = request.facts.is_none()
        && request.code_id.is_none()
        && request
            .environment
            .as_ref()
            .is_none_or(|it| *it == environment);
    match is_own {
        true => Ok(()),
        false => Err(CatalogError::ExportsOfOtherCatalog {
            certname: request.certname.clone(),
            environment,
        }),
    }
}

impl CatalogsInner {
    fn open(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&str>,
    ) -> Result<Arc<OpenEnvironment>, CatalogError> {
        let directory = self.code.directory_of(environment, code_id);
        let directory = directory.map_err(CatalogError::Code)?;
        // the link of an environment may lead to a version of another one
        if let Some(open) = self.environments.get(&directory)
            && open.environment == *environment
        {
            return Ok(open);
        }
        let version = self.code.version_of(environment, code_id);
        let opened = self.open_version(&*version.map_err(CatalogError::Code)?)?;
        Ok(self.environments.insert(opened))
    }

    fn open_version(&self, version: &dyn CodeVersion) -> Result<OpenEnvironment, CatalogError> {
        let environment = version.environment().clone();
        let root = version.directory().to_owned();
        let settings = &self.settings;
        let modulepath = module_directories(&root, &settings.codedir, &settings.base_modules);
        let modulepath = modulepath.map_err(|source| CatalogError::Environment {
            environment: environment.clone(),
            source,
        })?;
        let code_id = version.code_id().map(str::to_owned);
        let modules = (&modulepath[..], &settings.fixed_modules[..]);
        let outside_files = OutsideFiles::new(&root, modules, &settings.hiera_config);
        let on_disk = EnvironmentOnDisk {
            name: environment.to_string(),
            root: root.clone(),
            modulepath,
            hiera_config: settings.hiera_config.clone(),
        };
        let name = code_id.clone().unwrap_or_else(unique_version);
        let ruby_environment = on_disk.ruby_environment(name.clone());
        let options = CompilerOptions {
            version: name,
            ruby: settings.ruby.clone(),
            storeconfigs: settings.exports.is_some(),
            shared_units: Some(Arc::clone(&self.shared_units)),
            hidden_paths: settings.hidden_paths.clone(),
            outside_files: Arc::clone(&outside_files),
        };
        Ok(OpenEnvironment {
            environment,
            code_id,
            directory: root,
            ruby_environment,
            outside_files,
            classes: OnceCell::new(),
            transports: OnceCell::new(),
            applications: OnceCell::new(),
            graph: OnceCell::new(),
            compiler: on_disk.into_compiler(options),
        })
    }
}

/// A name for files that may change, so that Ruby workers read them again.
fn unique_version() -> String {
    format!("files-{}", uuid::Uuid::new_v4())
}

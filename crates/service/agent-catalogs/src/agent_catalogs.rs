//! The engine that answers agents: [`AgentCatalogs`].
//!
//! It records the facts that came with a request, classifies the node, and gives the catalog of the
//! node's environment.
//!
//! Invariant: a node gets a catalog of its own certificate's name and data only.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalogs::{CatalogCompiler, CatalogNode, Catalogs, OpenEnvironment};
use classifier::NodeFacts;
use compiler::{DocumentForm, ProducedCapability, VolatileCause};
use environments::{CodeReader, EnvironmentName, WaitingComponents};
use error_causes::chain;
use inventory::{Inventory, KnownFacts, NodeRecord, trusted_facts};
use jiff::Timestamp;
use pcp::Certname;
use run_reports::{ForwardedCatalog, RunReports};
use serde_json::{Map, Value as Json, json};
use store::StoreError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::ahead::AheadQueue;
use crate::compared_node::ComparedNode;
use crate::defaults::KEEP_UNUSED;
use crate::failed_imports::FailedImports;
use crate::fingerprint::{CatalogFormat, CatalogInputs};
use crate::forwarded_capabilities::forwarded_capabilities;
use crate::kept_catalogs::KeptCatalogs;
use crate::new_catalog::CompilePurpose;
use crate::stored_catalogs::{CatalogDatabase, StoredCatalogs};
use crate::{AgentCatalogError, ChecksumType, CompressedCatalog, FactsPolicies};

/// Gives catalogs to agents. Clones share everything.
#[derive(Debug, Clone)]
pub struct AgentCatalogs {
    pub(crate) inner: Arc<AgentCatalogsInner>,
}

#[derive(Debug)]
pub(crate) struct AgentCatalogsInner {
    pub(crate) catalogs: Catalogs,
    pub(crate) inventory: Inventory,
    pub(crate) run_reports: RunReports,
    pub(crate) code: Arc<dyn CodeReader>,
    pub(crate) kept: Arc<KeptCatalogs>,
    /// `None` if catalogs are in memory only.
    pub(crate) stored: Option<StoredCatalogs>,
    /// This build of the program, and its settings.
    program: String,
    pub(crate) facts_policies: FactsPolicies,
    pub(crate) ahead: AheadQueue,
    pub(crate) failed_imports: FailedImports,
    pub(crate) stopped: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// Engines from which catalogs are made.
#[derive(Debug, Clone)]
pub struct AgentCatalogSources {
    pub catalogs: Catalogs,
    pub inventory: Inventory,
    pub run_reports: RunReports,
    pub code: Arc<dyn CodeReader>,
}

/// Settings of the catalogs of agents.
#[derive(Debug, Clone)]
pub struct AgentCatalogSettings {
    /// This build of the program: catalogs of another one are not given again.
    pub build: String,
    /// Time without use after which a catalog is deleted.
    pub keep_unused: Duration,
    /// The facts whose changes cause a compilation.
    pub facts_policies: FactsPolicies,
}

impl AgentCatalogSettings {
    /// Settings for this build, with the defaults of this crate.
    #[must_use]
    pub fn new(build: String) -> Self {
        Self {
            build,
            keep_unused: KEEP_UNUSED,
            facts_policies: FactsPolicies::default(),
        }
    }
}

/// A node that requests something, as its certificate names it.
#[derive(Debug, Clone)]
pub struct AgentIdentity {
    pub certname: Certname,
    /// Data of the certificate: `extensions` and others, as in `$trusted`.
    pub trusted: Map<String, Json>,
}

/// A request of an agent for its catalog.
#[derive(Debug, Clone)]
pub struct AgentCatalogRequest {
    pub agent: AgentIdentity,
    /// The environment that the agent is in.
    pub environment: EnvironmentName,
    /// Code id of the version to compile, in place of the live one; `None` for the live one.
    pub code_id: Option<String>,
    /// Components that wait for a later run of the node.
    pub waiting: Arc<WaitingComponents>,
    /// True if the agent changes its environment before it takes a catalog of another one.
    pub checks_environment: bool,
    /// Facts of the node; `None` to use those that it sent last.
    pub facts: Option<AgentFacts>,
    /// Checksum type for the files of a static catalog; `None` for a catalog that is not static.
    pub static_files: Option<ChecksumType>,
    pub form: DocumentForm,
    /// Puppet's id of the run; `None` if the agent sent none.
    pub transaction_uuid: Option<String>,
    /// The job that started the run; `None` if no job did.
    pub job_id: Option<String>,
}

/// The facts of a node.
#[derive(Debug, Clone)]
pub struct AgentFacts {
    pub values: Map<String, Json>,
    /// Time at which this server received them.
    pub timestamp: Timestamp,
}

/// A catalog for an agent.
#[derive(Debug, Clone)]
pub struct AgentCatalog {
    pub environment: EnvironmentName,
    /// Code id of the version; `None` if the environment has none.
    pub code_id: Option<String>,
    pub body: CompressedCatalog,
    /// Time of the compilation; `None` if the catalog was not compiled for this request.
    pub compile_time: Option<Duration>,
    /// Reason that the catalog of the node is compiled for each request; `None` if it is not.
    pub volatile: Option<VolatileCause>,
    /// References of the components that the catalog leaves for a later run.
    pub left_out: Vec<String>,
}

impl AgentCatalogRequest {
    pub(crate) fn format(&self) -> CatalogFormat {
        (self.form, self.static_files)
    }

    /// A request as agents of Puppet 7 and 8 make it, with the facts that the node sent last.
    #[must_use]
    pub fn from_known_facts(agent: AgentIdentity, environment: EnvironmentName) -> Self {
        Self {
            agent,
            environment,
            code_id: None,
            waiting: Arc::default(),
            checks_environment: true,
            facts: None,
            static_files: Some(ChecksumType::Sha256),
            form: DocumentForm::Rich,
            transaction_uuid: None,
            job_id: None,
        }
    }
}

impl AgentIdentity {
    /// The node with this name and these extensions in its certificate.
    #[must_use]
    pub fn new(certname: Certname, extensions: BTreeMap<String, String>) -> Self {
        let trusted = trusted_facts(&certname, extensions);
        Self { certname, trusted }
    }
}

impl AgentCatalogs {
    /// Starts the engine. Without a database the catalogs are kept in memory only, and compiled again after a
    /// restart.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn start(
        settings: AgentCatalogSettings,
        sources: AgentCatalogSources,
        database: Option<CatalogDatabase>,
    ) -> Result<Self, StoreError> {
        let AgentCatalogSources {
            catalogs,
            inventory,
            run_reports,
            code,
        } = sources;
        let (stopped, tasks) = (CancellationToken::new(), TaskTracker::new());
        let kept: Arc<KeptCatalogs> = Arc::default();
        let unused = i64::try_from(settings.keep_unused.as_millis()).unwrap_or(i64::MAX);
        let stored = match database {
            Some(database) => {
                let tasks = (&tasks, stopped.clone());
                let kept = Arc::clone(&kept);
                Some(StoredCatalogs::start(database, kept, unused, tasks).await?)
            }
            None => None,
        };
        // A PuppetDB that was exchanged has neither the catalogs nor the exported resources of the nodes.
        let program = format!(
            "{} {} {} {}",
            settings.build,
            catalogs.settings_identity(),
            inventory.location(),
            run_reports.forwards()
        );
        Ok(Self {
            inner: Arc::new(AgentCatalogsInner {
                catalogs,
                inventory,
                run_reports,
                code,
                kept,
                stored,
                program,
                facts_policies: settings.facts_policies,
                ahead: AheadQueue::default(),
                failed_imports: FailedImports::default(),
                stopped,
                tasks,
            }),
        })
    }

    /// Writes the catalogs that wait to be written, and ends the tasks.
    pub async fn shutdown(&self) {
        self.inner.stopped.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// The environment of a node: that of its node groups, or else the one that its agent is in.
    ///
    /// # Errors
    /// The node groups contradict each other.
    pub async fn environment_of(
        &self,
        agent: &AgentIdentity,
        requested: &EnvironmentName,
    ) -> Result<EnvironmentName, AgentCatalogError> {
        let facts = self.stored_facts(&agent.certname).await?;
        let node = self.classify_without_facts(agent, requested, facts.as_ref())?;
        Ok(node.group_environment().unwrap_or(requested).clone())
    }

    /// The catalog of a node.
    ///
    /// # Errors
    /// The node groups contradict each other, the code cannot be compiled, or the engine is busy.
    pub async fn catalog(
        &self,
        request: AgentCatalogRequest,
    ) -> Result<AgentCatalog, AgentCatalogError> {
        let certname = &request.agent.certname;
        // first, because it stands for the age of all that is read
        let kept = self.inner.catalogs.begin_catalog(certname);
        self.inner.failed_imports.forget(certname);
        let (node, environment) = self.classify_request(&request).await?;
        if request.checks_environment && environment != request.environment {
            return Ok(empty_catalog(certname, environment));
        }
        let chosen = self.inner.catalogs.compiler_of(&node, &environment);
        if chosen.compiler == CatalogCompiler::Puppetserver {
            return Err(AgentCatalogError::OfPuppetserver {
                certname: certname.clone(),
                reason: chosen.reason,
            });
        }
        let node = node.without_reported_facts();
        let deferred = self.find_deferred(&request, &environment).await;
        let node = Arc::new(node.with_deferred_components(deferred));
        let policy = self.inner.facts_policies.of_groups(node.groups());
        let current = self.current_catalog(&request, &node, &environment, policy);
        let (opened, current) = Box::pin(current).await?;
        let causes = match current {
            Ok(current) => {
                self.record_use(&request, &current, kept).await?;
                return Ok(AgentCatalog {
                    environment,
                    code_id: opened.code_id.clone(),
                    body: current.body().clone(),
                    compile_time: None,
                    volatile: None,
                    left_out: Vec::new(),
                });
            }
            Err(causes) => causes,
        };
        let purpose = CompilePurpose::Request { kept };
        Box::pin(self.compile(&request, &node, opened, (purpose, causes))).await
    }

    /// Reason that a puppetserver compiles the catalogs of a node; `None` if this server does. A puppetserver
    /// has the node if it is the compiler in the requested environment, and in that of the node groups. `node`
    /// is `None` if the node groups contradict each other.
    fn puppetserver_reason(
        &self,
        request: &AgentCatalogRequest,
        node: Option<&CatalogNode>,
    ) -> Option<String> {
        let certname = request.agent.certname.as_str();
        let groups = node.map_or(&[][..], CatalogNode::groups);
        let reason = |environment: &EnvironmentName| {
            let choices = self.inner.catalogs.choices();
            let chosen = choices.choose(certname, groups, environment.as_str());
            (chosen.compiler == CatalogCompiler::Puppetserver).then(|| chosen.reason.clone())
        };
        let requested = reason(&request.environment)?;
        let assigned = node.and_then(CatalogNode::group_environment);
        assigned.map_or(Some(requested), reason)
    }

    /// Forwards a catalog to PuppetDB, if there is one. False if its queue cannot take it.
    pub(crate) async fn forward(
        &self,
        request: &AgentCatalogRequest,
        (body, produced): (&CompressedCatalog, &[ProducedCapability]),
    ) -> bool {
        if !self.inner.run_reports.forwards() {
            return true;
        }
        let certname = &request.agent.certname;
        let Ok(document) = serde_json::from_slice(&body.text()) else {
            return true;
        };
        let catalog = ForwardedCatalog {
            certname: certname.clone(),
            document,
            capabilities: forwarded_capabilities(produced),
            transaction_uuid: request.transaction_uuid.clone(),
            job_id: request.job_id.clone(),
        };
        let recorded = self.inner.run_reports.record_catalog(catalog).await;
        if let Err(error) = &recorded {
            let error = chain(error);
            tracing::warn!(%certname, error, "the catalog of a node is not forwarded to PuppetDB");
        }
        recorded.is_ok()
    }

    /// Forgets the catalogs of a node, in memory at once and in the database soon after.
    pub async fn forget_node(&self, certname: &Certname) {
        let stored = self.inner.stored.as_ref();
        let unwritten = usize::from(stored.is_some());
        self.inner.kept.forget(certname, unwritten);
        self.inner.failed_imports.forget(certname);
        if let Some(stored) = stored {
            stored.write_forget(certname).await;
        }
    }

    pub(crate) fn inputs<'i>(
        &'i self,
        (form, static_files): CatalogFormat,
        node: &'i CatalogNode,
        opened: &'i OpenEnvironment,
        code_id: &'i str,
    ) -> CatalogInputs<'i> {
        CatalogInputs {
            program: &self.inner.program,
            node,
            environment: opened.environment.as_str(),
            code_id,
            server_facts: self.inner.catalogs.server_facts(),
            form,
            static_files,
        }
    }

    /// The node of a request, and the environment that it belongs to. The facts of the request are recorded.
    ///
    /// # Errors
    /// The node is one of the puppetserver, whose own classifier counts; or its node groups contradict each
    /// other, or its facts are not known.
    pub(crate) async fn classify_request(
        &self,
        request: &AgentCatalogRequest,
    ) -> Result<(CatalogNode, EnvironmentName), AgentCatalogError> {
        let certname = &request.agent.certname;
        let facts = match &request.facts {
            Some(facts) => facts.values.clone(),
            None => self.required_facts(certname).await?,
        };
        let classified = self.classify(&request.agent, &request.environment, facts);
        let node = classified.as_ref().ok();
        let of_puppetserver = self.puppetserver_reason(request, node);
        if let Some(facts) = &request.facts {
            // known facts may be of another program than Puppet, and so give other groups
            let groups = node.map_or(&[][..], CatalogNode::groups);
            self.inner.catalogs.remember_groups(certname, groups);
            let forwards = of_puppetserver.is_none();
            self.record_facts(request, facts, forwards).await;
        }
        place_node(request, classified, of_puppetserver)
    }

    /// The same for a request without facts whose node is only compared: it has no facts.
    ///
    /// # Errors
    /// As those of [`classify_request`](Self::classify_request).
    pub(crate) async fn classify_compared(
        &self,
        request: &AgentCatalogRequest,
    ) -> Result<(CatalogNode, EnvironmentName), AgentCatalogError> {
        let agent = &request.agent;
        let certname = &agent.certname;
        let facts = self.stored_facts(certname).await?;
        let facts = facts.ok_or_else(|| AgentCatalogError::NoFacts {
            certname: certname.clone(),
        })?;
        let classified = self.classify_without_facts(agent, &request.environment, Some(&facts));
        let of_puppetserver = self.puppetserver_reason(request, classified.as_ref().ok());
        place_node(request, classified, of_puppetserver)
    }

    /// Records the facts of a request. A node is configured even if they cannot be recorded, because the
    /// database is full.
    async fn record_facts(
        &self,
        request: &AgentCatalogRequest,
        facts: &AgentFacts,
        forwards: bool,
    ) {
        let certname = &request.agent.certname;
        let record = NodeRecord {
            facts: Arc::new(facts.values.clone()),
            trusted: Arc::new(request.agent.trusted.clone()),
            environment: Some(request.environment.to_string()),
            timestamp: facts.timestamp,
        };
        // With a node that was deleted its exported resources were, which only a compilation keeps again.
        if !self.inner.inventory.has_facts(certname) {
            self.forget_node(certname).await;
        }
        let run_reports = match forwards {
            true => self.inner.run_reports.clone(),
            false => self.inner.run_reports.without_forwarding(),
        };
        if let Err(error) = run_reports.record_facts(certname, record).await {
            let error = chain(&error);
            tracing::warn!(%certname, error, "the facts of a node are not recorded");
        }
    }

    pub(crate) async fn known_facts(
        &self,
        certname: &Certname,
    ) -> Result<Option<Map<String, Json>>, AgentCatalogError> {
        let known = self.known_node(certname).await?;
        Ok(known.map(|record| Arc::unwrap_or_clone(record.facts)))
    }

    async fn required_facts(
        &self,
        certname: &Certname,
    ) -> Result<Map<String, Json>, AgentCatalogError> {
        let known = self.known_facts(certname).await?;
        known.ok_or_else(|| AgentCatalogError::NoFacts {
            certname: certname.clone(),
        })
    }

    /// The node as the inventory knows it.
    pub(crate) async fn known_node(
        &self,
        certname: &Certname,
    ) -> Result<Option<NodeRecord>, AgentCatalogError> {
        let known = self.stored_facts(certname).await?;
        Ok(known.map(KnownFacts::into_record))
    }

    /// The facts of a node that the inventory has, without a copy.
    async fn stored_facts(
        &self,
        certname: &Certname,
    ) -> Result<Option<KnownFacts>, AgentCatalogError> {
        let known = self.inner.inventory.known_facts(certname).await;
        known.map_err(|source| AgentCatalogError::FactSource {
            certname: certname.clone(),
            source,
        })
    }

    fn classify(
        &self,
        agent: &AgentIdentity,
        environment: &EnvironmentName,
        facts: Map<String, Json>,
    ) -> Result<CatalogNode, AgentCatalogError> {
        let facts = NodeFacts {
            certname: agent.certname.clone(),
            fact: Json::Object(facts),
            trusted: Json::Object(agent.trusted.clone()),
            requested_environment: Some(environment.to_string()),
        };
        Ok(self.inner.catalogs.classify_node(facts)?)
    }

    fn classify_without_facts(
        &self,
        agent: &AgentIdentity,
        environment: &EnvironmentName,
        facts: Option<&KnownFacts>,
    ) -> Result<CatalogNode, AgentCatalogError> {
        let node = ComparedNode {
            agent,
            environment,
            facts,
        };
        let (catalogs, trusted) = (&self.inner.catalogs, agent.trusted.clone());
        Ok(catalogs.classify_node_without_facts(&node, trusted)?)
    }
}

/// A node with the environment that it belongs to, unless a puppetserver compiles its catalogs.
fn place_node(
    request: &AgentCatalogRequest,
    classified: Result<CatalogNode, AgentCatalogError>,
    puppetserver_reason: Option<String>,
) -> Result<(CatalogNode, EnvironmentName), AgentCatalogError> {
    if let Some(reason) = puppetserver_reason {
        return Err(AgentCatalogError::OfPuppetserver {
            certname: request.agent.certname.clone(),
            reason,
        });
    }
    let node = classified?;
    let environment = node.group_environment().unwrap_or(&request.environment);
    let environment = environment.clone();
    Ok((node, environment))
}

/// A catalog that only tells the agent to change its environment.
fn empty_catalog(certname: &Certname, environment: EnvironmentName) -> AgentCatalog {
    let document = json!({
        "tags": [],
        "name": certname.as_str(),
        "version": null,
        "code_id": null,
        "catalog_uuid": null,
        "catalog_format": 2,
        "environment": environment.as_str(),
        "resources": [],
        "edges": [],
        "classes": [],
    });
    AgentCatalog {
        environment,
        code_id: None,
        body: CompressedCatalog::new(&document.to_string()),
        compile_time: None,
        volatile: None,
        left_out: Vec::new(),
    }
}

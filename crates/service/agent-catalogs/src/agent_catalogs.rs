//! The engine that answers agents: [`AgentCatalogs`].
//!
//! It records the facts that came with a request, classifies the node, and gives the catalog of the
//! node's environment.
//!
//! Invariant: a node gets a catalog of its own certificate's name and data only.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use catalogs::{
    CatalogCompiler, CatalogError, CatalogNode, Catalogs, CompileCaller, CompileOrigin,
    CompilePriority, KeptCatalog, OpenEnvironment, are_unchanged,
};
use classifier::NodeFacts;
use compiler::{CatalogDocument, CatalogReads, DocumentForm, RichValueError, VolatileCause};
use environments::{CodeFile, CodeReader, CodeVersion, EnvironmentName, FileMount, Sha256};
use error_causes::chain;
use inventory::{Inventory, NodeRecord, trusted_facts};
use jiff::Timestamp;
use pcp::Certname;
use run_reports::{ForwardedCatalog, RunReports};
use serde_json::{Map, Value as Json, json};

use crate::catalog_id::{CatalogId, CatalogInputs, FactPaths};
use crate::kept_catalogs::{CatalogReuse, KeptAgentCatalog, KeptCatalogs};
use crate::static_files::{StaticContents, StaticFileError, inline_files};
use crate::{AgentCatalogError, ChecksumType, CompressedCatalog};

/// Gives catalogs to agents. Clones share everything.
#[derive(Debug, Clone)]
pub struct AgentCatalogs {
    inner: Arc<AgentCatalogsInner>,
}

#[derive(Debug)]
struct AgentCatalogsInner {
    catalogs: Catalogs,
    inventory: Inventory,
    run_reports: RunReports,
    code: Arc<dyn CodeReader>,
    kept: KeptCatalogs,
    build: String,
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
    /// Time at which they were collected.
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
    /// Creates the engine. `build` names this build of the program: catalogs of another one are not used
    /// again.
    #[must_use]
    pub fn new(
        catalogs: Catalogs,
        inventory: Inventory,
        run_reports: RunReports,
        code: Arc<dyn CodeReader>,
        build: String,
    ) -> Self {
        Self {
            inner: Arc::new(AgentCatalogsInner {
                catalogs,
                inventory,
                run_reports,
                code,
                kept: KeptCatalogs::default(),
                build,
            }),
        }
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
        let facts = self.known_facts(&agent.certname).await?;
        let node = self.classify(agent, requested, facts.unwrap_or_default())?;
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
        let facts = self.facts_of_request(&request).await?;
        let node = self.classify(&request.agent, &request.environment, facts)?;
        let environment = node.group_environment().unwrap_or(&request.environment);
        let environment = environment.clone();
        if request.checks_environment && environment != request.environment {
            return Ok(empty_catalog(certname, environment));
        }
        let chosen = self.inner.catalogs.compiler_of(certname, &environment);
        if chosen.compiler == CatalogCompiler::Puppetserver {
            return Err(AgentCatalogError::OfPuppetserver {
                certname: certname.clone(),
                reason: chosen.reason,
            });
        }
        let node = node.without_reported_facts();
        let opening = self
            .inner
            .catalogs
            .environment(&environment, request.code_id.as_deref());
        let opened = opening.await?;
        if let Some(body) = self.current_catalog(&request, &node, &opened).await? {
            return Ok(AgentCatalog {
                environment,
                code_id: opened.code_id.clone(),
                body,
                compile_time: None,
                volatile: None,
            });
        }
        self.compile(&request, &node, opened, kept).await
    }

    /// The last catalog of a node, if a compilation would give the same now.
    async fn current_catalog(
        &self,
        request: &AgentCatalogRequest,
        node: &CatalogNode,
        opened: &OpenEnvironment,
    ) -> Result<Option<CompressedCatalog>, AgentCatalogError> {
        let Some(newest) = self.inner.kept.newest(node.certname()) else {
            return Ok(None);
        };
        let (Some(reuse), Some(code_id)) = (&newest.reuse, &opened.code_id) else {
            return Ok(None);
        };
        let inputs = self.inputs(request, node, opened, code_id);
        if CatalogId::new(&inputs, &reuse.fact_paths) != reuse.catalog_id {
            return Ok(None);
        }
        let examined = Arc::clone(&newest);
        let examining = tokio::task::spawn_blocking(move || {
            let reuse = examined.reuse.as_ref();
            reuse.is_some_and(|reuse| are_unchanged(&reuse.outside_files))
        });
        let is_current = examining.await.map_err(io::Error::from);
        let is_current = is_current.map_err(AgentCatalogError::Thread)?;
        Ok(newest.body.clone().filter(|_| is_current))
    }

    async fn compile(
        &self,
        request: &AgentCatalogRequest,
        node: &CatalogNode,
        opened: Arc<OpenEnvironment>,
        kept: Option<KeptCatalog>,
    ) -> Result<AgentCatalog, AgentCatalogError> {
        let certname = node.certname();
        let version = self.static_version(request, &opened).await?;
        let origin = CompileOrigin {
            caller: CompileCaller::Client(certname.to_string()),
            priority: CompilePriority::Foreground,
        };
        let write = document_writer(version, request.form);
        let (catalogs, environment) = (&self.inner.catalogs, Arc::clone(&opened));
        let compiling = catalogs.compile_node(node, environment, &origin, kept, write);
        let compiled = compiling.await?;
        let (body, contents) = compiled.catalog?;
        self.forward(request, &body).await;
        if let Some(code_id) = &opened.code_id {
            let catalog = KeptAgentCatalog {
                environment: opened.environment.clone(),
                code_id: code_id.clone(),
                body: Some(body.clone()),
                contents,
                reuse: self.reuse(request, node, &opened, &compiled.reads),
            };
            self.inner.kept.keep(certname, catalog);
        }
        Ok(AgentCatalog {
            environment: opened.environment.clone(),
            code_id: opened.code_id.clone(),
            body,
            compile_time: Some(compiled.took),
            volatile: compiled.reads.volatile,
        })
    }

    /// Forwards a new catalog to PuppetDB, if there is one.
    async fn forward(&self, request: &AgentCatalogRequest, body: &CompressedCatalog) {
        if !self.inner.run_reports.forwards() {
            return;
        }
        let certname = &request.agent.certname;
        let Ok(document) = serde_json::from_slice(&body.text()) else {
            return;
        };
        let catalog = ForwardedCatalog {
            certname: certname.clone(),
            document,
            transaction_uuid: request.transaction_uuid.clone(),
            job_id: request.job_id.clone(),
        };
        if let Err(error) = self.inner.run_reports.record_catalog(catalog).await {
            let error = chain(&error);
            tracing::warn!(%certname, error, "the catalog of a node is not forwarded to PuppetDB");
        }
    }

    /// The condition under which a new catalog may be given again; `None` if it may not.
    fn reuse(
        &self,
        request: &AgentCatalogRequest,
        node: &CatalogNode,
        opened: &OpenEnvironment,
        reads: &CatalogReads,
    ) -> Option<CatalogReuse> {
        if reads.volatile.is_some() {
            return None;
        }
        let inputs = self.inputs(request, node, opened, opened.code_id.as_ref()?);
        let fact_paths: FactPaths = reads.facts.paths.iter().cloned().collect();
        Some(CatalogReuse {
            catalog_id: CatalogId::new(&inputs, &fact_paths),
            fact_paths,
            outside_files: opened.outside_files.states()?,
        })
    }

    fn inputs<'i>(
        &'i self,
        request: &AgentCatalogRequest,
        node: &'i CatalogNode,
        opened: &'i OpenEnvironment,
        code_id: &'i str,
    ) -> CatalogInputs<'i> {
        CatalogInputs {
            build: &self.inner.build,
            node,
            environment: opened.environment.as_str(),
            code_id,
            server_facts: self.inner.catalogs.server_facts(),
            form: request.form,
            static_files: request.static_files,
        }
    }

    /// Opens a content that one of the last catalogs of a node names; `None` if none does.
    ///
    /// # Errors
    /// The file cannot be read, or has another content now.
    pub async fn content(
        &self,
        agent: &AgentIdentity,
        sha256: Sha256,
    ) -> Result<Option<CodeFile>, AgentCatalogError> {
        let kept = &self.inner.kept;
        if !kept.has_some(&agent.certname) {
            // The agent got its catalog before this server started. Unless something was deployed meanwhile,
            // it names the same contents.
            Box::pin(self.compile_from_known_facts(agent)).await?;
        }
        let Some((catalog, content)) = kept.content(&agent.certname, &sha256) else {
            return Ok(None);
        };
        let code = Arc::clone(&self.inner.code);
        let opening = tokio::task::spawn_blocking(move || {
            let version = code.version_of(&catalog.environment, Some(&catalog.code_id))?;
            version.file(FileMount::Modules, Some(&content.module), &content.path)
        });
        let opened = opening.await.map_err(io::Error::from);
        let file = opened.map_err(AgentCatalogError::Thread)?;
        let file = file.map_err(CatalogError::Code)?;
        match file.sha256 == sha256 {
            true => Ok(Some(file)),
            false => Err(AgentCatalogError::ContentChanged { sha256 }),
        }
    }

    /// Compiles the catalog of a node from the facts that it sent last, so that it is kept. Does nothing if
    /// none are known.
    async fn compile_from_known_facts(
        &self,
        agent: &AgentIdentity,
    ) -> Result<(), AgentCatalogError> {
        let known = self.inner.inventory.facts(&agent.certname).await;
        let known = known.map_err(|source| AgentCatalogError::FactSource {
            certname: agent.certname.clone(),
            source,
        })?;
        let environment = known.and_then(|record| record.environment?.parse().ok());
        let Some(environment) = environment else {
            return Ok(());
        };
        let request = AgentCatalogRequest {
            agent: agent.clone(),
            environment,
            code_id: None,
            checks_environment: false,
            facts: None,
            static_files: Some(ChecksumType::Sha256),
            form: DocumentForm::Rich,
            transaction_uuid: None,
            job_id: None,
        };
        self.catalog(request).await.map(drop)
    }

    /// Code ids of versions whose files agents may still request.
    #[must_use]
    pub fn versions_in_use(&self) -> Vec<String> {
        self.inner.kept.code_ids()
    }

    /// The facts of a request, which are recorded, or those that are known.
    async fn facts_of_request(
        &self,
        request: &AgentCatalogRequest,
    ) -> Result<Map<String, Json>, AgentCatalogError> {
        let certname = &request.agent.certname;
        let Some(facts) = &request.facts else {
            let known = self.known_facts(certname).await?;
            return known.ok_or_else(|| AgentCatalogError::NoFacts {
                certname: certname.clone(),
            });
        };
        let record = NodeRecord {
            facts: Arc::new(facts.values.clone()),
            trusted: Arc::new(request.agent.trusted.clone()),
            environment: Some(request.environment.to_string()),
            timestamp: facts.timestamp,
        };
        // With a node that was deleted its exported resources were, which only a compilation keeps again.
        if !self.inner.inventory.has_facts(certname) {
            self.inner.kept.forget(certname);
        }
        // a node is configured even if the database is full
        if let Err(error) = self.inner.run_reports.record_facts(certname, record).await {
            let error = chain(&error);
            tracing::warn!(%certname, error, "the facts of a node are not recorded");
        }
        Ok(facts.values.clone())
    }

    async fn known_facts(
        &self,
        certname: &Certname,
    ) -> Result<Option<Map<String, Json>>, AgentCatalogError> {
        let known = self.inner.inventory.facts(certname).await;
        let known = known.map_err(|source| AgentCatalogError::FactSource {
            certname: certname.clone(),
            source,
        })?;
        Ok(known.map(|record| (*record.facts).clone()))
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

    /// The version whose files a catalog describes; `None` if the catalog is not static.
    async fn static_version(
        &self,
        request: &AgentCatalogRequest,
        opened: &OpenEnvironment,
    ) -> Result<Option<(Arc<dyn CodeVersion>, ChecksumType)>, AgentCatalogError> {
        let (Some(checksum_type), Some(code_id)) = (request.static_files, opened.code_id.clone())
        else {
            return Ok(None);
        };
        let (code, environment) = (Arc::clone(&self.inner.code), opened.environment.clone());
        let version =
            tokio::task::spawn_blocking(move || code.version_of(&environment, Some(&code_id)));
        let version = version.await.map_err(io::Error::from);
        let version = version.map_err(AgentCatalogError::Thread)?;
        Ok(Some((version.map_err(CatalogError::Code)?, checksum_type)))
    }
}

type WrittenDocument = Result<(CompressedCatalog, StaticContents), StaticFileError>;

/// Writes a document, with the files of `version` if it is static.
fn document_writer(
    version: Option<(Arc<dyn CodeVersion>, ChecksumType)>,
    form: DocumentForm,
) -> impl FnOnce(&mut CatalogDocument) -> Result<WrittenDocument, RichValueError> + Send + 'static {
    move |document| {
        let contents = match version {
            Some((version, checksum_type)) => inline_files(document, &*version, checksum_type),
            None => Ok(StaticContents::default()),
        };
        Ok(match contents {
            Ok(contents) => Ok((CompressedCatalog::new(&document.to_text(form)?), contents)),
            Err(error) => Err(error),
        })
    }
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
    }
}

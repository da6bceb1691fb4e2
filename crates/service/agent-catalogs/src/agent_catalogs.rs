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

use bytes::Bytes;
use catalogs::{
    CatalogError, CatalogNode, Catalogs, CompileCaller, CompileOrigin, CompilePriority,
    OpenEnvironment,
};
use classifier::NodeFacts;
use compiler::{CatalogDocument, DocumentForm, RichValueError};
use environments::{CodeReader, CodeVersion, EnvironmentName};
use inventory::{Inventory, NodeRecord, trusted_facts};
use jiff::Timestamp;
use pcp::Certname;
use serde_json::{Map, Value as Json, json};

use crate::static_files::{StaticContents, StaticFileError, inline_files};
use crate::{AgentCatalogError, ChecksumType};

/// Gives catalogs to agents. Clones share everything.
#[derive(Debug, Clone)]
pub struct AgentCatalogs {
    inner: Arc<AgentCatalogsInner>,
}

#[derive(Debug)]
struct AgentCatalogsInner {
    catalogs: Catalogs,
    inventory: Inventory,
    code: Arc<dyn CodeReader>,
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
    /// True if the agent changes its environment before it takes a catalog of another one.
    pub checks_environment: bool,
    /// Facts of the node; `None` to use those that it sent last.
    pub facts: Option<AgentFacts>,
    /// Checksum type for the files of a static catalog; `None` for a catalog that is not static.
    pub static_files: Option<ChecksumType>,
    pub form: DocumentForm,
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
    /// The document as JSON.
    pub body: Bytes,
    /// Time of the compilation; `None` if the catalog was not compiled for this request.
    pub compile_time: Option<Duration>,
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
    /// Creates the engine.
    #[must_use]
    pub fn new(catalogs: Catalogs, inventory: Inventory, code: Arc<dyn CodeReader>) -> Self {
        Self {
            inner: Arc::new(AgentCatalogsInner {
                catalogs,
                inventory,
                code,
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
        let opened = self.inner.catalogs.environment(&environment, None).await?;
        let version = self.static_version(&request, &opened).await?;
        let origin = CompileOrigin {
            caller: CompileCaller::Client(certname.to_string()),
            priority: CompilePriority::Foreground,
        };
        let write = document_writer(version, request.form);
        let code_id = opened.code_id.clone();
        let node = node.without_reported_facts();
        let compiling = self
            .inner
            .catalogs
            .compile_node(&node, opened, &origin, kept, write);
        let compiled = compiling.await?;
        let (text, _contents) = compiled.catalog?;
        Ok(AgentCatalog {
            environment,
            code_id,
            body: Bytes::from(text),
            compile_time: Some(compiled.took),
        })
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
        // a node is configured even if the database is full
        if let Err(error) = self.inner.inventory.record_facts(certname, record).await {
            tracing::warn!(%certname, %error, "the facts of a node are not recorded");
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

type WrittenDocument = Result<(String, StaticContents), StaticFileError>;

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
            Ok(contents) => Ok((document.to_text(form)?, contents)),
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
        body: Bytes::from(document.to_string()),
        compile_time: None,
    }
}

//! Catalogs of nodes for services, which request them on behalf of nodes: [`ServiceCatalogRequest`].
//!
//! Invariant: a service's catalog is never given to an agent, is no part of a node's history, and nothing of it is
//! recorded or forwarded unless the service asks for it.

use std::sync::Arc;
use std::time::Duration;

use catalogs::{CatalogCompiler, CatalogNode, CompileCaller, CompileOrigin, CompilePriority};
use classifier::NodeFacts;
use compiler::{CatalogDocument, CompileLog, DocumentForm, ProducedCapability};
use environments::EnvironmentName;
use error_causes::chain;
use inventory::NodeRecord;
use jiff::Timestamp;
use pcp::Certname;
use run_reports::ForwardedCatalog;
use serde_json::{Map, Value as Json};

use crate::AgentCatalogError;
use crate::agent_catalogs::{AgentCatalogs, AgentIdentity};
use crate::forwarded_capabilities::forwarded_capabilities;

/// A catalog that a service requests.
#[derive(Debug, Clone)]
pub struct ServiceCatalogRequest {
    /// Certname of the service.
    pub service: String,
    /// The node that the catalog is for.
    pub certname: Certname,
    pub environment: EnvironmentName,
    /// True to compile in the requested environment, also if the node groups assign another one.
    pub prefers_environment: bool,
    /// Facts of the node; `None` for those that its agent sent last, which may be none.
    pub facts: Option<Map<String, Json>>,
    /// Trusted data of the node; `None` for the fact `trusted`, or else those of its name.
    pub trusted: Option<Map<String, Json>>,
    pub transaction_uuid: Option<String>,
    pub job_id: Option<String>,
    /// True to record the given facts, and to forward them to PuppetDB.
    pub persists_facts: bool,
    /// True to forward the catalog to PuppetDB.
    pub persists_catalog: bool,
}

/// A catalog for a service.
#[derive(Debug)]
pub struct ServiceCatalog {
    pub environment: EnvironmentName,
    pub document: Json,
    /// Messages of the manifests and of the compiler.
    pub logs: Vec<CompileLog>,
    /// Time of the compilation.
    pub took: Duration,
}

impl AgentCatalogs {
    /// Compiles a catalog for a service.
    ///
    /// # Errors
    /// The node groups contradict each other, the code cannot be compiled, or the engine is busy.
    pub async fn service_catalog(
        &self,
        mut request: ServiceCatalogRequest,
    ) -> Result<ServiceCatalog, AgentCatalogError> {
        let catalogs = &self.inner.catalogs;
        let (node, facts) = Box::pin(self.service_node(&mut request)).await?;
        let assigned = node
            .group_environment()
            .filter(|_| !request.prefers_environment);
        let environment = assigned.unwrap_or(&request.environment).clone();
        let chosen = catalogs.compiler_of(&node, &environment);
        if chosen.compiler == CatalogCompiler::Puppetserver {
            return Err(AgentCatalogError::OfPuppetserver {
                certname: request.certname,
                reason: chosen.reason,
            });
        }
        if let Some(facts) = facts {
            Box::pin(self.record_service_facts(&request, facts)).await;
        }
        let opened = catalogs.environment(&environment, None).await?;
        let origin = CompileOrigin {
            caller: CompileCaller::Client(request.service.clone()),
            priority: CompilePriority::Foreground,
        };
        // as puppetserver writes it: without rich data
        let write = |document: &mut CatalogDocument| document.to_json(DocumentForm::Texts);
        let node = node.without_reported_facts();
        let compiling = catalogs.compile_node(&node, opened, &origin, None, (write, |_| true));
        let compiled = Box::pin(compiling).await?;
        if request.persists_catalog {
            Box::pin(
                self.forward_service_catalog(&request, (&compiled.catalog, &compiled.produced)),
            )
            .await;
        }
        Ok(ServiceCatalog {
            environment,
            document: compiled.catalog,
            logs: compiled.logs,
            took: compiled.took,
        })
    }

    /// The node with the data of the request, and the given facts if they are to be recorded.
    async fn service_node(
        &self,
        request: &mut ServiceCatalogRequest,
    ) -> Result<(CatalogNode, Option<Map<String, Json>>), AgentCatalogError> {
        let given = request.facts.take();
        let recorded = given.clone().filter(|_| request.persists_facts);
        let mut facts = match given {
            Some(facts) => facts,
            None => self
                .known_facts(&request.certname)
                .await?
                .unwrap_or_default(),
        };
        let fact = facts.shift_remove("trusted");
        if request.trusted.is_none()
            && let Some(Json::Object(trusted)) = fact
        {
            request.trusted = Some(trusted);
        }
        let of_name = AgentIdentity::new(request.certname.clone(), Default::default()).trusted;
        let trusted = request.trusted.clone().unwrap_or(of_name);
        let known = NodeFacts {
            certname: request.certname.clone(),
            fact: Json::Object(facts),
            trusted: Json::Object(trusted),
            requested_environment: Some(request.environment.to_string()),
        };
        let node = self.inner.catalogs.classify_node(known)?;
        let node = match &request.trusted {
            Some(trusted) => node.with_given_trusted(trusted),
            None => node,
        };
        Ok((node, recorded))
    }

    async fn record_service_facts(
        &self,
        request: &ServiceCatalogRequest,
        facts: Map<String, Json>,
    ) {
        let record = NodeRecord {
            facts: Arc::new(facts),
            trusted: Arc::new(request.trusted.clone().unwrap_or_default()),
            environment: Some(request.environment.to_string()),
            timestamp: Timestamp::now(),
        };
        let recorded = self
            .inner
            .run_reports
            .record_facts(&request.certname, record);
        if let Err(error) = recorded.await {
            let (certname, error) = (&request.certname, chain(&error));
            tracing::warn!(%certname, error, "the facts that a service gave are not recorded");
        }
    }

    async fn forward_service_catalog(
        &self,
        request: &ServiceCatalogRequest,
        (document, produced): (&Json, &[ProducedCapability]),
    ) {
        let catalog = ForwardedCatalog {
            certname: request.certname.clone(),
            document: document.clone(),
            capabilities: forwarded_capabilities(produced),
            transaction_uuid: request.transaction_uuid.clone(),
            job_id: request.job_id.clone(),
        };
        let forwarding = self.inner.run_reports.record_catalog(catalog);
        if let Err(error) = forwarding.await {
            let (certname, error) = (&request.certname, chain(&error));
            tracing::warn!(%certname, error, "the catalog of a service is not forwarded to PuppetDB");
        }
    }
}

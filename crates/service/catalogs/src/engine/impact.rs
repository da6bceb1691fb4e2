//! Changes of the catalogs of nodes between two versions of the code: [`CodeImpactRequest`].
//!
//! Invariant: a node whose catalogs cannot be compared is reported with the reason, and does not
//! keep the others from being compared.

use std::sync::Arc;

use environments::EnvironmentName;
use futures_util::FutureExt as _;
use futures_util::stream::{self, StreamExt as _};
use pcp::Certname;

use super::Catalogs;
use super::compiler_choice::{CatalogCompiler, ChosenCompiler};
use super::environment_cache::OpenEnvironment;
use super::error::CatalogError;
use super::node_data::CatalogNode;
use super::queue::{CompileCaller, CompileOrigin, CompilePriority};
use crate::grouping::ChangeGroups;
use crate::many_nodes::NodeOutcome;
use crate::shadow::CatalogOutcome;

/// A version of an environment.
#[derive(Debug, Clone)]
pub struct ImpactVersion {
    pub environment: EnvironmentName,
    /// Code id; `None` for the live version.
    pub code_id: Option<String>,
}

/// Two versions that are compared for nodes.
#[derive(Debug, Clone)]
pub struct CodeImpactRequest {
    pub before: ImpactVersion,
    pub after: ImpactVersion,
    pub nodes: Vec<Certname>,
    /// The client that compares them.
    pub caller: CompileCaller,
}

/// The changes of nodes.
#[derive(Debug)]
pub struct NodeImpact {
    /// Code ids of the two versions; `None` if an environment has no versions.
    pub code_ids: (Option<String>, Option<String>),
    pub groups: ChangeGroups,
}

impl Catalogs {
    /// Compiles nodes with two versions and groups them by the changes.
    ///
    /// # Errors
    /// One of the versions cannot be opened, or the engine is busy or stops.
    pub async fn impact(&self, request: &CodeImpactRequest) -> Result<NodeImpact, CatalogError> {
        let before = self.open_version(&request.before).await?;
        let after = self.open_version(&request.after).await?;
        let concurrent = self.inner.settings.concurrent_compiles.max(1);
        let origin = CompileOrigin {
            caller: request.caller.clone(),
            priority: CompilePriority::Background,
        };
        let comparisons = request.nodes.iter().enumerate().map(|(index, certname)| {
            let compared = self.clone().compare_versions(
                certname.clone(),
                Arc::clone(&before),
                Arc::clone(&after),
                origin.clone(),
            );
            async move { (index, Box::pin(compared).await) }.boxed()
        });
        // Collected, because the compiler cannot prove the lazy form to be sendable.
        let comparisons: Vec<_> = comparisons.collect();
        let mut outcomes = stream::iter(comparisons).buffer_unordered(concurrent);
        let mut groups = ChangeGroups::default();
        while let Some((index, outcome)) = outcomes.next().await {
            groups.add(index, request.nodes[index].as_str(), &outcome?);
        }
        let code_ids = (before.code_id.clone(), after.code_id.clone());
        Ok(NodeImpact { code_ids, groups })
    }

    async fn open_version(
        &self,
        version: &ImpactVersion,
    ) -> Result<Arc<OpenEnvironment>, CatalogError> {
        self.environment(&version.environment, version.code_id.as_deref())
            .await
    }

    async fn compare_versions(
        self,
        certname: Certname,
        before: Arc<OpenEnvironment>,
        after: Arc<OpenEnvironment>,
        origin: CompileOrigin,
    ) -> Result<NodeOutcome, CatalogError> {
        let node = CatalogNode::read(&self.inner.classifier, &certname, None).await;
        let groups = node.as_ref().map_or(&[][..], CatalogNode::groups);
        let choices = &self.inner.settings.choices;
        let chosen = choices.choose(certname.as_str(), groups, after.environment.as_str());
        if chosen.compiler == CatalogCompiler::Puppetserver {
            return Ok(NodeOutcome::NoAnswer(format!(
                "not compared: a puppetserver compiles it ({})",
                chosen.reason
            )));
        }
        let node = match node {
            Ok(node) => node.without_reported_facts(),
            Err(
                error @ (CatalogError::NoFacts { .. }
                | CatalogError::Classification(_)
                | CatalogError::EnvironmentName { .. }),
            ) => return Ok(NodeOutcome::NoAnswer(without_name(&error, &certname))),
            Err(error) => return Err(error),
        };
        let before = self.outcome(&node, &before, &origin).await?;
        let after = self.outcome(&node, &after, &origin).await?;
        // The comparison of large catalogs takes the processor for some time.
        let comparing = tokio::task::spawn_blocking(move || NodeOutcome::of(&before, &after));
        comparing.await.map_err(|error| CatalogError::Defect {
            certname: certname.to_string(),
            cause: error.to_string(),
        })
    }

    async fn outcome(
        &self,
        node: &CatalogNode,
        opened: &Arc<OpenEnvironment>,
        origin: &CompileOrigin,
    ) -> Result<CatalogOutcome, CatalogError> {
        let compiled = self.compile_native(
            node,
            Arc::clone(opened),
            origin,
            ChosenCompiler::default(),
            None,
        );
        match compiled.await {
            Ok(compiled) => Ok(Ok(compiled.catalog)),
            Err(CatalogError::Compile(error)) => Ok(Err(error.to_string())),
            Err(CatalogError::Document { cause, .. }) => {
                Ok(Err(format!("the catalog cannot be written: {cause}")))
            }
            Err(error) => Err(error),
        }
    }
}

/// The message of an error without the name of the node, so that nodes with the same error are one
/// group.
fn without_name(error: &CatalogError, certname: &Certname) -> String {
    let message = error.to_string();
    let message = message.replace(&format!(" of {certname}"), "");
    format!("not compared: {message}")
}

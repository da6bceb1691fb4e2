//! The last catalog of a node, if it may be given again.
//!
//! Invariant: a catalog is given again only if a compilation would give the same now.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use catalogs::{CatalogNode, KeptCatalog, OpenEnvironment, QueryChange, changed_files};
use environments::EnvironmentName;
use error_causes::chain;
use pcp::Certname;
use store::now_ms;

use crate::agent_catalogs::{AgentCatalogRequest, AgentCatalogs};
use crate::compile_cause::{CompileCause, NameList};
use crate::defaults::{CAUSE_TEXT_MAX, RECORD_USE};
use crate::fingerprint::{CatalogFormat, CatalogInputs};
use crate::kept_catalogs::{CatalogDependencies, KeptAgentCatalog, NewestCatalog};
use crate::{AgentCatalogError, CatalogInput, CompressedCatalog, FactsPolicy};

/// The newest catalog of a node, which a compilation would give too.
#[derive(Debug)]
pub(crate) struct CurrentCatalog {
    kept: Arc<KeptAgentCatalog>,
    newest: Arc<NewestCatalog>,
}

/// An open environment, and the catalog in it; or else the reasons for which there is none.
pub(crate) type CurrentCatalogOutcome = (
    Arc<OpenEnvironment>,
    Result<CurrentCatalog, Vec<CompileCause>>,
);

impl CurrentCatalog {
    pub(crate) fn body(&self) -> &CompressedCatalog {
        &self.newest.body
    }

    pub(crate) fn has_uuid(&self, catalog_uuid: &str) -> bool {
        self.newest.uuid.as_deref() == Some(catalog_uuid)
    }

    /// True if the agent got it.
    pub(crate) fn is_given(&self) -> bool {
        self.kept.is_given()
    }
}

impl AgentCatalogs {
    /// The last catalog of a node, if a compilation in the environment would give the same now, or else the
    /// reasons that it would not. `policy` says which facts of the node count.
    ///
    /// # Errors
    /// The environment does not exist, or cannot be read.
    pub(crate) async fn current_catalog(
        &self,
        request: &AgentCatalogRequest,
        node: &Arc<CatalogNode>,
        environment: &EnvironmentName,
        policy: FactsPolicy,
    ) -> Result<CurrentCatalogOutcome, AgentCatalogError> {
        let certname = node.certname();
        let kept = self.kept_catalogs(certname).await.into_iter().next();
        let (engine, node, format) = (self.clone(), Arc::clone(node), request.format());
        let comparing = self.inner.catalogs.with_environment(
            environment,
            request.code_id.as_deref(),
            move |opened| {
                let current = engine.compare_inputs(kept, (&node, &opened), format, policy);
                (opened, current)
            },
        );
        let (opened, current) = comparing.await?;
        let current = match current {
            Ok(current) => current,
            Err(causes) => return Ok((opened, Err(causes))),
        };
        let queries = &current.newest.dependencies.queries;
        let changed = self.inner.catalogs.changed_queries(certname, queries);
        let changed = changed.await;
        let current = match changed.is_empty() {
            true => Ok(current),
            false => Err(query_causes(changed)),
        };
        Ok((opened, current))
    }

    /// Compares all but the queries of a catalog with what it would be compiled from now. Examines files.
    fn compare_inputs(
        &self,
        kept: Option<Arc<KeptAgentCatalog>>,
        (node, opened): (&CatalogNode, &OpenEnvironment),
        format: CatalogFormat,
        policy: FactsPolicy,
    ) -> Result<CurrentCatalog, Vec<CompileCause>> {
        let Some(code_id) = &opened.code_id else {
            return Err(vec![CompileCause::NoVersion]);
        };
        let newest = kept.and_then(|kept| Some((kept.newest.clone()?, kept)));
        let Some((newest, kept)) = newest else {
            return Err(vec![CompileCause::NoCatalog]);
        };
        let now = self.inputs(format, node, opened, code_id);
        let causes = changed_inputs(&kept, &newest.dependencies, &now, policy);
        if !causes.is_empty() {
            return Err(causes);
        }
        let Some(outside_files) = &newest.dependencies.outside_files else {
            return Err(vec![CompileCause::UnknownOutsideFiles]);
        };
        let changed = changed_files(outside_files);
        if !changed.is_empty() {
            let paths = NameList::new(changed);
            return Err(vec![CompileCause::OutsideFiles { paths }]);
        }
        Ok(CurrentCatalog { kept, newest })
    }

    /// The catalogs of a node, the newest first: those in memory, or else in the database.
    pub(crate) async fn kept_catalogs(&self, certname: &Certname) -> Vec<Arc<KeptAgentCatalog>> {
        let inner = &self.inner;
        if let Some(kept) = inner.kept.of_node(certname) {
            return kept;
        }
        let Some(stored) = &inner.stored else {
            return Vec::new();
        };
        match stored.load(certname).await {
            Ok(catalogs) => inner.kept.add_stored(certname, catalogs),
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(%certname, error, "the stored catalogs of a node cannot be read");
            }
        }
        inner.kept.of_node(certname).unwrap_or_default()
    }

    /// Records that a kept catalog is given to its agent, and keeps its exported resources with `turn` if
    /// they wait for that. PuppetDB gets the catalog once a day, in case that it has forgotten the node
    /// meanwhile.
    ///
    /// # Errors
    /// The exported resources cannot be kept.
    pub(crate) async fn record_use(
        &self,
        request: &AgentCatalogRequest,
        current: &CurrentCatalog,
        turn: KeptCatalog,
    ) -> Result<(), AgentCatalogError> {
        let CurrentCatalog { kept, newest } = current;
        let (certname, now) = (&request.agent.certname, now_ms());
        if let (Some(exported), false) = (&newest.exported, kept.is_given()) {
            let (catalogs, code_id) = (&self.inner.catalogs, Some(kept.code_id.clone()));
            let exported = Arc::clone(exported);
            let keeping = catalogs.keep_exported(turn, &kept.environment, code_id, exported);
            keeping.await?;
        }
        self.inner.kept.set_current(certname);
        let used = kept.used_ms.load(Ordering::Relaxed);
        let day = i64::try_from(RECORD_USE.as_millis()).unwrap_or(i64::MAX);
        let is_known = kept.given.swap(true, Ordering::Relaxed);
        if !is_known || now.abs_diff(used) >= day.unsigned_abs() {
            kept.awaits_forwarding.store(true, Ordering::Relaxed);
            kept.used_ms.store(now, Ordering::Relaxed);
            if let Some(stored) = &self.inner.stored {
                stored.write_given(certname, kept.sequence, now);
            }
        }
        if kept.awaits_forwarding.load(Ordering::Relaxed) {
            let is_queued = self.forward(request, (&newest.body, &[])).await;
            kept.awaits_forwarding.store(!is_queued, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The queries with other results, and the first one without any.
fn query_causes(changed: Vec<QueryChange>) -> Vec<CompileCause> {
    let (failed, changed): (Vec<_>, Vec<_>) =
        changed.into_iter().partition(|it| it.failure.is_some());
    let mut causes = Vec::new();
    if !changed.is_empty() {
        let names = changed.iter().map(|it| excerpt(&it.query)).collect();
        let queries = NameList::new(names);
        causes.push(CompileCause::Queries { queries });
    }
    if let Some(failed) = failed.into_iter().next() {
        causes.push(CompileCause::QueryFailed {
            query: excerpt(&failed.query),
            error: excerpt(&failed.failure.unwrap_or_default()),
        });
    }
    causes
}

fn excerpt(text: &str) -> String {
    text.chars().take(CAUSE_TEXT_MAX).collect()
}

/// The inputs that differ from those of a kept catalog, and the data that change without notice.
fn changed_inputs(
    kept: &KeptAgentCatalog,
    dependencies: &CatalogDependencies,
    now: &CatalogInputs<'_>,
    policy: FactsPolicy,
) -> Vec<CompileCause> {
    let changed = dependencies.fingerprint.changes(now, policy);
    let inputs = changed.inputs.into_iter().map(|input| CompileCause::Input {
        input,
        before: match input {
            CatalogInput::Environment => Some(kept.environment.to_string()),
            CatalogInput::Code => Some(kept.code_id.clone()),
            _ => None,
        },
    });
    let mut causes: Vec<CompileCause> = inputs.collect();
    if !changed.facts.is_empty() {
        let paths = NameList::new(changed.facts);
        causes.push(CompileCause::Facts { paths });
    }
    if let Some(cause) = dependencies.volatile.clone() {
        causes.push(CompileCause::Volatile { cause });
    }
    causes
}

//! Nodes whose catalogs were compiled from data of other nodes that have changed since. Main method:
//! [`AgentCatalogs::nodes_with_changed_imports`].
//!
//! Invariant: a node is named only if a query of its last catalog has another result now; nothing is compiled.

use std::sync::Arc;

use pcp::Certname;
use tokio::task::JoinSet;

use crate::agent_catalogs::AgentCatalogs;
use crate::defaults::IMPORT_CHECKS;

impl AgentCatalogs {
    /// Those of the nodes whose exported resources, capabilities or queries have other results than in their last
    /// catalogs, in alphabetical order. Nodes without a kept catalog are left out, and so are those whose queries
    /// have no result now, with a line in the log.
    pub async fn nodes_with_changed_imports(&self, certnames: Vec<Certname>) -> Vec<Certname> {
        let mut changed = Vec::new();
        let mut waiting = certnames.into_iter();
        let mut running = JoinSet::new();
        loop {
            while running.len() < IMPORT_CHECKS
                && let Some(certname) = waiting.next()
            {
                let engine = self.clone();
                running.spawn(async move {
                    let has_changed = engine.has_changed_imports(&certname).await;
                    has_changed.then_some(certname)
                });
            }
            match running.join_next().await {
                Some(Ok(found)) => changed.extend(found),
                // A check that broke (a bug) names no node.
                Some(Err(error)) => tracing::error!(%error, "imported data were not compared"),
                None => break,
            }
        }
        changed.sort();
        changed
    }

    async fn has_changed_imports(&self, certname: &Certname) -> bool {
        let kept = self.kept_catalogs(certname).await.into_iter().next();
        let Some(newest) = kept.and_then(|kept| kept.newest.clone()) else {
            return false;
        };
        let queries = Arc::clone(&newest.dependencies.queries);
        let changed = self.inner.catalogs.changed_queries(certname, &queries);
        let (failed, changed): (Vec<_>, Vec<_>) = changed
            .await
            .into_iter()
            .partition(|query| query.failure.is_some());
        if let Some(failure) = failed.first().and_then(|query| query.failure.as_deref()) {
            tracing::warn!(%certname, failure, "it is not known whether data that the node imports have changed");
        }
        !changed.is_empty()
    }
}

//! Nodes whose catalogs were compiled from data of other nodes that have changed since. Main method:
//! [`AgentCatalogs::compare_imports`].
//!
//! Invariant: a node counts as changed only if its agent has not got its newest catalog, or a query of it has another
//! result now, or one of the compilation that failed last; nothing is compiled.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use compiler::DataQueryResult;
use pcp::Certname;
use tokio::task::JoinSet;

use crate::agent_catalogs::AgentCatalogs;
use crate::defaults::{IMPORT_CHECKS, IMPORT_FAILURES};

/// Nodes by what became of the data of other nodes in their last catalogs, each list in alphabetical order. Nodes with
/// the same data, and those without a kept catalog, are in none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportChanges {
    pub changed: Vec<Certname>,
    /// Nodes whose queries have no result now.
    pub unknown: Vec<Certname>,
    /// The first reason for that.
    pub failure: Option<String>,
}

/// The outcome of one node.
enum ImportCheck {
    Same,
    Changed,
    Unknown(String),
}

impl AgentCatalogs {
    /// Compares the collectors of exported resources, the queries and the capabilities of other nodes in the last catalogs
    /// of these nodes with the results that they have now. After some failures in a row the data of the rest are not
    /// compared: their source does not answer.
    pub async fn compare_imports(&self, certnames: Vec<Certname>) -> ImportChanges {
        let mut changes = ImportChanges::default();
        let mut waiting = certnames.into_iter();
        let mut running = JoinSet::new();
        let mut nodes = HashMap::new();
        let mut failures_in_a_row = 0;
        loop {
            while running.len() < IMPORT_CHECKS
                && failures_in_a_row < IMPORT_FAILURES
                && let Some(certname) = waiting.next()
            {
                let (engine, node) = (self.clone(), certname.clone());
                let task = running.spawn(async move { engine.check_imports(&node).await });
                nodes.insert(task.id(), certname);
            }
            let (task, check) = match running.join_next_with_id().await {
                Some(Ok(checked)) => checked,
                // A bug in the comparison of one node.
                Some(Err(error)) => (error.id(), ImportCheck::Unknown(error.to_string())),
                None => break,
            };
            let Some(certname) = nodes.remove(&task) else {
                continue;
            };
            failures_in_a_row = match check {
                ImportCheck::Unknown(_) => failures_in_a_row + 1,
                ImportCheck::Same | ImportCheck::Changed => 0,
            };
            match check {
                ImportCheck::Same => {}
                ImportCheck::Changed => changes.changed.push(certname),
                ImportCheck::Unknown(failure) => {
                    tracing::warn!(%certname, failure, "the data that a node imports cannot be compared");
                    changes.unknown.push(certname);
                    changes.failure.get_or_insert(failure);
                }
            }
        }
        changes.unknown.extend(waiting);
        changes.changed.sort();
        changes.unknown.sort();
        changes
    }

    async fn check_imports(&self, certname: &Certname) -> ImportCheck {
        // Its newest catalog is not what the agent asked for last.
        if let Some(queries) = self.inner.failed_imports.get(certname) {
            return self.check_queries(certname, &queries).await;
        }
        let kept = self.kept_catalogs(certname).await.into_iter().next();
        let Some((kept, newest)) = kept.and_then(|kept| Some((kept.clone(), kept.newest.clone()?)))
        else {
            return ImportCheck::Same;
        };
        // Compiled in advance, from other data than the agent's.
        if !kept.given.load(Ordering::Relaxed) {
            return ImportCheck::Changed;
        }
        self.check_queries(certname, &newest.dependencies.queries)
            .await
    }

    async fn check_queries(
        &self,
        certname: &Certname,
        queries: &Arc<Vec<DataQueryResult>>,
    ) -> ImportCheck {
        let catalogs = &self.inner.catalogs;
        let changed = catalogs.changed_queries(certname, queries).await;
        if changed.iter().any(|query| query.failure.is_none()) {
            return ImportCheck::Changed;
        }
        match changed.into_iter().find_map(|query| query.failure) {
            Some(failure) => ImportCheck::Unknown(failure),
            None => ImportCheck::Same,
        }
    }
}

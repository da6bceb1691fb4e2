//! Catalogs compiled in advance: when another version of an environment becomes live, those of the nodes that
//! will ask for them. Main method: [`AgentCatalogs::compile_ahead`].
//!
//! Invariants: a node that asks has precedence; what other nodes and PuppetDB know of a node changes only when
//! its agent gets the catalog; a catalog that an agent has got meanwhile is not replaced.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use catalogs::CatalogError;
use environments::EnvironmentName;
use error_causes::chain;
use pcp::Certname;
use store::{StoreError, now_ms};
use tokio::task::JoinSet;

use crate::agent_catalogs::AgentCatalogs;
use crate::compile_cause::CompileCause;
use crate::defaults::{
    AHEAD_FAILURES_LOGGED, AHEAD_NODES_PAGE, AHEAD_PART_OF_SLOTS, AHEAD_USED_WITHIN,
};
use crate::kept_catalogs::{KeptAgentCatalog, NewestCatalog};
use crate::new_catalog::CompilePurpose;
use crate::{AgentCatalogError, AgentCatalogRequest, AgentIdentity, FactsPolicy};

/// Environments whose catalogs are to be compiled in advance.
#[derive(Debug, Default)]
pub(crate) struct AheadQueue {
    state: Mutex<AheadQueueState>,
}

#[derive(Debug, Default)]
struct AheadQueueState {
    waiting: BTreeSet<EnvironmentName>,
    /// True if a task takes them.
    is_taken: bool,
}

/// Numbers of nodes by what became of their catalogs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AheadSummary {
    pub compiled: usize,
    /// Nodes whose catalogs a compilation would not change.
    pub current: usize,
    /// Nodes whose catalogs are compiled when they ask.
    pub left: usize,
    pub failed: usize,
}

/// What became of a node's catalog.
#[derive(Debug)]
enum AheadOutcome {
    Compiled,
    Current,
    Left,
    /// The server is shutting down.
    Stopping,
    Failed(AgentCatalogError),
}

impl AgentCatalogs {
    /// Lets the catalogs of an environment's nodes be compiled in a task, one environment after the other.
    /// Does not wait.
    pub fn compile_ahead(&self, environment: &EnvironmentName) {
        let is_first = self.inner.ahead.add(environment);
        if !is_first || self.inner.stopped.is_cancelled() {
            return;
        }
        let engine = self.clone();
        self.inner.tasks.spawn(async move {
            let compiling = async {
                while let Some(environment) = engine.inner.ahead.take() {
                    Box::pin(engine.compile_environment_ahead(&environment)).await;
                }
            };
            tokio::select! {
                () = compiling => {}
                () = engine.inner.stopped.cancelled() => {}
            }
        });
    }

    /// Compiles the catalogs of an environment's nodes that differ from those that they have. Nodes come first
    /// that asked longest ago, since they ask next. Ends early if the environment is added again.
    pub async fn compile_environment_ahead(&self, environment: &EnvironmentName) -> AheadSummary {
        let mut summary = AheadSummary::default();
        // it may have been removed; otherwise its code is read here, once for all nodes
        if let Err(error) = self.inner.catalogs.environment(environment, None).await {
            let error = chain(&error);
            tracing::debug!(%environment, error, "no catalogs are compiled in advance");
            return summary;
        }
        let mut nodes = match self.nodes_in_order(environment).await {
            Ok(nodes) => nodes,
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(%environment, error, "no catalogs are compiled in advance");
                return summary;
            }
        };
        let together = (self.inner.catalogs.concurrent_compiles() / AHEAD_PART_OF_SLOTS).max(1);
        let mut running = JoinSet::new();
        loop {
            while running.len() < together
                && !self.inner.ahead.is_waiting(environment)
                && let Some(certname) = nodes.pop_front()
            {
                let (engine, environment) = (self.clone(), environment.clone());
                running.spawn(async move {
                    let outcome =
                        Box::pin(engine.compile_node_ahead(&certname, &environment)).await;
                    (certname, outcome.unwrap_or_else(AheadOutcome::Failed))
                });
            }
            match running.join_next().await {
                Some(Ok((_, AheadOutcome::Stopping))) => nodes.clear(),
                Some(Ok((certname, outcome))) => summary.add(&certname, &outcome),
                Some(Err(_)) => summary.failed += 1,
                None => break,
            }
        }
        if summary != AheadSummary::default() {
            let AheadSummary {
                compiled,
                current,
                left,
                failed,
            } = summary;
            tracing::info!(%environment, compiled, current, left, failed, "catalogs compiled in advance");
        }
        summary
    }

    /// The nodes whose newest catalogs are of an environment, in the order in which they ask next.
    async fn nodes_in_order(
        &self,
        environment: &EnvironmentName,
    ) -> Result<VecDeque<Certname>, StoreError> {
        let requests = self.inner.kept.last_requests();
        let mut nodes: BTreeSet<Certname> = requests.keys().cloned().collect();
        if let Some(stored) = &self.inner.stored {
            let within = i64::try_from(AHEAD_USED_WITHIN.as_millis()).unwrap_or(i64::MAX);
            let since_ms = now_ms().saturating_sub(within);
            let mut after = String::new();
            loop {
                let page = stored.nodes(environment, since_ms, &after, AHEAD_NODES_PAGE);
                let page = page.await?;
                let Some(last) = page.last() else {
                    break;
                };
                after.clone_from(last);
                nodes.extend(page.iter().filter_map(|name| name.parse().ok()));
            }
        }
        let mut nodes: Vec<Certname> = nodes.into_iter().collect();
        nodes.sort_by_key(|certname| requests.get(certname).copied().unwrap_or(u64::MAX));
        Ok(nodes.into())
    }

    async fn compile_node_ahead(
        &self,
        certname: &Certname,
        environment: &EnvironmentName,
    ) -> Result<AheadOutcome, AgentCatalogError> {
        let newest = self.kept_catalogs(certname).await.into_iter().next();
        let Some((kept, newest)) =
            newest.and_then(|kept| Some((kept.clone(), kept.newest.clone()?)))
        else {
            return Ok(AheadOutcome::Left);
        };
        let request = match is_compiled_ahead(&kept, &newest, environment) {
            true => self.next_request(certname, &newest).await?,
            false => None,
        };
        let Some(request) = request else {
            return Ok(AheadOutcome::Left);
        };
        let (node, of_node) = match self.classify_request(&request).await {
            Err(AgentCatalogError::OfPuppetserver { .. }) => return Ok(AheadOutcome::Left),
            classified => classified?,
        };
        // Where facts are ignored, those that the agent sends are not compared with those of this compilation.
        let policy = self.inner.facts_policies.of_groups(node.groups());
        if of_node != *environment || policy == FactsPolicy::Ignore {
            return Ok(AheadOutcome::Left);
        }
        let node = Arc::new(node.without_reported_facts());
        let current = self.current_catalog(&request, &node, environment, FactsPolicy::Read);
        let (opened, current) = Box::pin(current).await?;
        let causes = match current {
            Ok(_) => return Ok(AheadOutcome::Current),
            Err(causes) => causes,
        };
        if causes.iter().any(is_reason_to_wait) {
            return Ok(AheadOutcome::Left);
        }
        let purpose = CompilePurpose::Ahead {
            newest: kept.sequence,
        };
        let compiling = self.compile(&request, &node, opened, (purpose, causes));
        match Box::pin(compiling).await {
            Ok(_) => Ok(AheadOutcome::Compiled),
            // nodes that ask have all slots
            Err(AgentCatalogError::Catalog(
                CatalogError::QueueFull(_) | CatalogError::WaitedTooLong { .. },
            )) => Ok(AheadOutcome::Left),
            Err(AgentCatalogError::Catalog(CatalogError::Stopping)) => Ok(AheadOutcome::Stopping),
            Err(error) => Err(error),
        }
    }

    /// The request that a node makes next, if its facts remain; `None` if that is not known.
    async fn next_request(
        &self,
        certname: &Certname,
        newest: &NewestCatalog,
    ) -> Result<Option<AgentCatalogRequest>, AgentCatalogError> {
        let known = self.known_node(certname).await?;
        let (Some(known), Some((form, static_files))) =
            (known, newest.dependencies.fingerprint.format())
        else {
            return Ok(None);
        };
        let requested = known
            .environment
            .as_ref()
            .and_then(|name| name.parse().ok());
        let Some(requested) = requested else {
            return Ok(None);
        };
        let agent = AgentIdentity {
            certname: certname.clone(),
            trusted: (*known.trusted).clone(),
        };
        Ok(Some(AgentCatalogRequest {
            static_files,
            form,
            ..AgentCatalogRequest::from_known_facts(agent, requested)
        }))
    }
}

/// True if the next catalog of a node is compiled in advance.
fn is_compiled_ahead(
    kept: &KeptAgentCatalog,
    newest: &NewestCatalog,
    environment: &EnvironmentName,
) -> bool {
    let used_ms = kept.used_ms.load(Ordering::Relaxed);
    let unused_ms = u128::from(now_ms().abs_diff(used_ms));
    kept.environment == *environment
        && newest.dependencies.volatile.is_none()
        && unused_ms <= AHEAD_USED_WITHIN.as_millis()
}

/// True if the node's next catalog depends on what it sends with its request. Facts that differ from those
/// of its last catalog may be those of another program than Puppet.
fn is_reason_to_wait(cause: &CompileCause) -> bool {
    match cause {
        CompileCause::NoCatalog
        | CompileCause::NoVersion
        | CompileCause::Volatile { .. }
        | CompileCause::Facts { .. }
        | CompileCause::QueryFailed { .. } => true,
        CompileCause::Input { .. }
        | CompileCause::OutsideFiles { .. }
        | CompileCause::Queries { .. }
        | CompileCause::UnknownOutsideFiles => false,
    }
}

impl AheadQueue {
    /// Adds an environment; true if no task takes those that wait.
    fn add(&self, environment: &EnvironmentName) -> bool {
        let mut state = self.lock();
        state.waiting.insert(environment.clone());
        !std::mem::replace(&mut state.is_taken, true)
    }

    /// The next environment; `None` if none waits, and the task that takes them ends.
    fn take(&self) -> Option<EnvironmentName> {
        let mut state = self.lock();
        let next = state.waiting.pop_first();
        state.is_taken = next.is_some();
        next
    }

    fn is_waiting(&self, environment: &EnvironmentName) -> bool {
        self.lock().waiting.contains(environment)
    }

    fn lock(&self) -> MutexGuard<'_, AheadQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AheadSummary {
    fn add(&mut self, certname: &Certname, outcome: &AheadOutcome) {
        match outcome {
            AheadOutcome::Compiled => self.compiled += 1,
            AheadOutcome::Current => self.current += 1,
            AheadOutcome::Left | AheadOutcome::Stopping => self.left += 1,
            AheadOutcome::Failed(error) => {
                self.failed += 1;
                if self.failed > AHEAD_FAILURES_LOGGED {
                    return;
                }
                let error = chain(error);
                tracing::warn!(%certname, error, "a catalog cannot be compiled in advance");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AheadQueue;

    #[test]
    fn one_task_takes_each_waiting_environment_once() {
        let queue = AheadQueue::default();
        let [a, b] = ["a", "b"].map(|name| name.parse().unwrap());
        assert!(queue.add(&b));
        assert!(!queue.add(&a));
        assert!(!queue.add(&b));
        assert_eq!(queue.take(), Some(a));
        assert!(queue.is_waiting(&b));
        assert_eq!(queue.take(), Some(b.clone()));
        assert!(!queue.is_waiting(&b));
        assert!(!queue.add(&b), "its task goes on");
        assert_eq!(queue.take(), Some(b.clone()));
        assert_eq!(queue.take(), None);
        assert!(queue.add(&b), "its task has ended");
    }
}

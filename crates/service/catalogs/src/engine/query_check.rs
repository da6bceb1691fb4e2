//! Queries of a kept catalog, run again: [`QueryChange`].
//!
//! Invariant: a result that cannot be compared counts as another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use compiler::{CompileInterrupt, DataQueryResult, DataSources, ProducedCapabilities};
use pcp::Certname;

use super::Catalogs;
use super::compile::InterruptOnDrop;
use crate::defaults::{QUERIES_TOGETHER_MAX, QUERY_CHECK_TIME_MAX};

/// A query whose result is another one now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryChange {
    /// The query as code has it.
    pub query: String,
    /// Cause that there is no result; `None` if there is another one.
    pub failure: Option<String>,
}

impl Catalogs {
    /// The queries of a node's catalog whose results are others now, or cannot be known.
    pub async fn changed_queries(
        &self,
        certname: &Certname,
        queries: &Arc<Vec<DataQueryResult>>,
    ) -> Vec<QueryChange> {
        let Some(first) = queries.first() else {
            return Vec::new();
        };
        let unknown = |failure: &str| {
            vec![QueryChange {
                query: first.query.to_string(),
                failure: Some(failure.to_owned()),
            }]
        };
        let interrupt = Arc::new(CompileInterrupt::default());
        let checking = self.check_queries(certname, Arc::clone(queries), Arc::clone(&interrupt));
        let ends = InterruptOnDrop(Arc::clone(&interrupt));
        let checked = tokio::select! {
            checked = checking => checked,
            () = tokio::time::sleep(QUERY_CHECK_TIME_MAX) => {
                let seconds = QUERY_CHECK_TIME_MAX.as_secs();
                return unknown(&format!("no answer within {seconds} s"));
            }
            () = self.inner.stopping.cancelled() => return unknown("the server is shutting down"),
        };
        drop(ends);
        checked.unwrap_or_else(|| unknown("a thread of this server ended unexpectedly"))
    }

    /// Runs the queries on some threads, since their sources are for threads that compile. `None` if a thread
    /// is lost.
    async fn check_queries(
        &self,
        certname: &Certname,
        queries: Arc<Vec<DataQueryResult>>,
        interrupt: Arc<CompileInterrupt>,
    ) -> Option<Vec<QueryChange>> {
        let permit = Arc::clone(&self.inner.query_checks).acquire_owned().await;
        let permit = permit.ok()?;
        let settings = &self.inner.settings;
        let sources = DataSources {
            exports: settings.exports.clone(),
            puppetdb_queries: settings.puppetdb_queries.clone(),
            capabilities: settings
                .capabilities
                .of_code(None)
                .map(|it| Arc::new(it) as Arc<dyn ProducedCapabilities>),
        };
        let certname = certname.to_string();
        let checking = self.inner.compilations.spawn_blocking(move || {
            let _permit = permit;
            run_queries(&certname, &queries, &sources, &interrupt)
        });
        checking.await.ok()
    }
}

/// The queries with other results, in any order.
fn run_queries(
    certname: &str,
    queries: &[DataQueryResult],
    sources: &DataSources,
    interrupt: &Arc<CompileInterrupt>,
) -> Vec<QueryChange> {
    let (next, changes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let run = || {
        while let Some(known) = queries.get(next.fetch_add(1, Ordering::Relaxed)) {
            let failure = match known.query.run(certname, sources, interrupt) {
                Ok(digest) if digest == known.digest => continue,
                Ok(_) => None,
                Err(failure) => Some(failure),
            };
            let query = known.query.to_string();
            let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
            changes.push(QueryChange { query, failure });
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..queries.len().min(QUERIES_TOGETHER_MAX) {
            scope.spawn(run);
        }
    });
    changes.into_inner().unwrap_or_else(PoisonError::into_inner)
}

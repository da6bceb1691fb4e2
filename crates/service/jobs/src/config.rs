//! The settings of the engine, each with its default.
//!
//! Invariant of [`JobsConfig`]: the defaults are those of [`crate::defaults`], and a test may
//! shrink every interval.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use environments::JobCatalogs;
use store::{Clock, SystemClock};
use telemetry::Tracer;

use crate::applications::{ApplicationGraphs, NoApplications};
use crate::catalog_compilers::{CatalogCompilers, OwnCompiler};
use crate::defaults;
use crate::file_server::FileServer;
use crate::resolve::{EmptyResolver, NodeResolver};

/// Settings of the job engine.
#[derive(Clone, Debug)]
pub struct JobsConfig {
    /// Actions in flight at once over all jobs.
    pub task_concurrency: usize,
    /// Puppet runs in flight at once over all jobs, beside the actions.
    pub global_concurrent_compiles: usize,
    /// Source of knowledge about nodes: inventory and classifier.
    pub resolve: Arc<dyn NodeResolver>,
    /// Source of the applications of environments, which order Puppet runs.
    pub applications: Arc<dyn ApplicationGraphs>,
    /// Source of the compilers of catalogs, for runs that name a version of the code.
    pub compilers: Arc<dyn CatalogCompilers>,
    /// `https://HOST` of the console that shows the reports of Puppet runs; `None`: no links to
    /// reports.
    pub console_url: Option<String>,
    /// The server that agents fetch files of tasks from; `None`: those of their own configuration.
    pub file_server: Option<FileServer>,
    /// Timeout of one run if its job names none.
    pub run_timeout: Duration,
    /// Interval between status queries to a node with a run in flight.
    pub poll_interval: Duration,
    /// Consecutive status queries that may stay unanswered before the run counts as lost.
    pub poll_limit: u32,
    /// Time that an agent has to report a cancelled action.
    pub cancel_grace: Duration,
    /// Time that queued runs wait for their nodes after a restart.
    pub reconnect_grace: Duration,
    /// Wait of a queued run for a node that went away before its turn, or has not come back since
    /// the restart.
    pub away_grace: Duration,
    /// Time for which changes of presence are collected before they are written.
    pub presence_interval: Duration,
    /// Interval at which the timers are checked.
    pub tick: Duration,
    /// Times of the leases of nodes.
    pub leases: LeaseTimes,
    /// Timeout of a ping.
    pub ping_timeout: Duration,
    /// Age at which finished jobs are deleted; `None`: never.
    pub prune_after: Option<Duration>,
    /// Interval between two searches for jobs to delete.
    pub prune_every: Duration,
    /// Directory that records jobs which were answered with an error but may be stored all the same
    /// (the store was lost during their commit): they never start, not even after a restart.
    /// `None`: after a restart they do.
    pub withdrawals: Option<PathBuf>,
    /// Directory for files that plans download from nodes, with a subdirectory for each plan job;
    /// `None`: plans download nothing.
    pub downloads: Option<PathBuf>,
    /// Tracer that correlates the engine's spans with the requests they belong to.
    pub tracer: Tracer,
    /// Filled by the engine with the runs in flight whose jobs decide on their catalogs, for the server that
    /// compiles these.
    pub job_catalogs: JobCatalogs,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

/// Times of the leases that keep other runs of Puppet from starting on the nodes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTimes {
    /// Time after which a lease ends unless it is renewed; full seconds.
    pub ttl: Duration,
    /// Interval between two renewals.
    pub renewal: Duration,
    /// Time after which an event names the nodes that are waited for.
    pub note: Duration,
    /// Time that a job waits for the end of runs in progress.
    pub patience: Duration,
    /// Time that a request waits for its answer.
    pub answer: Duration,
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self {
            ttl: defaults::LEASE_TTL,
            renewal: defaults::LEASE_RENEWAL,
            note: defaults::LEASE_NOTE,
            patience: defaults::LEASE_PATIENCE,
            answer: defaults::LEASE_TIMEOUT,
        }
    }
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self {
            task_concurrency: defaults::TASK_CONCURRENCY,
            global_concurrent_compiles: defaults::CONCURRENT_COMPILES,
            resolve: Arc::new(EmptyResolver),
            applications: Arc::new(NoApplications),
            compilers: Arc::new(OwnCompiler),
            console_url: None,
            file_server: None,
            run_timeout: defaults::RUN_TIMEOUT,
            poll_interval: defaults::POLL_INTERVAL,
            poll_limit: defaults::POLL_LIMIT,
            cancel_grace: defaults::CANCEL_GRACE,
            reconnect_grace: defaults::RECONNECT_GRACE,
            away_grace: defaults::AWAY_GRACE,
            presence_interval: defaults::PRESENCE_INTERVAL,
            tick: defaults::TICK,
            leases: LeaseTimes::default(),
            ping_timeout: defaults::PING_TIMEOUT,
            prune_after: Some(defaults::PRUNE_AFTER),
            prune_every: defaults::PRUNE_EVERY,
            withdrawals: None,
            downloads: None,
            tracer: Tracer::default(),
            job_catalogs: JobCatalogs::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queued_runs_wait_for_nodes_that_come_back_slowly() {
        let slow = Duration::from_secs(5 * 60);
        assert!(JobsConfig::default().reconnect_grace >= slow);
    }
}

//! The queue of reports for processors: [`ProcessingQueue`], rows in the database.
//!
//! Invariant: a row is deleted after its program has ended, whatever its exit code.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use program_runner::{run_with_input, to_one_line};
use store::{ReportProcessingRow, Store, StoreError};
use tokio::process::Command;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{ProcessingMetrics, ReportProcessor, ReportRenderer};
use crate::defaults::{
    BACKOFF_LAST, PROCESSORS_AT_ONCE, QUEUE_CHECK, REPORTS_TO_PROCESS, REPORTS_TO_PROCESS_PAGE,
};
use crate::engine::StoredRunReport;
use crate::error::FindReportError;
use crate::report::RunStatus;

/// Reports that wait for programs, and the programs.
#[derive(Debug)]
pub(crate) struct ProcessingQueue {
    store: Store,
    processors: HashMap<String, ReportProcessor>,
    render: ReportRenderer,
    /// Tells that there is a new row.
    news: Notify,
    metrics: Arc<ProcessingMetrics>,
}

/// Rows that were read and not taken yet.
#[derive(Default)]
struct ReadRows {
    rows: VecDeque<ReportProcessingRow>,
    /// Position of the last row that was read.
    last: i64,
}

/// A report was not processed.
#[derive(Debug, thiserror::Error)]
enum ProcessingError {
    #[error("the program is no longer configured")]
    NotConfigured,
    #[error("the report cannot be read: {0}")]
    Report(#[from] FindReportError),
    #[error("the report cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the program failed: {0}")]
    Program(String),
}

// === impl ProcessingQueue ===

impl ProcessingQueue {
    pub(crate) fn new(
        store: Store,
        processors: Vec<ReportProcessor>,
        render: ReportRenderer,
    ) -> Self {
        let processors = processors.into_iter();
        Self {
            store,
            processors: processors.map(|it| (it.key(), it)).collect(),
            render,
            news: Notify::new(),
            metrics: Arc::default(),
        }
    }

    pub(crate) fn metrics(&self) -> Arc<ProcessingMetrics> {
        Arc::clone(&self.metrics)
    }

    /// Paths of the programs that get reports of runs with this result.
    pub(crate) fn programs_for(&self, status: RunStatus) -> Vec<String> {
        let processors = self.processors.iter();
        let mut programs: Vec<String> = processors
            .filter(|(_, processor)| processor.statuses.contains(&status))
            .map(|(key, _)| key.clone())
            .collect();
        programs.sort_unstable();
        programs
    }

    /// To be called after a row was written to the database.
    pub(crate) fn notify_added(&self) {
        self.news.notify_one();
    }

    /// Runs until the server stops. Programs that run then are killed, and their reports stay in the
    /// queue.
    pub(crate) async fn run(self: Arc<Self>, stopped: CancellationToken) {
        tokio::select! {
            () = stopped.cancelled() => {}
            () = self.process_all() => {}
            () = self.bound() => {}
        }
    }

    async fn process_all(&self) {
        let rows = stream::unfold(ReadRows::default(), |rows| self.next_row(rows));
        let processed = rows.for_each_concurrent(PROCESSORS_AT_ONCE, |row| self.process(row));
        processed.await;
    }

    /// The next row in the order of positions; waits until there is one.
    async fn next_row(&self, mut read: ReadRows) -> Option<(ReportProcessingRow, ReadRows)> {
        loop {
            if let Some(row) = read.rows.pop_front() {
                return Some((row, read));
            }
            let store = &self.store;
            match store
                .reports_to_process(read.last, REPORTS_TO_PROCESS_PAGE)
                .await
            {
                Ok(rows) => match rows.last() {
                    Some(row) => {
                        read.last = row.position;
                        read.rows = rows.into();
                    }
                    None => self.news.notified().await,
                },
                Err(error) => {
                    tracing::warn!(%error, "the queue of report processors cannot be read; trying again");
                    tokio::time::sleep(BACKOFF_LAST).await;
                }
            }
        }
    }

    async fn process(&self, row: ReportProcessingRow) {
        let (program, report) = (row.program.as_str(), row.report_id.as_str());
        match self.run_program(program, report).await {
            Ok(()) => {
                self.metrics.succeeded.inc();
                tracing::debug!(program, report, "a report was processed");
            }
            Err(error) => {
                match &error {
                    ProcessingError::Program(_) => self.metrics.failed.inc(),
                    _ => self.metrics.dropped.inc(),
                };
                tracing::warn!(program, report, %error, "a report processor failed; it is not run again for \
                    this report");
            }
        }
        if let Err(error) = self.store.delete_report_to_process(row.position).await {
            tracing::warn!(program, report, %error, "a processed report stays in the queue until the next \
                start, which processes it again");
        }
    }

    async fn run_program(&self, program: &str, report_id: &str) -> Result<(), ProcessingError> {
        let Some(processor) = self.processors.get(program) else {
            return Err(ProcessingError::NotConfigured);
        };
        let report = StoredRunReport::load(&self.store, report_id).await?;
        let summary = &report.entry.summary;
        let mut command = Command::new(&processor.program);
        command
            .args(&processor.arguments)
            .env("TUTTI_REPORT_ID", report_id)
            .env("TUTTI_REPORT_NODE", &report.entry.certname)
            .env(
                "TUTTI_REPORT_STATUS",
                summary.status.as_deref().unwrap_or_default(),
            )
            .env(
                "TUTTI_REPORT_ENVIRONMENT",
                summary.environment.as_deref().unwrap_or_default(),
            );
        let json = (self.render)(report)?;
        let ran = run_with_input(command, &json, processor.timeout).await;
        let ran = ran.map_err(|error| ProcessingError::Program(error.to_string()))?;
        match ran.status.success() {
            true => Ok(()),
            false => Err(ProcessingError::Program(format!(
                "{}: {}",
                ran.status,
                to_one_line(&ran.stderr)
            ))),
        }
    }

    /// Drops the oldest rows of a queue that is too long, until the future is dropped.
    async fn bound(&self) {
        loop {
            if let Err(error) = self.enforce_bound().await {
                tracing::warn!(%error, "the queue of report processors cannot be measured; trying again");
            }
            tokio::time::sleep(QUEUE_CHECK).await;
        }
    }

    async fn enforce_bound(&self) -> Result<(), StoreError> {
        let waiting = self.store.count_reports_to_process().await?;
        let excess = waiting.saturating_sub(REPORTS_TO_PROCESS);
        if excess > 0 {
            let dropped = self.store.drop_first_reports_to_process(excess).await?;
            self.metrics.dropped.inc_by(dropped);
            tracing::error!(
                dropped,
                "reports were not given to report processors: too many wait; make the programs faster, \
                 or name fewer statuses"
            );
        }
        let waiting = waiting.min(REPORTS_TO_PROCESS);
        self.metrics
            .waiting
            .set(i64::try_from(waiting).unwrap_or(i64::MAX));
        Ok(())
    }
}

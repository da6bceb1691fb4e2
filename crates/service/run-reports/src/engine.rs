//! The handle that the server uses: [`RunReports`].
//!
//! Invariant: a call returns when its data is durable.

use std::sync::Arc;
use std::time::Duration;

use inventory::{Inventory, NodeRecord, PuppetReport, ReportMetric};
use jiff::Timestamp;
use pcp::Certname;
use store::{
    ListPage, NewPuppetRunEvent, PuppetDbCommandRow, RunReportDetailRow, RunReportFilter,
    RunReportRow, RunReportWrite, Store, StoreError, now_ms,
};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::compression::{compress, uncompress};
use crate::defaults::{
    CLOCK_BEHIND, EVENT_AGE, EVENTS, KEEP_REPORTS, MAX_DETAIL_BYTES, PRUNE_REPORTS,
    REPORT_ID_DIGITS, REPORT_ID_PREFIX, REPORTS_OF_NODE, SUMMARY_METRICS,
};
use crate::error::{FindReportError, RecordRunError};
use crate::forwarding::{
    CommandForwarder, CommandQueue, ForwardedCatalog, ForwardingMetrics, ForwardingState,
    REPLACE_CATALOG, REPLACE_FACTS, STORE_REPORT,
};
use crate::processing::{ProcessingMetrics, ProcessingQueue, ReportProcessor, ReportRenderer};
use crate::puppetdb_format::{catalog_payload, facts_payload, report_payload};
use crate::puppetdb_reports;
use crate::report::{RunReport, RunReportDetail, RunStatus};
use crate::run_event::run_event;

/// Settings of the reports.
#[derive(Clone, Debug)]
pub struct RunReportsConfig {
    /// Certname of this server, the producer of the data that PuppetDB gets.
    pub certname: Certname,
    /// Time for which reports are kept.
    pub keep: Duration,
    /// Number of reports that are kept of each node.
    pub keep_of_node: u64,
    /// `true` if facts, catalogs and reports are forwarded to the inventory's PuppetDB.
    pub forward: bool,
    /// Programs that get reports; at most [`REPORT_PROCESSORS`](crate::defaults::REPORT_PROCESSORS).
    pub processors: Vec<ReportProcessor>,
    /// Writes reports for these programs.
    pub render: ReportRenderer,
}

/// Reports of runs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunReports {
    pub(crate) inner: Arc<RunReportsState>,
    /// False if the data of this handle reaches PuppetDB in another way.
    is_forwarding: bool,
}

#[derive(Debug)]
pub(crate) struct RunReportsState {
    config: RunReportsConfig,
    pub(crate) store: Store,
    pub(crate) inventory: Inventory,
    /// Commands for PuppetDB; `None` if none are forwarded.
    pub(crate) queue: Option<Arc<CommandQueue>>,
    /// Reports for programs; `None` if there are no programs.
    processing: Option<Arc<ProcessingQueue>>,
    stopped: CancellationToken,
    tasks: TaskTracker,
}

/// A report in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReportEntry {
    /// Certname of the node.
    pub certname: String,
    /// Time at which the server received the report.
    pub received: Timestamp,
    /// The job that started the run; `None` if no job did.
    pub job_id: Option<String>,
    /// Status, times and versions, without metrics. Its `hash` is the id of the report.
    pub summary: PuppetReport,
}

/// The place where reports are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportSource {
    /// The database of this server.
    Server,
    /// PuppetDB, which gets reports from a puppetserver.
    PuppetDb,
}

/// A part of a list of reports, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReportPage {
    /// Reports of this part.
    pub entries: Vec<RunReportEntry>,
    /// The place where they are kept.
    pub source: ReportSource,
}

/// A report with its metrics, logs and resources.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRunReport {
    /// The report as in a list.
    pub entry: RunReportEntry,
    /// Metrics, logs and resources.
    pub detail: RunReportDetail,
}

/// A report in the form in which it is stored.
#[derive(Debug)]
pub struct PackedReport {
    certname: Certname,
    row: RunReportDetailRow,
    command: Option<PuppetDbCommandRow>,
    event: NewPuppetRunEvent,
    status: RunStatus,
    /// The summary for the inventory.
    summary: PuppetReport,
}

// === impl RunReportsConfig ===

impl RunReportsConfig {
    /// The default settings: nothing is forwarded.
    pub fn new(certname: Certname) -> Self {
        Self {
            certname,
            keep: KEEP_REPORTS,
            keep_of_node: REPORTS_OF_NODE,
            forward: false,
            processors: Vec::new(),
            render: |report| serde_json::to_vec(&report.detail),
        }
    }
}

// === impl RunReports ===

impl RunReports {
    /// Starts the deletion of old reports, and the forwarding.
    pub async fn start(
        config: RunReportsConfig,
        store: Store,
        inventory: Inventory,
    ) -> Result<Self, StoreError> {
        let (stopped, tasks) = (CancellationToken::new(), TaskTracker::new());
        let queue = match config.forward {
            true => Some(Arc::new(
                CommandQueue::open(store.clone(), &config.certname).await?,
            )),
            false => None,
        };
        if let Some(queue) = &queue {
            let forwarder = CommandForwarder {
                queue: Arc::clone(queue),
                inventory: inventory.clone(),
                stopped: stopped.clone(),
            };
            tasks.spawn(forwarder.run());
        }
        let processing = (!config.processors.is_empty()).then(|| {
            let (processors, render) = (config.processors.clone(), config.render);
            Arc::new(ProcessingQueue::new(store.clone(), processors, render))
        });
        if let Some(processing) = &processing {
            tasks.spawn(Arc::clone(processing).run(stopped.clone()));
        }
        tasks.spawn(prune(store.clone(), config.keep, stopped.clone()));
        Ok(Self {
            is_forwarding: true,
            inner: Arc::new(RunReportsState {
                config,
                store,
                inventory,
                queue,
                processing,
                stopped,
                tasks,
            }),
        })
    }

    /// The same for data that a puppetserver gets too: it is recorded here, and PuppetDB gets it from there.
    #[must_use]
    pub fn without_forwarding(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            is_forwarding: false,
        }
    }

    fn queue(&self) -> Option<Arc<CommandQueue>> {
        let queue = self.inner.queue.as_ref();
        queue.filter(|_| self.is_forwarding).cloned()
    }

    /// Brings a report into the form in which it is stored and forwarded. This compresses it, which takes up to
    /// 100 ms for the largest ones, so it belongs on a thread on which it delays no request.
    pub fn pack_report(&self, report: RunReport) -> Result<Box<PackedReport>, RecordRunError> {
        PackedReport::new(report, self.queue().as_deref()).map(Box::new)
    }

    /// Records a report, and queues it for PuppetDB. A report of a run that is known replaces it.
    pub async fn record_report(&self, packed: Box<PackedReport>) -> Result<(), RecordRunError> {
        let inner = &self.inner;
        let processing = inner.processing.as_ref();
        let programs = processing.map(|it| it.programs_for(packed.status));
        let write = RunReportWrite {
            row: packed.row,
            keep: inner.config.keep_of_node,
            command: packed.command,
            event: Some(packed.event),
            programs: programs.unwrap_or_default(),
        };
        let report = (&write, packed.summary);
        let recording = inner
            .inventory
            .record_run_report(&inner.store, &packed.certname, report);
        Box::pin(recording).await?;
        if let Some(processing) = processing.filter(|_| !write.programs.is_empty()) {
            processing.notify_added();
        }
        if let Some(queue) = self.queue() {
            queue.notify_added();
        }
        Ok(())
    }

    /// Records the facts that a node sent to this Puppet server, with its request for a catalog or
    /// on their own, and queues them for PuppetDB. A time of collection that is in the future or older
    /// than [`CLOCK_BEHIND`] is not believed: such facts would hide later ones, or never count.
    pub async fn record_facts(
        &self,
        certname: &Certname,
        mut record: NodeRecord,
    ) -> Result<(), RecordRunError> {
        record.timestamp = believable_time(record.timestamp, Timestamp::now());
        let inner = &self.inner;
        if let Some(queue) = self.queue() {
            let (node, record) = (certname.clone(), record.clone());
            let make = Arc::clone(&queue);
            let command = run_blocking(move || {
                make.make_command(REPLACE_FACTS, &node, |by| facts_payload(&node, &record, by))
            });
            queue.replace(&command.await?).await?;
        }
        inner.inventory.record_facts(certname, record).await?;
        Ok(())
    }

    /// Queues a catalog for PuppetDB. Does nothing if nothing is forwarded.
    pub async fn record_catalog(&self, catalog: ForwardedCatalog) -> Result<(), RecordRunError> {
        let Some(queue) = self.queue() else {
            return Ok(());
        };
        let make = Arc::clone(&queue);
        let command = run_blocking(move || {
            let node = catalog.certname.clone();
            make.make_command(REPLACE_CATALOG, &node, |by| catalog_payload(catalog, by))
        });
        queue.replace(&command.await?).await?;
        Ok(())
    }

    /// Returns `true` if [`record_catalog`](Self::record_catalog) needs catalogs.
    pub fn forwards(&self) -> bool {
        self.queue().is_some()
    }

    /// Reports that the filter selects, newest first: those of this server, or those of PuppetDB if
    /// this server has none of them.
    pub async fn list(
        &self,
        filter: &RunReportFilter,
        page: ListPage,
    ) -> Result<RunReportPage, FindReportError> {
        let inner = &self.inner;
        let first = ListPage {
            limit: Some(1),
            offset: 0,
        };
        if !inner.inventory.is_embedded()
            && inner.store.run_reports(filter, first).await?.is_empty()
        {
            let entries = puppetdb_reports::list(&inner.inventory, filter, page).await?;
            let source = ReportSource::PuppetDb;
            return Ok(RunReportPage { entries, source });
        }
        let rows = inner.store.run_reports(filter, page).await?;
        let entries = rows.into_iter().filter_map(|row| {
            RunReportEntry::from_row(row)
                .inspect_err(|error| tracing::warn!(%error, "a stored report cannot be read"))
                .ok()
        });
        Ok(RunReportPage {
            entries: entries.collect(),
            source: ReportSource::Server,
        })
    }

    /// The report whose id is `id` or begins with it.
    pub async fn find(&self, id: &str) -> Result<StoredRunReport, FindReportError> {
        let id = id.to_ascii_lowercase();
        let is_hex = id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || !(REPORT_ID_PREFIX..=REPORT_ID_DIGITS).contains(&id.len()) {
            return Err(FindReportError::InvalidId(id.chars().take(40).collect()));
        }
        match StoredRunReport::load(&self.inner.store, &id).await {
            Err(FindReportError::Unknown(_)) if !self.inner.inventory.is_embedded() => {
                puppetdb_reports::find(&self.inner.inventory, &id).await
            }
            found => found,
        }
    }

    /// State of the forwarding; `None` if nothing is forwarded.
    pub async fn forwarding(&self) -> Result<Option<ForwardingState>, StoreError> {
        match &self.inner.queue {
            Some(queue) => queue.state().await.map(Some),
            None => Ok(None),
        }
    }

    /// Metrics of the forwarding; `None` if nothing is forwarded.
    pub fn metrics(&self) -> Option<Arc<ForwardingMetrics>> {
        Some(self.inner.queue.as_ref()?.metrics())
    }

    /// Metrics of the report processors; `None` if there are none.
    pub fn processing_metrics(&self) -> Option<Arc<ProcessingMetrics>> {
        Some(self.inner.processing.as_ref()?.metrics())
    }

    /// Ends the tasks. Commands that PuppetDB has not taken stay in the database.
    pub async fn shutdown(&self) {
        self.inner.stopped.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

/// The time of collection by a node's clock, or the time of arrival if that clock is wrong.
fn believable_time(collected: Timestamp, arrived: Timestamp) -> Timestamp {
    let earliest = arrived.checked_sub(CLOCK_BEHIND);
    let is_old = earliest.is_ok_and(|earliest| collected < earliest);
    match is_old || collected > arrived {
        true => arrived,
        false => collected,
    }
}

/// Work for the CPU of up to some 100 ms, on a thread on which it delays no other request.
pub(crate) async fn run_blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<WorkLost> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => Err(E::from(WorkLost)),
    }
}

/// The runtime ended before the work was done.
pub(crate) struct WorkLost;

impl From<WorkLost> for RecordRunError {
    fn from(_: WorkLost) -> Self {
        Self::ShuttingDown
    }
}

impl From<WorkLost> for FindReportError {
    fn from(_: WorkLost) -> Self {
        Self::Damaged("the server is shutting down".to_owned())
    }
}

async fn prune(store: Store, keep: Duration, stopped: CancellationToken) {
    let keep_ms = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
    let event_age = i64::try_from(EVENT_AGE.as_millis()).unwrap_or(i64::MAX);
    loop {
        match store
            .prune_run_reports(now_ms().saturating_sub(keep_ms))
            .await
        {
            Ok(0) => {}
            Ok(deleted) => tracing::info!(deleted, "old reports of runs deleted"),
            Err(error) => tracing::warn!(%error, "cannot delete old reports; tried again later"),
        }
        let before_ms = now_ms().saturating_sub(event_age);
        if let Err(error) = store.prune_puppet_run_events(before_ms, EVENTS).await {
            tracing::warn!(%error, "cannot delete old events of runs; tried again later");
        }
        tokio::select! {
            () = stopped.cancelled() => return,
            () = tokio::time::sleep(PRUNE_REPORTS) => {}
        }
    }
}

// === impl PackedReport ===

impl PackedReport {
    fn new(report: RunReport, queue: Option<&CommandQueue>) -> Result<Self, RecordRunError> {
        let node = &report.certname;
        let command = queue
            .map(|queue| queue.make_command(STORE_REPORT, node, |by| report_payload(&report, by)))
            .transpose()?;
        let event = run_event(&report).map_err(std::io::Error::from)?;
        let Some(detail) = compress(&report.detail, MAX_DETAIL_BYTES)? else {
            return Err(RecordRunError::TooLarge {
                limit: MAX_DETAIL_BYTES,
            });
        };
        let summary = &report.summary;
        let received = summary.receive_time.unwrap_or_else(Timestamp::now);
        let row = RunReportDetailRow {
            report: RunReportRow {
                report_id: summary.hash.clone(),
                certname: node.to_string(),
                transaction_uuid: summary.transaction_uuid.clone(),
                received_ms: received.as_millisecond(),
                status: report.status.to_string(),
                job_id: summary.job_id.clone(),
                summary: serde_json::to_string(summary).map_err(std::io::Error::from)?,
            },
            detail,
        };
        let metrics = report.detail.metrics.into_iter();
        let summary = PuppetReport {
            metrics: metrics.filter(is_count).take(SUMMARY_METRICS).collect(),
            ..report.summary
        };
        Ok(Self {
            certname: report.certname,
            row,
            command,
            event,
            status: report.status,
            summary,
        })
    }
}

/// True for Puppet's counts and for the time of the whole run, some 25 metrics.
fn is_count(metric: &ReportMetric) -> bool {
    match metric.category.as_str() {
        "resources" | "changes" | "events" => true,
        "time" => metric.name == "total",
        _ => false,
    }
}

// === impl RunReportEntry ===

impl RunReportEntry {
    fn from_row(row: RunReportRow) -> Result<Self, decode_errors::DecodeError> {
        Ok(Self {
            summary: decode_errors::json::from_str(&row.summary)?,
            certname: row.certname,
            received: Timestamp::from_millisecond(row.received_ms).unwrap_or_default(),
            job_id: row.job_id,
        })
    }
}

// === impl StoredRunReport ===

impl StoredRunReport {
    /// The report whose id begins with these hexadecimal digits.
    pub(crate) async fn load(store: &Store, id: &str) -> Result<Self, FindReportError> {
        let mut rows = store.run_report_details(id).await?.into_iter();
        match (rows.next(), rows.next()) {
            (Some(row), None) => run_blocking(move || Self::from_row(row)).await,
            (Some(_), Some(_)) => Err(FindReportError::Ambiguous(id.to_owned())),
            (None, _) => Err(FindReportError::Unknown(id.to_owned())),
        }
    }

    fn from_row(row: RunReportDetailRow) -> Result<Self, FindReportError> {
        let damaged = |error: &dyn std::fmt::Display| FindReportError::Damaged(error.to_string());
        let entry = RunReportEntry::from_row(row.report).map_err(|error| damaged(&error))?;
        let detail = uncompress(&row.detail, MAX_DETAIL_BYTES).map_err(|error| damaged(&error))?;
        let detail = decode_errors::json::from_slice(&detail).map_err(|error| damaged(&error))?;
        Ok(Self { entry, detail })
    }
}

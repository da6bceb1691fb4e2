//! Limits of reports and of the queue for PuppetDB, with the arithmetic behind them.

use std::time::Duration;

// === reading reports ===

/// Maximum size of a report in bytes. 10,000 unchanged resources are 7 MB, and few catalogs have
/// more.
pub const MAX_REPORT_TEXT_BYTES: usize = 16 << 20;

/// Number of resources that are kept of one report. A first run changes some hundred.
pub const REPORT_RESOURCES: usize = 10_000;

/// Bytes of resources that are kept of one report: 4,000 changed ones of 1 KB.
pub const REPORT_RESOURCE_BYTES: usize = 4 << 20;

/// Number of events that are kept of one resource: one for each property.
pub const RESOURCE_EVENTS: usize = 100;

/// Number of log messages kept from the beginning of a run.
pub const REPORT_FIRST_LOGS: usize = 4_000;

/// Number of log messages kept from the end of a run, which has the reason for which it ended.
pub const REPORT_LAST_LOGS: usize = 1_000;

/// Bytes of log messages that are kept of one report: 10,000 lines of 200 bytes.
pub const REPORT_LOG_BYTES: usize = 2 << 20;

/// Number of categories of metrics: Puppet has four.
pub const METRIC_CATEGORIES: usize = 16;

/// Number of metrics of one category. `time` has one for each resource type of the catalog.
pub const CATEGORY_METRICS: usize = 250;

/// Number of tags, and of levels of containment, of one resource or message.
pub const LIST_WORDS: usize = 64;

/// Bytes kept of a message, and of a value of a property. Longer ones are contents of files.
pub const MESSAGE_BYTES: usize = 16 << 10;

/// Bytes kept of a name: titles, tags, files and versions.
pub const NAME_BYTES: usize = 1_024;

/// Age up to which the times of a report count as right. A report is sent when its run ends.
pub const CLOCK_BEHIND: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Time by which the clock of a node may be ahead.
pub const CLOCK_AHEAD: Duration = Duration::from_secs(24 * 3_600);

// === keeping reports ===

/// Time for which reports are kept: as long as PuppetDB keeps them.
pub const KEEP_REPORTS: Duration = Duration::from_secs(14 * 24 * 3_600);

/// Number of reports kept of a node: four days of a run each half hour. An unchanged run takes 1.5
/// KB, so 10,000 nodes take 3 GB.
pub const REPORTS_OF_NODE: u64 = 200;

/// Number of metrics that the inventory gets with the summary of a report: Puppet has 25 counts.
pub const SUMMARY_METRICS: usize = 100;

/// Pause between two deletions of old reports.
pub const PRUNE_REPORTS: Duration = Duration::from_secs(3_600);

/// Maximum size of a stored detail when it is unpacked: logs, resources and metrics of the limits
/// above, with the names of their fields.
pub const MAX_DETAIL_BYTES: usize = 16 << 20;

/// Number of characters of the longest id: PuppetDB's are SHA-1 digests, those of this server have 32.
pub const REPORT_ID_DIGITS: usize = 40;

/// Number of characters of an id that select a report.
pub const REPORT_ID_PREFIX: usize = 6;

// === events for webhooks ===

/// Time for which events of runs are kept for webhooks: a webhook gives up after a day.
pub const EVENT_AGE: Duration = Duration::from_secs(25 * 3_600);

/// Number of events of runs that are kept for webhooks: 0.8 KB each, so 400 MB. Changed runs of
/// 50,000 nodes, one in twenty, are 120,000 a day.
pub const EVENTS: u64 = 500_000;

// === report processors ===

/// Number of configured processors. Each report is a row for each of them.
pub const REPORT_PROCESSORS: usize = 8;

/// Programs that run at once, over all processors: they share the machine with the server, and a
/// report of the maximum size takes 50 MB until its program has read it.
pub const PROCESSORS_AT_ONCE: usize = 4;

/// Time after which a program is killed, unless the configuration has another.
pub const PROCESSOR_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest time of a program that can be configured.
pub const PROCESSOR_TIMEOUT_MAX: Duration = Duration::from_secs(3_600);

/// Number of reports that wait for programs: 200 bytes each, so 20 MB. 10,000 nodes with a run each
/// half hour have as many in five hours.
pub const REPORTS_TO_PROCESS: u64 = 100_000;

/// Number of waiting reports that are read at once.
pub const REPORTS_TO_PROCESS_PAGE: u64 = 64;

// === forwarding to PuppetDB ===

/// Bytes of queued commands, compressed. The facts of 10,000 nodes are 60 MB, their catalogs 300 MB
/// and 24 hours of unchanged reports 1 GB.
pub const QUEUE_BYTES: u64 = 2 << 30;

/// Age at which commands are dropped. PuppetDB's data is then older than any report that is still
/// kept there for comparison.
pub const QUEUE_AGE: Duration = Duration::from_secs(3 * 24 * 3_600);

/// Number of commands dropped at once from a queue that is full.
pub const QUEUE_DROP: u64 = 256;

/// Number of commands read from the queue at once.
pub const QUEUE_PAGE: u64 = 64;

/// Bytes of commands read from the queue at once.
pub const QUEUE_PAGE_BYTES: u64 = 16 << 20;

/// Nodes whose commands are sent at once. PuppetDB stores a command in some 5 ms.
pub const NODES_AT_ONCE: usize = 4;

/// Maximum size of a payload, uncompressed. PuppetDB refuses larger commands by default from some
/// tens of megabytes on, a part of its heap.
pub const MAX_PAYLOAD_BYTES: usize = 64 << 20;

/// First pause after a failure; it is doubled up to [`BACKOFF_LAST`].
pub const BACKOFF_FIRST: Duration = Duration::from_secs(1);
/// Longest pause after failures; see [`BACKOFF_FIRST`]. A PuppetDB that is back gets data within it.
pub const BACKOFF_LAST: Duration = Duration::from_secs(60);

/// Pause between two checks of the bounds of the queue.
pub const QUEUE_CHECK: Duration = Duration::from_secs(60);

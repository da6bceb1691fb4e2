//! Reports of Puppet runs: read from agents, kept, and forwarded to PuppetDB with facts and
//! catalogs.
//!
//! [`RunReports`] is the handle; [`RunReport`] is a report as an agent sent it. Invariants:
//! - a report belongs to the node whose certificate sent it, whatever its content says;
//! - everything is bounded: size, depth, counts, number of reports, length of the queue; a
//!   [`RunReportDetail`] tells what was left out;
//! - one run has one report;
//! - a report waits in the database for webhooks and for report processors from the transaction that
//!   stores it;
//! - data for PuppetDB is in the database before the agent is answered, and leaves it when PuppetDB
//!   has taken or refused it.

mod agent_report;
mod bounded_list;
mod compression;
pub mod defaults;
mod engine;
mod error;
mod forget_node;
mod forwarding;
mod processing;
mod pson;
mod puppetdb_format;
mod puppetdb_reports;
mod read;
mod report;
mod run_event;
mod selection;
mod text;

pub use engine::{
    PackedReport, ReportSource, RunReportEntry, RunReportPage, RunReports, RunReportsConfig,
    StoredRunReport,
};
pub use error::{FindReportError, InvalidReport, InvalidReportError, RecordRunError};
pub use forget_node::{ForgetNodeError, NodeDeactivation};
pub use forwarding::{ForwardedCapability, ForwardedCatalog, ForwardingMetrics, ForwardingState};
pub use processing::{ProcessingMetrics, ReportProcessor, ReportRenderer};
pub use pson::pson_to_json;
pub use report::{
    ReportedEvent, ReportedResource, RunLogEntry, RunReport, RunReportDetail, RunStatus,
};
pub use store::RunReportFilter;

//! Report processors: programs that run once for each report. [`ReportProcessor`] is one of them.
//!
//! Invariants: a report waits in the database from the transaction that stores it until the program
//! has ended, so a crash of the server repeats a program but leaves none out; a program never delays
//! the answer to an agent; numbers of programs and waiting reports and the time of a program are
//! bounded.

mod metrics;
mod queue;

use std::path::PathBuf;
use std::time::Duration;

pub use metrics::ProcessingMetrics;
pub(crate) use queue::ProcessingQueue;

use crate::engine::StoredRunReport;
use crate::report::RunStatus;

/// A program that gets reports on its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportProcessor {
    /// Path of the program, different for each processor.
    pub program: PathBuf,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Results of the runs whose reports it gets.
    pub statuses: Vec<RunStatus>,
    /// Time after which the program is killed.
    pub timeout: Duration,
}

/// Writes a report as the JSON that processors get.
pub type ReportRenderer = fn(StoredRunReport) -> serde_json::Result<Vec<u8>>;

// === impl ReportProcessor ===

impl ReportProcessor {
    /// Name of the processor in the queue.
    fn key(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

//! The errors of this crate.

use decode_errors::DecodeError;
use inventory::{QueryError, RecordError};
use store::StoreError;

/// A report cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InvalidReportError {
    /// The report is larger than the limit.
    #[error("the report has {bytes} bytes; the limit is {limit}")]
    TooLarge {
        /// Size of the report in bytes.
        bytes: usize,
        /// The maximum size in bytes.
        limit: usize,
    },
    /// The text is not JSON, or has other types than a report.
    #[error("the report cannot be read")]
    Format(#[from] DecodeError),
    /// A value is missing or impossible.
    #[error("the report cannot be used: {0}")]
    Content(#[from] InvalidReport),
}

/// A value of a report is missing or impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReport {
    /// The report is about another node than the one that sent it.
    #[error(
        "its host is {host:?}, but it was sent by {certname}; a node may report only about itself"
    )]
    OtherHost {
        /// Node that the report names, cut.
        host: String,
        /// Certname of the certificate.
        certname: String,
    },
    /// The run has no usable id.
    #[error("its transaction_uuid {0:?} is not a UUID")]
    TransactionUuid(String),
    /// The status is unknown.
    #[error("its status {0:?} is none of changed, unchanged and failed")]
    Status(String),
    /// The time of the run cannot be read.
    #[error("its time {0:?} is not a time such as 2026-01-31T12:00:00+00:00")]
    Time(String),
}

/// A report, facts or a catalog could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordRunError {
    /// The inventory refuses it.
    #[error("the inventory refuses it")]
    Inventory(#[source] RecordError),
    /// The database could not be written.
    #[error("it cannot be written to the database")]
    Store(#[from] StoreError),
    /// The value has more bytes than can be forwarded.
    #[error("as JSON it has more than {limit} bytes")]
    TooLarge {
        /// The maximum size in bytes.
        limit: usize,
    },
    /// The value cannot be compressed.
    #[error("it cannot be compressed")]
    Compress(#[from] std::io::Error),
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
}

impl From<RecordError> for RecordRunError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Store(error) => Self::Store(error),
            refused => Self::Inventory(refused),
        }
    }
}

/// A report was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindReportError {
    /// The id is too short or has other characters.
    #[error("{0:?} is no id of a report; it has 6 to 40 hexadecimal digits")]
    InvalidId(String),
    /// No report has this id.
    #[error("there is no report {0}; reports are kept for a limited time")]
    Unknown(String),
    /// Several reports have ids that begin so.
    #[error("several reports have ids that begin with {0}; give more of its digits")]
    Ambiguous(String),
    /// The stored report cannot be read.
    #[error("the stored report cannot be read: {0}")]
    Damaged(String),
    /// The database could not be read.
    #[error("the reports cannot be read")]
    Store(#[from] StoreError),
    /// PuppetDB did not answer, or refused the query.
    #[error("no report is stored here, and PuppetDB cannot be asked for it: {0}")]
    PuppetDb(#[source] QueryError),
}

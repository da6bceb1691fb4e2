//! The errors of queries: [`QueryError`].

use std::time::Duration;

use optional_feature::FeatureFault;
use store::StoreError;

pub use crate::lang::UnsupportedQuery;

/// A query was not answered.
#[derive(Clone, Debug, thiserror::Error)]
pub enum QueryError {
    /// The configuration file of the PuppetDB connection cannot be used.
    #[error(transparent)]
    NotStarted(#[from] FeatureFault),
    /// The connection to PuppetDB failed.
    #[error(
        "PuppetDB at {url} is not reachable: {cause}; is it running, and is [puppetdb] server_urls right?"
    )]
    Unreachable {
        /// URL of the server.
        url: String,
        /// The chain of causes.
        cause: String,
    },
    /// PuppetDB's certificate is invalid, or PuppetDB rejects ours, or our certificate files
    /// cannot be used.
    #[error("the TLS certificates between this server and PuppetDB at {url} do not fit: {cause}")]
    Certificate {
        /// URL of the server.
        url: String,
        /// The chain of causes.
        cause: String,
    },
    /// PuppetDB did not answer within the timeout.
    #[error("PuppetDB at {url} did not answer within {} s", .after.as_secs())]
    Timeout {
        /// URL of the server.
        url: String,
        /// Length of the timeout.
        after: Duration,
    },
    /// PuppetDB, or another program at its address, sent an invalid response.
    #[error("PuppetDB at {url} answered what cannot be read: {what}")]
    Garbage {
        /// URL of the server.
        url: String,
        /// Description of the response.
        what: String,
    },
    /// PuppetDB refused the request (it is starting, or rejects this certificate).
    #[error("PuppetDB at {url} refused with status {status}: {words}")]
    Refused {
        /// URL of the server.
        url: String,
        /// HTTP status code of the response.
        status: u16,
        /// PuppetDB's error text, truncated.
        words: String,
    },
    /// Every configured server failed.
    #[error("no PuppetDB answered: {}", list_errors(.0))]
    AllFailed(Vec<QueryError>),
    /// The answer exceeds a limit.
    #[error("the answer is larger than {limit}; ask for fewer columns, or give a limit")]
    TooLarge {
        /// The limit, with its unit.
        limit: String,
    },
    /// PuppetDB rejects the query as invalid.
    #[error("PuppetDB does not take the query: {words}")]
    QueryInvalid {
        /// PuppetDB's error text, truncated.
        words: String,
    },
    /// The query is not in the subset that the embedded inventory answers.
    #[error("the query is not valid at {0}")]
    Unsupported(#[from] UnsupportedQuery),
    /// The evaluation of the query exceeded this time.
    #[error("the query took more than {} s; ask for less", .0.as_secs())]
    Slow(Duration),
    /// Too many other queries were running for this time.
    #[error(
        "other queries kept the inventory busy for {} s; try again when they are answered", .0.as_secs()
    )]
    Busy(Duration),
    /// The answer has no `certname` column.
    #[error(
        "the query's answer has no `certname`; ask for it, for example nodes[certname] {{ … }}"
    )]
    NoCertname,
    /// An answer contains an invalid certname.
    #[error("the answer names a node that cannot be one: {0}")]
    BadCertname(#[from] pcp::CertnameError),
    /// The store of the embedded inventory failed.
    #[error("the inventory cannot be read")]
    Store(#[from] StoreError),
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
}

/// The party responsible for an error, which determines the kind of the API error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryErrorOrigin {
    /// The query is wrong: `query-error`.
    Query,
    /// PuppetDB or the connection to it failed: `puppetdb-error`.
    PuppetDb,
    /// There are too many requests at the moment; a retry may succeed.
    Busy,
    /// This server failed.
    Server,
}

impl QueryError {
    /// The party responsible for this error.
    pub fn origin(&self) -> QueryErrorOrigin {
        match self {
            Self::TooLarge { .. }
            | Self::QueryInvalid { .. }
            | Self::Unsupported(_)
            | Self::Slow(_)
            | Self::NoCertname => QueryErrorOrigin::Query,
            Self::NotStarted(_)
            | Self::Unreachable { .. }
            | Self::Certificate { .. }
            | Self::Timeout { .. }
            | Self::Garbage { .. }
            | Self::Refused { .. }
            | Self::BadCertname(_)
            | Self::AllFailed(_) => QueryErrorOrigin::PuppetDb,
            Self::Busy(_) => QueryErrorOrigin::Busy,
            Self::Store(_) | Self::ShuttingDown => QueryErrorOrigin::Server,
        }
    }

    /// Returns `true` if another PuppetDB server may answer the query.
    pub(crate) fn is_of_one_server(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Certificate { .. }
                | Self::Timeout { .. }
                | Self::Garbage { .. }
                | Self::Refused { .. }
        )
    }
}

fn list_errors(errors: &[QueryError]) -> String {
    let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
    told.join("; ")
}

/// Facts or a report could not be recorded.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RecordError {
    /// The value is not a JSON object.
    #[error("the facts are not a JSON object")]
    NotAnObject,
    /// The value is larger than a node may send.
    #[error("they have {bytes} bytes; the limit is {limit}")]
    TooLarge {
        /// Size as JSON text, in bytes.
        bytes: usize,
        /// The maximum size, in bytes.
        limit: usize,
    },
    /// The inventory already has this maximum number of nodes.
    #[error("the inventory has {0} nodes already and takes no more")]
    TooManyNodes(usize),
    /// The store could not be written.
    #[error("they cannot be kept")]
    Store(#[from] StoreError),
}

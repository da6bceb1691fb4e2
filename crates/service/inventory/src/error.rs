//! Why the inventory does not answer: [`QueryError`].

use std::time::Duration;

use optional_feature::FeatureFault;
use store::StoreError;

pub use crate::lang::Invalid;

/// Why a question was not answered.
#[derive(Clone, Debug, thiserror::Error)]
pub enum QueryError {
    /// The file that says where PuppetDB is cannot be used.
    #[error(transparent)]
    NotStarted(#[from] FeatureFault),
    /// No connection to PuppetDB.
    #[error(
        "PuppetDB at {url} is not reachable: {cause}; is it running, and is [puppetdb] server_urls right?"
    )]
    Unreachable {
        /// Which server.
        url: String,
        /// The chain of causes.
        cause: String,
    },
    /// PuppetDB's certificate is not good, or ours is not for it, or our files cannot be used.
    #[error("the TLS certificates between this server and PuppetDB at {url} do not fit: {cause}")]
    Certificate {
        /// Which server.
        url: String,
        /// The chain of causes.
        cause: String,
    },
    /// PuppetDB took too long.
    #[error("PuppetDB at {url} did not answer within {} s", .after.as_secs())]
    Timeout {
        /// Which server.
        url: String,
        /// How long was waited.
        after: Duration,
    },
    /// PuppetDB, or something in its place, answered what nobody can read.
    #[error("PuppetDB at {url} answered what cannot be read: {what}")]
    Garbage {
        /// Which server.
        url: String,
        /// What came.
        what: String,
    },
    /// PuppetDB refused to answer at all (it is starting, or does not let this certificate in).
    #[error("PuppetDB at {url} refused with status {status}: {words}")]
    Refused {
        /// Which server.
        url: String,
        /// The HTTP status.
        status: u16,
        /// PuppetDB's words, clipped.
        words: String,
    },
    /// Every configured server failed.
    #[error("no PuppetDB answered: {}", told(.0))]
    AllFailed(Vec<QueryError>),
    /// The answer would be too large.
    #[error("the answer is larger than {limit}; ask for fewer columns, or give a limit")]
    TooLarge {
        /// With its unit.
        limit: String,
    },
    /// PuppetDB says that the query is wrong.
    #[error("PuppetDB does not take the query: {words}")]
    QueryInvalid {
        /// PuppetDB's words, clipped.
        words: String,
    },
    /// The query is not in the subset that the embedded inventory answers.
    #[error("the query is not valid at {0}")]
    Unsupported(#[from] Invalid),
    /// The query kept a core busy for too long.
    #[error("the query took more than {} s; ask for less", .0.as_secs())]
    Slow(Duration),
    /// All places at which questions are answered stayed taken.
    #[error(
        "other queries kept the inventory busy for {} s; try again when they are answered", .0.as_secs()
    )]
    Busy(Duration),
    /// The answer has no column that names nodes.
    #[error(
        "the query's answer has no `certname`; ask for it, for example nodes[certname] {{ … }}"
    )]
    NoCertname,
    /// A name in an answer that cannot be a node's.
    #[error("the answer names a node that cannot be one: {0}")]
    BadCertname(#[from] pcp::CertnameError),
    /// The store of the embedded inventory.
    #[error("the inventory cannot be read")]
    Store(#[from] StoreError),
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
}

/// Whose fault it is, for the kind of an API error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The query's: `query-error`.
    Query,
    /// PuppetDB's or the way to it: `puppetdb-error`.
    PuppetDb,
    /// Nobody's: too much is asked at once, and it passes.
    Busy,
    /// This server's.
    Server,
}

impl QueryError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::TooLarge { .. }
            | Self::QueryInvalid { .. }
            | Self::Unsupported(_)
            | Self::Slow(_)
            | Self::NoCertname => Fault::Query,
            Self::NotStarted(_)
            | Self::Unreachable { .. }
            | Self::Certificate { .. }
            | Self::Timeout { .. }
            | Self::Garbage { .. }
            | Self::Refused { .. }
            | Self::BadCertname(_)
            | Self::AllFailed(_) => Fault::PuppetDb,
            Self::Busy(_) => Fault::Busy,
            Self::Store(_) | Self::ShuttingDown => Fault::Server,
        }
    }

    /// Another PuppetDB may do better.
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

fn told(errors: &[QueryError]) -> String {
    let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
    told.join("; ")
}

/// Why facts or a report were not kept.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RecordError {
    /// They are not a JSON object.
    #[error("the facts are not a JSON object")]
    NotAnObject,
    /// More than a node may tell.
    #[error("they have {bytes} bytes; the limit is {limit}")]
    TooLarge {
        /// As JSON text.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The inventory is full.
    #[error("the inventory has {0} nodes already and takes no more")]
    TooManyNodes(usize),
    /// The store.
    #[error("they cannot be kept")]
    Store(#[from] StoreError),
}

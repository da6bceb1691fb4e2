//! Positions in the history of a database: [`HistoryMark`], and two that show that the database is
//! older than it was: [`OlderHistory`].

use std::fmt;

use serde::{Deserialize, Serialize};

/// A position in the history of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryMark {
    /// Random identity of the database, which its copies share.
    pub identity: String,
    /// Number of starts of server processes so far.
    pub epoch: i64,
    /// Number of commits made so far.
    pub commits: i64,
    /// Number of the last job.
    pub job: i64,
    /// Id of the last event.
    pub event: i64,
    /// Number of the last entry of the audit chain.
    pub audit: i64,
    /// Time of this mark in milliseconds since 1970; 0 if it is not known.
    pub at_ms: i64,
}

/// A database with fewer commits than were made to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlderHistory {
    /// Path of the database, or its host and name.
    pub database: String,
    /// The last commit that the previous server is known to have made; it may have made more.
    pub last_known: HistoryMark,
    /// The last commit in the database.
    pub in_database: HistoryMark,
}

impl fmt::Display for OlderHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            database: place,
            last_known: known,
            in_database: found,
        } = self;
        write!(
            f,
            "{place} is older than it was: it has {} commits and jobs up to {}, and the server had \
             made {} commits and jobs up to {}",
            found.commits, found.job, known.commits, known.job
        )
    }
}

//! State that survives: jobs, runs, events, users and tokens, on SQLite or PostgreSQL.
//!
//! [`Store`] is the handle. The rules:
//! - what was acknowledged is on the disk; every write goes through one group-commit writer;
//! - a terminal state never changes, whatever a caller asks (the guard is in the SQL);
//! - job numbers are contiguous and ascending, event ids ascending; neither is ever used again.
//!
//! The crate knows rows, not engines: states are names, JSON is text, times are milliseconds.

mod batch;
mod config;
pub mod defaults;
mod error;
mod events;
mod jobs;
mod ledger;
mod migrations;
mod number;
mod page;
mod postgres;
mod prune;
mod runs;
mod sqlite;
mod state;
mod store;
mod tokens;
mod users;
mod value;
mod write;

pub use config::StoreConfig;
pub use error::{OpenStoreError, Source, StoreError};
pub use events::{EventRow, NewEvent};
pub use jobs::{JobFilter, JobOrder, JobRow, JobStateRow, NewJob, UnfinishedJob};
pub use migrations::MigrateError;
pub use number::{InvalidJobNumber, JobNumber};
pub use page::Page;
pub use prune::Pruned;
pub use runs::{NewRun, RunFilter, RunOrder, RunRow};
pub use store::Store;
pub use tokens::{NewToken, TokenRow};
pub use users::{NewUser, UserChange, UserRow};
pub use write::{Applied, Change, EventChange, JobChange, RunChange};

/// Every SQL text of the crate, for the test that prepares each on both engines.
#[doc(hidden)]
pub fn every_statement() -> Vec<&'static str> {
    [
        jobs::STATEMENTS,
        runs::STATEMENTS,
        events::STATEMENTS,
        users::STATEMENTS,
        tokens::STATEMENTS,
        prune::STATEMENTS,
        ledger::STATEMENTS,
    ]
    .concat()
}

//! State that survives: jobs, runs, events, users and tokens, on SQLite or PostgreSQL.
//!
//! [`Store`] is the handle. The rules:
//! - what was acknowledged is on the disk; every write goes through one group-commit writer;
//! - a terminal state never changes, whatever a caller asks (the guard is in the SQL);
//! - job numbers are contiguous and ascending, event ids ascending; neither is ever used again.
//!
//! The crate knows rows, not engines: states are names, JSON is text, times are milliseconds.

mod batch;
mod change;
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
mod request;
mod runs;
mod sqlite;
mod state;
mod step;
mod store;
mod tokens;
mod users;
mod value;
mod write;
mod writing;

pub use change::{Applied, Change, EventChange, JobChange, RunChange};
pub use config::StoreConfig;
pub use error::{OpenStoreError, Source, StoreError};
pub use events::EventRow;
pub use jobs::{JobFilter, JobOrder, JobRow, JobStateRow, UnfinishedJob};
pub use migrations::MigrateError;
pub use number::{InvalidJobNumber, JobNumber};
pub use page::Page;
pub use prune::Pruned;
pub use runs::{RunFilter, RunOrder, RunRow};
pub use store::Store;
pub use tokens::{NewToken, TokenRow};
pub use users::{NewUser, UserChange, UserRow};
pub use writing::events::NewEvent;
pub use writing::jobs::NewJob;
pub use writing::runs::NewRun;

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
        writing::jobs::STATEMENTS,
        writing::runs::STATEMENTS,
        writing::events::STATEMENTS,
    ]
    .concat()
}

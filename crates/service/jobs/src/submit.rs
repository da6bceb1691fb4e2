//! Submission of a checked job, and the errors that are still possible.
//!
//! [`JobSubmitError`] is common to all commands that make a job.

use store::StoreError;

/// Reason that a checked job was not accepted. Nothing was sent, and nothing stored unless stated
/// otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobSubmitError {
    /// The job could not be stored.
    #[error("cannot store the job")]
    Store(#[from] StoreError),
    /// The store was lost while it wrote the job: the job may be stored, and is withdrawn.
    #[error("{}", in_doubt_advice(*never_starts))]
    InDoubt {
        /// The error of the store.
        source: StoreError,
        /// Nothing of it starts, not even after a restart of the server.
        never_starts: bool,
    },
    /// The server shut down while it wrote the job.
    #[error(
        "the server went down while it wrote the job; the job may run when the server is back: look \
         at the list of jobs before you run it again"
    )]
    Unanswered,
    /// The server is shutting down.
    #[error("the server is shutting down; nothing was started")]
    ShuttingDown,
}

fn in_doubt_advice(never_starts: bool) -> &'static str {
    if never_starts {
        "the database was lost while it wrote the job; nothing was sent to any node, and nothing will \
         be: if the job is in the list of jobs when the database is back, it is stopped there without \
         having started. Run it again then"
    } else {
        "the database was lost while it wrote the job; nothing was sent to any node. Should the \
         server be restarted before the database is back, the job may run: look at the list of jobs \
         before you run it again"
    }
}

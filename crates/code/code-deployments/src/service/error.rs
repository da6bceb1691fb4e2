//! Errors of the service: [`StartError`] at its start, [`SubmitError`] afterwards.

use std::sync::Arc;

use store::StoreError;

use crate::error::SourcesError;
use code_settings::R10kFileError;
use code_store::content::ContentError;

/// Reason for which a deployment, or another request to the service, was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The settings that name the sources cannot be used.
    #[error(transparent)]
    Settings(#[from] Arc<R10kFileError>),
    /// A control repository cannot be asked which environments there are.
    #[error(transparent)]
    Sources(#[from] SourcesError),
    /// The queue of deployments is full.
    #[error("too many deployments wait; try again when some are over")]
    Full,
    /// No version, or more than one, fits the digits that were given.
    #[error("{0}")]
    NoVersion(String),
    /// The plans, jobs or nodes that use versions cannot be asked.
    #[error("nothing is removed, since it is not known what is in use: {0}")]
    InUse(String),
    /// The store of contents cannot be read or written.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The database does not take the request.
    #[error("cannot write deployments down")]
    Store(#[from] StoreError),
    /// The server is going down.
    #[error("the server is stopping")]
    Stopping,
}

/// Reason for which the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database does not give the unfinished deployments.
    #[error("cannot read the deployments of before")]
    Store(#[from] StoreError),
    /// The store of contents cannot be read or written.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The plans and jobs that hold an environment cannot be asked.
    #[error("cannot see which plans and jobs run: {0}")]
    InUse(String),
}

// === impl SubmitError ===

impl SubmitError {
    /// The message with its causes.
    pub fn said(&self) -> String {
        error_causes::chain(self)
    }
}

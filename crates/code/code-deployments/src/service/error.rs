//! Errors of the service: [`ServiceStartError`] at its start, [`DeploymentSubmitError`] and
//! [`VerifyError`] afterwards.

use std::sync::Arc;

use store::StoreError;

use crate::error::{DeploymentError, SourcesError};
use code_settings::R10kFileError;
use code_store::content::ContentError;
use code_store::integrity::StoreCheckError;

/// The reason that a deployment, or another request to the service, was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum DeploymentSubmitError {
    /// The settings that name the sources cannot be used.
    #[error(transparent)]
    Settings(#[from] Arc<R10kFileError>),
    /// The environments of a control repository cannot be listed.
    #[error(transparent)]
    Sources(#[from] SourcesError),
    /// The queue of deployments is full.
    #[error("too many deployments wait; try again when some are over")]
    Full,
    /// No version, or more than one, matches the given digits.
    #[error("{0}")]
    NoVersion(String),
    /// The plans, jobs or nodes that use versions cannot be determined.
    #[error("nothing is removed, since it is not known what is in use: {0}")]
    InUse(String),
    /// The store of contents cannot be read or written.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The database did not store the request.
    #[error("cannot write deployments down")]
    Store(#[from] StoreError),
    /// The server is shutting down.
    #[error("the server is stopping")]
    Stopping,
}

/// The reason that the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceStartError {
    /// The unfinished deployments cannot be read from the database.
    #[error("cannot read the deployments of before")]
    Store(#[from] StoreError),
    /// The store of contents cannot be read or written.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The plans and jobs that hold an environment cannot be determined.
    #[error("cannot see which plans and jobs run: {0}")]
    InUse(String),
}

/// The reason that the store is not verified, or not repaired.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The store cannot be compared.
    #[error(transparent)]
    Check(#[from] StoreCheckError),
    /// Damaged contents cannot be removed.
    #[error(transparent)]
    Discard(#[from] DeploymentError),
    /// Repairs were not accepted.
    #[error(transparent)]
    Submit(#[from] DeploymentSubmitError),
}

// === impl DeploymentSubmitError ===

impl DeploymentSubmitError {
    /// The message with its causes.
    pub fn to_message(&self) -> String {
        error_causes::chain(self)
    }
}

//! Code Manager as a service: deployments that queue, a history, pins. Main type: [`CodeManager`].
//!
//! Invariants: a request and its requester are stored before the response is sent, and the request
//! is performed even if the server stops; deployments of one environment run in sequence, those of
//! several concurrently.

mod actor;
mod all_environments;
mod api_form;
mod blocking;
mod current_deployer;
mod deployment_record;
mod environment_locks;
mod error;
pub mod error_kinds;
mod garbage_collection;
mod hold_queue;
mod listeners;
mod manager;
mod observer;
mod perform;
mod queue;
mod stored_versions;
mod verify;

pub use actor::SubmittedDeployments;
pub use deployment_record::{
    Deployment, DeploymentAction, DeploymentFault, DeploymentOutcome, DeploymentRequester,
    DeploymentState,
};
pub use environment_locks::EnvironmentHold;
pub use error::{DeploymentSubmitError, ServiceStartError, VerifyError};
pub use garbage_collection::DiskUse;
pub use hold_queue::{CodeUser, HoldBlockers};
pub use listeners::{DeploymentListeners, VersionsInUse};
pub use manager::CodeManager;
pub use observer::{DeployedCommit, DeploymentObserver, FinishedDeployment};
pub use stored_versions::StoredVersion;

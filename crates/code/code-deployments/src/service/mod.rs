//! Code Manager as a service: deployments that queue, a history, pins. Main type: [`CodeManager`].
//!
//! Invariants: a request and its requester are stored before the response is sent, and the request is performed
//! even if the server stops; deployments of one environment run in sequence, those of several concurrently.

mod actor;
mod blocking;
mod current;
mod error;
mod holds;
pub mod kinds;
mod listeners;
mod locks;
mod manager;
mod observer;
mod perform;
mod queue;
mod record;
mod room;
mod shown;
mod stored;
mod verify;
mod wanted;

pub use actor::SubmittedDeployments;
pub use error::{StartError, SubmitError, VerifyError};
pub use holds::{Blockers, Worker};
pub use listeners::{DeploymentListeners, InUse};
pub use locks::EnvironmentHold;
pub use manager::CodeManager;
pub use observer::{DeployedCommit, DeploymentObserver, FinishedDeployment};
pub use record::{
    Deployment, DeploymentAction, DeploymentFault, DeploymentRequester, Outcome, State,
};
pub use room::DiskUse;
pub use stored::StoredVersion;

//! The Puppet Execution Protocol: requests of an orchestrator to agents, and their responses.
//!
//! [`PxpMessageBody`] is the data of every PXP message, [`action`] holds the parameters and results
//! of each module, [`task`] the names and files of tasks, and [`AgentCapabilities`] the extensions
//! that an agent announces. Invariant: schemas are closed, and ids that become paths are closed
//! types.

pub mod action;
mod body;
mod capabilities;
mod catalog_check;
pub mod defaults;
pub mod json;
pub mod task;
mod transaction_id;
pub mod types;

pub use body::{
    OutputPiece, ProcessStream, PxpBodyError, PxpMessageBody, PxpRequest, PxpResponse, RpcError,
};
pub use capabilities::{AgentCapabilities, CAPABILITIES_HEADER, CapabilitiesError};
pub use catalog_check::{CatalogCheck, CatalogCheckAnswer, catalog_check_path};
pub use transaction_id::{TransactionId, TransactionIdError};

//! The Puppet Execution Protocol: requests of an orchestrator to agents, and their responses.
//!
//! [`Body`] is the data of every PXP message, [`action`] holds the parameters and results of each
//! module, [`task`] the names and files of tasks, and [`Capabilities`] the extensions that an agent
//! announces. Invariant: schemas are closed, and ids that become paths are closed types.

pub mod action;
mod body;
mod capabilities;
pub mod defaults;
pub mod json;
pub mod task;
mod transaction_id;
pub mod types;

pub use body::{Body, BodyError, Output, Request, Response, RpcError, Stream};
pub use capabilities::{CAPABILITIES_HEADER, Capabilities, CapabilitiesError};
pub use transaction_id::{TransactionId, TransactionIdError};

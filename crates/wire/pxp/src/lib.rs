//! The Puppet Execution Protocol: what an orchestrator asks of agents and what they answer.
//!
//! [`Body`] is the data of every PXP message, [`action`] what requests and results carry for each
//! module, [`task`] the names and files of tasks, and [`Capabilities`] the extensions that an agent
//! announces. The rule: closed schemas, and ids that become paths are closed types.

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

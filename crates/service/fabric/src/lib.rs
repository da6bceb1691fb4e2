//! Messages between engines and nodes.
//!
//! An engine holds a [`Fabric`] and an [`EngineInbox`]; a broker [attaches](Fabric::attach_broker)
//! and gets a [`BrokerPort`]. Neither names the other, so one process, brokers on other machines
//! ([`remote`]) and a simulator look alike. Invariant: a message is handed over at most once, and a
//! refused send returns an error at once; nothing is queued for disconnected nodes.

mod agentless_node;
pub mod defaults;
mod hub;
mod inbox;
mod presence;
pub mod remote;
pub mod wire;

pub use agentless_node::{AgentlessNode, AgentlessNodePort, CONNECTION_KEY, SSH_TYPE, ssh_address};
pub use hub::{BrokerLink, BrokerPort, Fabric, FabricSendError};
pub use inbox::{EngineInbox, InboundMessage};
pub use presence::{NodePresence, PresenceChange, PresenceEvents};

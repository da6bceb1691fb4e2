//! Messages between engines and nodes.
//!
//! An engine holds a [`Fabric`] and an [`Inbox`]; a broker [attaches](Fabric::attach) and
//! gets a [`BrokerPort`]. Neither names the other, so one process, brokers on other machines
//! ([`remote`]) and a simulator look alike. Invariant: a message is handed over at most once, and
//! a refused send returns an error at once; nothing is queued for disconnected nodes.

pub mod defaults;
mod hub;
mod inbox;
mod presence;
pub mod remote;
mod stand_in;
pub mod wire;

pub use hub::{BrokerLink, BrokerPort, Fabric, SendError};
pub use inbox::{Inbound, Inbox};
pub use presence::{Presence, PresenceChange, PresenceEvents};
pub use stand_in::{CONNECTION_KEY, SSH_TYPE, StandIn, StandInPort, ssh_address};

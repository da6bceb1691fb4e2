//! Limits for connections of peers that are not authenticated yet: [`ConnectionGate`].
//!
//! Every listener of the server accepts through a gate, so that the same rules hold on each port:
//!
//! - A connection from which no byte came within [`AdmissionLimits::first_byte`] is dropped.
//! - Half-open connections are limited per source network ([`PeerNetwork`]: an IPv4 address or an
//!   IPv6 /64) and in total. At a limit the oldest silent connection of the network that has the
//!   most of them makes room, so a flood displaces itself and not the peers of other networks.
//! - A connection that is authenticated is never dropped for another one and counts against no
//!   limit per network: thousands of nodes may share one address.
//!
//! Invariant: [`AdmissionTable`](table::AdmissionTable) decides without I/O; the gate waits, counts
//! and cancels.

pub mod defaults;
mod gate;
mod limits;
mod listen;
mod network;
mod table;

pub use gate::{AdmissionPermit, ConnectionGate, NoFirstByte};
pub use limits::AdmissionLimits;
pub use listen::listen;
pub use network::PeerNetwork;
pub use table::ConnectionStage;

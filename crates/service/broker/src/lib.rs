//! The PCP broker: agents connect over mutual TLS and WebSocket, and messages are passed between
//! them and the orchestrator.
//!
//! ```text
//! accept ─ opening (TLS, upgrade, association: a task that ends)
//!             └─ session actor ── router ─┬─ another session's outbox
//!                                         ├─ the engine's inbox (fabric)
//!                                         └─ a controller's outbox
//! ```
//!
//! Invariants:
//! - An idle session keeps no buffer. TLS uses shared [scratch buffers](tls), and the handshake has
//!   a task of its own, because a task keeps the size of its largest wait.
//! - Everything that waits is bounded (see [`defaults`]), and a full queue slows the sender down
//!   before a message is lost.
//! - The sender of every message is checked against the client's verified certificate.
//! - Only a broken frame, an oversize message or a refused association ends a client's connection;
//!   every other error is answered in one line.
//!
//! Close codes: 1001 idle or shutdown, 1002/1007/1009 broken or oversize frames, 1008 a large
//! message that is too slow (others wait for its memory), 1011 not running or connection limit,
//! 1012 certificate revoked, 1013 inventory updates not taken in time, 4001 superseded by a newer
//! connection of the same name, 4002 association refused, 4003 no client certificate. 4001 is
//! Tutti's own; other brokers close such a connection without a close frame.

mod accept;
mod access_log;
mod assembly;
mod assembly_queue;
pub mod authorization;
mod broker;
mod change_log;
mod config;
mod controllers;
mod damping;
pub mod defaults;
mod incoming;
mod inventory_updates;
mod message_limits;
mod metrics;
mod opening;
mod refusal;
mod refusal_log;
mod replies;
mod revocation;
mod router;
mod server_messages;
mod session;
mod sessions;
mod status;
mod subscriptions;
mod tls;

pub use authorization::{AuthorizationPolicy, AuthorizationPolicyError, ShippedPolicy};
pub use broker::{Broker, BrokerHandle, BrokerStartError};
pub use config::{BrokerConfig, BrokerLimits, BrokerTimeouts, ControllersConfig, RequestPaths};
pub use controllers::allowlist::DEFAULT_ALLOWLIST;
pub use controllers::endpoint::ControllerUriError;

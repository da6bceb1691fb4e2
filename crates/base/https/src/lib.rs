//! An HTTPS listener for axum routers: [`serve`].
//!
//! It adds to a router: mutual TLS from [`pki::ServerTls`] (each handshake with the current
//! settings), the peer's identity as the request extension [`PeerCertificate`], its address as
//! axum's `ConnectInfo`, HTTP/1.1 with upgrades, and an orderly shutdown.
//!
//! Invariants:
//! - Every connection runs on a task that [`serve`] waits for or aborts before
//!   it returns.
//! - Connections are admitted by an [`admission::ConnectionGate`]: a verified certificate, or
//!   [`ConnectionHandle::mark_authenticated`], takes a connection out of the limits for unknown
//!   peers.
//! - Handshakes are computed in turns of networks, so a flood from one address delays the
//!   handshakes of others by a single step.
//! - The bytes of a handshake, the time for a request head and the time for which a client may not
//!   read its answer are bounded (see [`Config`]). The router limits size and time of bodies,
//!   because only it has the limits of each route (`axum::extract::DefaultBodyLimit`).
//! - When a certificate is revoked, the connections of its holder are cut; a handler that upgraded
//!   one learns of it from its [`ConnectionHandle`].

mod accept;
mod config;
mod connection;
mod connection_handle;
pub mod defaults;
mod handshake_failures;
mod handshake_limit;
mod handshake_turn;
mod peer;
mod policy_stream;
mod write_stall;

pub use accept::serve;
pub use admission::{AdmissionLimits, PeerNetwork, listen};
pub use config::Config;
pub use connection_handle::{ConnectionEndReason, ConnectionHandle};
pub use peer::{PeerCertificate, VerifiedPeer};

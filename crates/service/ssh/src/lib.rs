//! Nodes without an agent: tasks, commands and scripts over SSH.
//!
//! [`SshRunner`] stands in the fabric for such nodes and answers requests as an agent would, so the
//! job engine keeps its states, events and rules; [`SshConnections`] is how they are reached. The rules:
//! a secret is sealed on the disk and in no log, event, command line or error; nothing is sent to a
//! host whose key is not trusted; what is meant for an agent goes to no host that somebody stored,
//! unless he might run everything everywhere; and what is not known is not claimed.

mod agents;
mod capture;
mod connection;
pub mod defaults;
mod dial;
mod exec;
mod file_placement;
mod host_keys;
mod key;
mod quote;
mod reply_sender;
mod rsa;
mod run;
mod run_spec;
mod runner;
mod sanitize;
mod script;
mod stored_connections;
mod sudo;
mod transactions;

pub use connection::{
    PARAMETERS, REPLACES_AGENT, SENSITIVE_PARAMETERS, SshConnection, SshConnectionError,
};
pub use host_keys::{HostKeyCheck, HostKeyError, HostKeys};
pub use runner::{SshConfig, SshRunner};
pub use stored_connections::{
    ConnectionView, CreateError, DuplicatePolicy, OpenConnectionsError, SshConnections,
};

//! Nodes without an agent: tasks, commands, scripts and files over SSH.
//!
//! [`SshRunner`] represents such nodes in the fabric and answers requests as an agent would, so
//! that the job engine keeps its states, events and rules; [`SshConnections`] has the settings to
//! reach them. Invariants:
//! - a secret is sealed on the disk and appears in no log, event, command line or error;
//! - nothing is sent to a host whose key is not trusted;
//! - a request for a node that ever had an agent uses a stored connection only if that has
//!   [`REPLACES_AGENT`]; storing such a connection requires the permission `tasks:run:*`;
//! - a run whose outcome is unknown is reported as such.

mod agents;
mod capture;
mod connection;
pub mod defaults;
mod dial;
mod exec;
mod file_placement;
mod host_keys;
mod key;
mod metrics;
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
pub use metrics::SshMetrics;
pub use runner::{SshConfig, SshRunner};
pub use stored_connections::{
    ConnectionView, CreateError, DuplicatePolicy, OpenConnectionsError, SshConnections,
};

//! Nodes without an agent: tasks, commands and scripts over SSH.
//!
//! [`SshRunner`] stands in the fabric for such nodes and answers requests as an agent would, so the
//! job engine keeps its states, events and rules; [`Connections`] is how they are reached. The rules:
//! a secret is sealed on the disk and in no log, event, command line or error; nothing is sent to a
//! host whose key is not trusted; what is meant for an agent goes to no host that somebody stored,
//! unless he might run everything everywhere; and what is not known is not claimed.

mod agents;
mod book;
mod capture;
mod carry;
mod connection;
pub mod defaults;
mod dial;
mod exec;
mod host_keys;
mod key;
mod place;
mod quote;
mod rsa;
mod runner;
mod script;
mod sudo;
mod transactions;
mod voice;
mod words;
mod work;

pub use book::{Connections, CreateError, Duplicates, OpenConnectionsError, Shown};
pub use connection::{
    Connection, ConnectionError, PARAMETERS, REPLACES_AGENT, SENSITIVE_PARAMETERS,
};
pub use host_keys::{HostKeyCheck, HostKeyError, HostKeys};
pub use runner::{SshConfig, SshRunner};

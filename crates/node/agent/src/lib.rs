//! The agent of a node: holds a connection to a broker and passes received requests to [`actions`],
//! which executes them.
//!
//! [`config`] reads the operator's settings, [`bootstrap`] obtains a certificate, [`crl`] refreshes
//! the revocation list (in its [`crl_file`]), the [`connection`] communicates with brokers and
//! passes received messages to the [`intake`]; [`agent`] combines these with the engine,
//! [`service`] runs them as a process, and [`doctor`] checks the installation. Invariant: losing
//! the connection, or this process, loses no action and no outcome.

pub mod access_log;
pub mod agent;
mod authority;
pub mod bootstrap;
pub mod config;
pub mod connection;
pub mod crl;
pub mod crl_file;
pub mod defaults;
pub mod doctor;
pub mod intake;
pub mod logging;
pub mod pidfile;
pub mod service;
mod worker;

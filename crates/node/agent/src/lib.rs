//! The agent of a node: holds a connection to a broker and hands what comes
//! through it to [`actions`], which carries it out.
//!
//! [`config`] says what an operator wants, [`bootstrap`] gets a certificate,
//! [`crl`] keeps the revocation list new (in its [`crl_file`]), the [`connection`] talks to brokers
//! and gives what it receives to the [`intake`]; [`agent`] puts these and the
//! engine together, [`service`] makes a process of them, and [`doctor`] looks at the installation. The rule that must
//! hold: losing the connection, or this process, loses no action and no outcome.

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

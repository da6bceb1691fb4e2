//! The node's side: takes PXP requests from a broker, carries them out, keeps and
//! tells their outcomes.
//!
//! Two halves meet at a narrow seam. The connection half talks to brokers; the
//! [`engine`] carries out requests, with [`process`] for what runs, and a spool
//! and a task cache on disk; [`outbox`] is the engine's way out.

//! The [`connection`] hands what it receives to the [`intake`]; [`agent`] puts
//! both halves together, and [`service`] makes a process of them.

pub mod access_log;
pub mod agent;
mod authority;
pub mod bootstrap;
mod cache;
pub mod config;
pub mod connection;
pub mod defaults;
pub mod engine;
pub mod errors;
pub mod intake;
pub mod logging;
mod modules;
pub mod outbox;
pub mod pidfile;
pub mod process;
pub mod service;
mod spool;

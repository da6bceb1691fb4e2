//! The broker over real mutual-TLS sockets, with an independent WebSocket client.
//!
//! Tests named `b01_…` and `k01_…` are behaviours that were observed on other PCP brokers, with the
//! numbers of `docs/stock-peers.md`; where Tutti's broker differs on purpose, the name or a comment
//! mentions it.
#![expect(
    clippy::unwrap_used,
    clippy::large_futures,
    clippy::result_large_err,
    reason = "a test may panic, and is short"
)]

mod support;

mod assembly;
mod authorization;
mod controllers;
mod decoding;
mod engine;
mod exchanges;
mod floods;
mod inventory;
mod limits;
mod opening;
mod revocation;
mod routing;
mod status;
mod versions;

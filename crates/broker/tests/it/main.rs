//! The broker over real mutual-TLS sockets, with an independent WebSocket client.
//!
//! Tests named `b01_…` and `k01_…` are behaviours that were observed on other PCP brokers; where
//! ours differs on purpose, the name or a comment says so.

mod support;

mod decoding;
mod inventory;
mod limits;
mod opening;
mod routing;
mod versions;

//! Integration tests of the WebSocket codec.

mod decoder;
mod entry;
mod handshake;
mod oracle;
mod properties;

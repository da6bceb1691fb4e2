//! Integration tests of the WebSocket codec.

//! PCP 1: one binary WebSocket frame of a version byte and chunks.
//!
//! [`decode`] and [`encode`] convert between bytes and a [`FrameRef`]; [`to_message`] and
//! [`from_message`] between that and a [`PcpMessage`](crate::PcpMessage). Invariant: exactly one
//! envelope, first; at most one data chunk; debug chunks are skipped and never written.

mod envelope;
mod frame;
mod translate;

pub use envelope::EnvelopeRef;
pub use frame::{FrameRef, decode, encode};
pub use translate::{from_message, to_message};

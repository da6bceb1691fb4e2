//! RFC 6455 without I/O: bytes in, events out, and back.
//!
//! [`Decoder`] cuts messages out of a buffer that the caller owns, [`encode`] appends frames to
//! another one, [`handshake`] does the HTTP upgrade of both sides. The rule: an idle connection
//! costs a few dozen bytes here, and a peer's word about a length is checked before the bytes that
//! it announces are waited for.
//!
//! No extensions, so no compression: PCP's clients do not offer any, and its windows would cost
//! more memory per connection than all the rest.

mod close;
mod decoder;
pub mod defaults;
mod error;
mod frame;
pub mod handshake;
mod mask;

pub use close::{CloseFrame, code};
pub use decoder::{Decoder, Event, Incoming, Limits, Role};
pub use error::{DataKind, ProtocolError};
pub use frame::{Frame, encode};

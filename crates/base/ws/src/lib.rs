//! RFC 6455 without I/O: decoding of bytes into events, and encoding of frames into bytes.
//!
//! [`MessageDecoder`] cuts messages out of a buffer that the caller owns, [`encode`] appends frames
//! to another one, [`handshake`] does the HTTP upgrade of both sides. Invariant: an idle connection
//! costs a few dozen bytes here, and a length announced by a peer is checked before its bytes are
//! awaited.
//!
//! No extensions are supported, and therefore no compression: PCP clients do not offer any, and its
//! windows would cost more memory per connection than everything else.

mod close;
mod decoder;
pub mod defaults;
mod error;
mod frame;
pub mod handshake;
mod mask;

pub use close::{CloseFrame, code};
pub use decoder::{
    ConnectionSide, IncompleteMessage, MessageDecoder, ReceiveLimits, ReceivedEvent,
};
pub use error::{DataKind, ProtocolError};
pub use frame::{OutgoingFrame, encode};

//! The Puppet Communications Protocol: addresses, messages, and their two forms on the wire.
//!
//! The rest of Tutti uses [`PcpMessage`]; [`v2`] encodes it as one JSON text, [`v1`] as one binary
//! frame of chunks, and [`types`] defines the messages of brokers and clients about their
//! connections. Invariant: nothing here does I/O, and decoded values have been checked in full
//! (closed schemas, no duplicate keys, bounded depth), so callers need not check them again.

pub mod certname;
pub mod defaults;
mod error;
mod json;
mod message;
mod message_id;
pub mod types;
mod uri;
pub mod v1;
pub mod v2;

pub use certname::{Certname, CertnameError};
pub use error::{PcpDecodeError, TranslateError};
pub use message::{MessageRef, PcpMessage};
pub use message_id::{MessageId, MessageIdError};
pub use uri::{AGENT_TYPE, PcpUri, PcpUriError, SERVER_TYPE, UriRef};

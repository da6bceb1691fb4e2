//! The Puppet Communications Protocol: addresses, messages, and their two forms on the wire.
//!
//! A [`Message`] is what the rest of Tutti speaks; [`v2`] puts it into one JSON text, [`v1`] into
//! one binary frame of chunks, and [`types`] names what brokers and clients say to each other
//! about themselves. The rule: nothing here does I/O, and what is decoded has been checked in
//! full (closed schemas, no duplicate keys, bounded depth), so nobody checks it again.

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
pub use error::{DecodeError, TranslateError};
pub use message::{Message, MessageRef};
pub use message_id::{MessageId, MessageIdError};
pub use uri::{AGENT_TYPE, PcpUri, SERVER_TYPE, UriError, UriRef};

//! Capabilities of applications: those that this server keeps ([`EmbeddedCapabilities`]), those that other servers gave to
//! PuppetDB ([`PuppetdbCapabilities`]), and both as a compilation finds them ([`CapabilitiesOfCode`]).
//!
//! Invariant: the capabilities of a node are those of its newest catalog, whichever server compiled it.

mod embedded;
mod of_code;
mod produced;
mod puppetdb;
mod stored_value;

pub use embedded::{EmbeddedCapabilities, KeepCapabilitiesError};
pub use of_code::{CapabilitiesOfCode, CapabilitySources};
pub use produced::ReadCapabilitiesError;
pub use puppetdb::PuppetdbCapabilities;

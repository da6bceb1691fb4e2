//! Native resource types, as far as a catalog compiler must know them: attributes, name variables
//! (namevars), title patterns and isomorphism. Main type: [`ResourceType`].
//!
//! [`core_type`] has the types that Puppet brings. They are a table that `cargo xtask
//! resource-types` writes from a real Puppet 8.
//!
//! Invariant: this crate does no I/O, and no input of any kind ends in a panic.

mod builder;
mod core_types;
pub mod defaults;
mod generated;
mod metaparameter;
mod resource_type;
mod ruby;
mod title;
mod uniqueness;

pub use self::builder::{InvalidResourceType, ResourceTypeBuilder};
pub use self::core_types::{core_type, core_types};
pub use self::generated::{GeneratedTypeError, read_generated_type};
pub use self::metaparameter::{METAPARAMETERS, Metaparameter};
pub use self::resource_type::{ResourceAttributeKind, ResourceType, ResourceTypeOrigin};
pub use self::ruby::{
    RubyLibrary, StaticReading, UnreadTransport, read_ruby_transport, read_ruby_type,
};
pub use self::title::{TitleError, TitlePattern};
pub use self::uniqueness::UniquenessKeyPart;

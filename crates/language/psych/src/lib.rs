//! YAML as Ruby's Psych reads it, which is the parser of Hiera and Bolt: [`load`],
//! [`YamlTreeNode`]; and as Psych writes it: [`emit`].
//!
//! The notation is parsed by `saphyr-parser`; the meaning of a scalar is determined here, by the
//! rules of Psych 4 (Ruby 3.1): `yes` is true, `010` is 8, `12:30` is 45000, `:a` is a symbol, `<<`
//! merges. Every value has its position and the style in which it was written.
//!
//! As with `safe_load`, tags of Ruby's objects are refused, and so are dates, times, symbols and
//! aliases unless [`YamlLoadOptions`] allow them. Left out: everything but the first document of a
//! text, and structures that contain themselves.
//!
//! Invariants: reading does no I/O; any text results in a tree or an [`Error`] with line and
//! column, within the limits of [`defaults`]; a tree is never deeper than they allow.

pub mod defaults;
mod emit;
mod error;
mod load;
mod loader;
mod mapping;
mod node;
mod number;
mod repair;
mod scalar;
mod tag;
mod time;

pub use emit::{EmitError, EmitLayout, emit};
pub use error::Error;
pub use load::{DuplicateKeyWarning, YamlDocument, YamlLoadOptions, load};
pub use node::{ScalarStyle, YamlKey, YamlMapping, YamlTreeNode, YamlValue};
pub use time::{YamlDate, YamlTime};

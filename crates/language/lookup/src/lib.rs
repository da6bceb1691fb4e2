//! Hiera for programs: `lookup` and `hiera` of the Puppet language. Main type: [`Lookup`].
//!
//! A host of the evaluator holds a [`Lookup`] for one compilation or plan and passes calls of
//! `Host::lookup`, `Host::method` and `Host::named_type` to it. It accesses the disk through
//! [`Files`]. Functions written in Puppet may be backends of a hierarchy; they get a
//! `Puppet::LookupContext` ([`context`]) and may perform lookups themselves.
//!
//! Left out, each refused by name: backends written in Ruby, the third argument of `hiera` with a
//! configuration of version 3, keys of hiera-eyaml in environment variables.
//!
//! Invariants: a variable in data is resolved in the scope of the code that performs the lookup; a
//! lookup within a lookup is recognised as such, on whatever stack it runs; no text of a key is
//! stored, logged or shown.

mod active;
mod asked;
mod context;
mod files;
mod keys;
mod lookup;
mod methods;
mod world;

pub use context::context_type;
pub use files::Files;
pub use hiera::{
    Cache, DirectoryEntry, Explainer, FileIdentity, HostError, Request, Settings, Trail,
};
pub use lookup::{Lookup, Options};

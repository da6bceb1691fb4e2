//! Hiera for programs: `lookup` and `hiera` of the Puppet language. Main type: [`Lookup`].
//!
//! A host of the evaluator holds a [`Lookup`] for one compilation or plan and hands it what comes to
//! `Host::lookup`, `Host::method` and `Host::named_type`. What it sees of the disk comes through [`Files`].
//! Functions written in Puppet may be backends of a hierarchy; they get a `Puppet::LookupContext`
//! ([`context`]) and may look up themselves.
//!
//! Left out, each refused by name: backends written in Ruby, the third argument of `hiera` with a
//! configuration of version 3, keys of hiera-eyaml in environment variables.
//!
//! Rules that hold here: a variable in data is the variable that the code which looks up sees; a lookup
//! within a lookup is known as such, on whatever stack it runs; no text of a key is kept, logged or shown.

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

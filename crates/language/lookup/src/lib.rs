//! Hiera for programs: `lookup` and `hiera` of the Puppet language. Main type: [`Lookup`].
//!
//! A host of the evaluator holds a [`Lookup`] for one compilation or plan and passes calls of
//! `EvaluationHost::lookup`, `method` and `named_type` to it. It accesses the disk through
//! [`LookupFiles`]. Functions written in Puppet may be backends of a hierarchy; they get a
//! `Puppet::LookupContext` ([`context`]) and may perform lookups themselves.
//!
//! Backends in Ruby are run by hosts that have Ruby (`EvaluationHost::foreign_data_function`), and refused
//! by name elsewhere. Left out, each refused by name: the third argument of `hiera` with a
//! configuration of version 3, keys of hiera-eyaml in environment variables.
//!
//! Invariants: a variable in data is resolved in the scope of the code that performs the lookup; a
//! lookup within a lookup is recognised as such, on whatever stack it runs; no text of a key is
//! stored, logged or shown.

mod active_lookups;
mod arguments;
mod context;
mod evaluator_host;
mod keys;
mod lookup;
mod lookup_files;
mod methods;

pub use context::context_type;
pub use evaluator_host::LOOKUP_ERROR;
pub use hiera::{
    DataFileCache, DirectoryEntry, FileIdentity, HieraSettings, HostError, LookupExplainer,
    LookupRequest, LookupTrail,
};
pub use lookup::{Lookup, LookupSettings};
pub use lookup_files::LookupFiles;

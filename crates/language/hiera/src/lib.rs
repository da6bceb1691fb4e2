//! Hiera 5: values by their keys, from the layers global, environment and module. Main types:
//! [`LookupSession`], which belongs to one compilation or plan, and [`LookupRequest`].
//!
//! Left out, each refused by name: backends of Hiera 3 that are written in Ruby. Configurations of
//! version 3 are read in the global layer, for yaml, json, hocon and eyaml.
//!
//! Invariants: everything that a lookup reads comes through [`LookupHost`]; a lookup ends within
//! the limits of [`defaults`]; a file is parsed once, until its identity changes.

mod backend;
mod config;
mod data;
mod deep;
pub mod defaults;
mod error;
mod explain;
mod explain_data;
mod glob;
mod hierarchy_input;
mod host;
mod interpolate;
mod key;
mod layer;
mod location;
mod lookup_run;
mod lookup_trail;
mod merge;
mod method_use;
mod options;
mod session;

pub use data::{DataFileCache, json_value, yaml_value};
pub use error::{Error, HostError};
pub use explain::{LookupExplainer, plain_text};
pub use host::{DirectoryEntry, FileIdentity, FunctionCall, LookupHost};
pub use lookup_trail::LookupTrail;
pub use session::{HieraSettings, LookupRequest, LookupSession};

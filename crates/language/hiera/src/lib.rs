//! Hiera 5: values by their keys, from the layers global, environment and module. Main types:
//! [`Session`], which belongs to one compilation or plan, and [`Request`].
//!
//! Left out, each refused by name: backends of Hiera 3 that are written in Ruby. Configurations of
//! version 3 are read in the global layer, for yaml, json, hocon and eyaml.
//!
//! Invariants: everything that a lookup reads comes through [`Host`]; a lookup ends within the
//! limits of [`defaults`]; a file is parsed once, until its identity changes.

mod backend;
mod config;
mod data;
mod deep;
pub mod defaults;
mod error;
mod explain;
mod explain_data;
mod glob;
mod host;
mod interpolate;
mod key;
mod layer;
mod location;
mod merge;
mod options;
mod run;
mod session;
mod trail;

pub use data::{Cache, json_value, yaml_value};
pub use error::{Error, HostError};
pub use explain::{Explainer, plain};
pub use host::{DirectoryEntry, FileIdentity, FunctionCall, Host};
pub use session::{Request, Session, Settings};
pub use trail::Trail;

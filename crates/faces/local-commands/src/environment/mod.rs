//! An environment in a directory of this machine: its location, facts of a node.
//!
//! Commands that need neither a server nor Puppet use it: `tutti lookup`, `tutti catalog`.

pub(crate) mod facts;
mod location;

pub(crate) use location::EnvironmentLocation;

//! Hostile manifests: every compilation ends, and leaves the environment unchanged; and applications
//! across nodes.
#![cfg(test)]

mod application_availability;
mod application_graph;
mod application_nodes;
mod application_passes;
mod application_properties;
mod application_relationships;
mod application_world;
mod collection;
mod compared_capabilities;
mod entry;
mod interrupt;
mod memory_capabilities;
mod plain;
mod properties;
mod recursion;
mod size;
mod world;

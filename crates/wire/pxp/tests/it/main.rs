//! Integration tests of the PXP types.

mod actions;
mod bodies;
mod capabilities;
mod entry;
mod exchanges;
mod metadata;
mod names;
mod param_types;
mod params;
mod properties;

//! Integration tests of the PXP types.

mod actions;
mod bodies;
mod capabilities;
mod entry;
mod exchanges;
mod names;
mod properties;

//! Integration tests of the PCP codec.

mod entry;
mod names;
mod properties;
mod translate;
mod types;
mod v1;
mod v2;

//! Texts of values and types, as Puppet prints them.

mod float;
mod quote;

pub use float::ruby_float;
pub use quote::{double_quote, quote};

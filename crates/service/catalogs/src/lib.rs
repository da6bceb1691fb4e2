//! Catalogs of nodes: compilation with Ruby where the code is Ruby, and comparison of catalogs. Main
//! types: [`RubyWorkerProvider`], [`CatalogDifference`].
//!
//! Invariant: a compilation has Ruby of its own environment version only.

mod comparison;
mod ruby;

pub use comparison::{CatalogDifference, ResourceDifference, compare_catalogs};
pub use ruby::{RubyCalls, RubyWorkerProvider};

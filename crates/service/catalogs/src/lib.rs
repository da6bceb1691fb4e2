//! Catalogs of nodes: environments on disk, compilation with Ruby where the code is Ruby, comparison
//! of catalogs. Main types: [`EnvironmentFiles`], [`RubyWorkerProvider`], [`CatalogDifference`].
//!
//! Invariant: a compilation has Ruby of its own environment version only.

mod comparison;
pub mod defaults;
mod environment;
mod ruby;

pub use comparison::{CatalogDifference, ResourceDifference, compare_catalogs};
pub use environment::{
    EnvironmentFiles, EnvironmentOnDisk, EnvironmentReadError, module_directories,
};
pub use ruby::{RubyCalls, RubyWorkerProvider};

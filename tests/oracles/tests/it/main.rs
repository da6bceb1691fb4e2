//! Our crates of the Puppet language give the answers of Ruby and Puppet.
#![cfg(test)]

mod apply_blocks;
mod catalog_classes;
mod catalogs;
mod compiled_catalogs;
mod emit;
mod erb;
mod evaluation;
mod g10k;
mod generated;
mod generated_catalogs;
mod lookup;
mod lookup_programs;
mod native_outcome;
mod psych;
mod r10k;
mod r10k_forge;
mod r10k_lists;
mod r10k_settings;
mod r10k_svn;
mod random;
mod regex;
mod resource_types;
mod ruby_bounds;
mod ruby_functions;
mod site;
mod stdlib;
mod syntax;
mod types;

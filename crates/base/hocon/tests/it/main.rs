//! Documents with their values, and invalid documents with their errors.

#![cfg(test)]

mod arbitrary;
mod entry;
mod errors;
mod files;
mod meaning;
mod properties;

//! Tests of `psych`.
#![cfg(test)]

mod documents;
mod emit;
mod entry;
mod limits;
mod properties;
mod scalars;

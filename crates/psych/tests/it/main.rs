//! Tests of `psych`.
#![cfg(test)]

mod documents;
mod entry;
mod limits;
mod properties;
mod scalars;

//! What documents mean, and what is said about those that mean nothing.

#![cfg(test)]

mod arbitrary;
mod entry;
mod errors;
mod files;
mod meaning;
mod properties;

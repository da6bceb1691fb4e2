//! Hostile manifests: every compilation ends, and leaves the environment unchanged.
#![cfg(test)]

mod collection;
mod entry;
mod interrupt;
mod plain;
mod properties;
mod recursion;
mod size;
mod world;

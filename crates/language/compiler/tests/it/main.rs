//! Hostile manifests: every compilation ends, and leaves the environment unchanged.
#![cfg(test)]

mod recursion;
mod size;
mod world;

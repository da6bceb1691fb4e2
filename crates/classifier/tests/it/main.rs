//! The classifier over a real store.
#![cfg(test)]

mod classify;
mod edits;
mod grammar;
mod world;

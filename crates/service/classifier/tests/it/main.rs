//! Tests of the classifier over a real store.
#![cfg(test)]

mod classify;
mod code;
mod edits;
mod grammar;
mod puppetserver;
mod world;

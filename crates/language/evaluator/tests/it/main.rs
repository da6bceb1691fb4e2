//! Tests of `evaluator`: programs, with the expected values and errors.
#![cfg(test)]

mod arbitrary;
mod budget;
mod entry;
mod errors;
mod functions;
mod language;
mod live;
mod loading;
mod plans;
mod world;

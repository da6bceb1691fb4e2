//! Programs in, values and errors out.
#![cfg(test)]

mod budget;
mod errors;
mod functions;
mod language;
mod loading;
mod plans;
mod world;

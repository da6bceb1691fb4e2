//! Programs in, values and errors out.
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

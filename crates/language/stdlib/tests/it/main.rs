//! Programs that call stdlib's functions in, values and errors out.
#![cfg(test)]

mod functions;
mod hosts;
mod types;
mod world;

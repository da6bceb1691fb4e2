//! Plans in the Puppet language over the real job engine, with nodes in memory.
#![cfg(test)]

mod beside;
mod control;
mod data;
mod decisions;
mod durable;
mod files;
mod mistakes;
mod nodes;
mod preview;
mod results;
mod targets;
mod tasks;
mod unwrapped;
mod world;
mod yaml;

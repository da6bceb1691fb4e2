//! Plans in the Puppet language on the real job engine, with nodes in memory.
#![cfg(test)]

mod applications;
mod apply;
mod beside;
mod bolt;
mod compiler;
mod control;
mod data;
mod decisions;
mod durable;
mod files;
mod functions_page;
mod mistakes;
mod nodes;
mod objects;
mod preview;
mod puppet_runs;
mod results;
mod rollouts;
mod shell;
mod targets;
mod tasks;
mod unwrapped;
mod world;
mod yaml;

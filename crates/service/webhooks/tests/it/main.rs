//! Webhooks against receivers on this machine.
#![cfg(test)]

mod receiver;
mod telling;
mod world;

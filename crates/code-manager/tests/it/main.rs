//! Deployments from real git repositories.
#![cfg(test)]

mod deploys;
mod failures;
mod hostile;
mod kills;
mod readers;
mod service;
mod world;

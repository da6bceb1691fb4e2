//! Deployments from real git repositories.
#![cfg(test)]

mod access;
mod archives;
mod damage;
mod deploys;
mod failures;
mod forge;
mod github_app;
mod github_server;
mod hook_tls;
mod hostile;
mod kills;
mod lists;
mod observers;
mod one_module;
mod parts;
mod power;
mod power_cuts;
mod programs;
mod readers;
mod repositories;
mod room;
mod service;
mod settings;
mod subversion;
mod taken_away;
mod verification;
mod world;
mod write_probe;

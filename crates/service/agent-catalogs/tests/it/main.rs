//! Catalogs for agents: the engine over a real database and code on disk.
#![cfg(test)]

mod ahead;
mod facts_policy;
mod forwarding;
mod history;
mod imported_data;
mod kill;
mod race;
mod restart;
mod service_catalog;
mod site;
mod staleness;
mod static_files;

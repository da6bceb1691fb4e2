//! Catalogs for agents: the engine over a real database and code on disk.
#![cfg(test)]

mod kill;
mod restart;
mod site;
mod staleness;
mod static_files;

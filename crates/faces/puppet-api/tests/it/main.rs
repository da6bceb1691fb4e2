//! The API over real mutual TLS, as used by agents and administrators.

#![cfg(test)]

mod agents;
mod application_graph;
mod audit;
mod auth_conf;
mod authority;
mod autosign;
mod block_catalog;
mod bootstrap;
mod bucket;
mod busy;
mod code_listing;
mod enrollment;
mod environment_listing;
mod facts;
mod files;
mod front;
mod mounts;
mod reports;
mod service_catalog;
mod site;
mod slow;

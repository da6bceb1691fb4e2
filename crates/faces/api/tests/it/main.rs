//! The API over real engines: SQLite, the job engine, code in a directory, agents in memory.
#![cfg(test)]
#![allow(
    clippy::large_futures,
    reason = "a test has few tasks, and their size is nobody's memory"
)]

mod actions;
mod agents;
mod answers;
mod applications;
mod audit;
mod bodies;
mod brokers;
mod catalogs;
mod certificates;
mod classes;
mod classifier;
mod clients;
mod code_manager;
mod code_webhooks;
mod connections;
mod converge;
mod decisions;
mod deploys;
mod directories;
mod doctor;
mod doors;
mod file_sync;
mod following;
mod golden;
mod hostile;
mod kinds;
mod matrix;
mod node_purge;
mod plan_programs;
mod plan_runs;
mod plans;
mod query;
mod rbac;
mod rbac_samples;
mod refusals;
mod run_orders;
mod run_reports;
mod schedule_owners;
mod scheduled_plans;
mod scheduled_puppet;
mod schedules;
mod selected_nodes;
mod site;
mod streams;
mod task_rights;
mod webhooks;
mod world;

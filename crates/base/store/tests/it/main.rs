//! The store's tests: the same tests on SQLite and on a real PostgreSQL, and tests of each engine.

#![expect(
    clippy::unwrap_used,
    reason = "in tests a panic is the report; clippy excuses only test functions"
)]

mod agent_catalogs;
mod agents;
mod code_deploys;
mod code_followers;
mod disk;
mod encryption;
mod engine;
mod events;
mod exported_resources;
mod frozen;
mod inventory;
mod jobs;
mod kill;
mod model;
mod node_groups;
mod older_history;
mod opening;
mod outage;
mod plan_jobs;
mod plan_journal;
mod postgres_session;
mod produced_capabilities;
mod prune;
mod run_reports;
mod run_secrets;
mod runs;
mod sizes;
mod statements;
mod survey;
mod usage;
mod users;

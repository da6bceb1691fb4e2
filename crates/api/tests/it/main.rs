//! The API over real engines: SQLite, the job engine, code in a directory, agents in memory.
#![allow(
    clippy::large_futures,
    reason = "a test has few tasks, and their size is nobody's memory"
)]

mod agents;
mod answers;
mod brokers;
mod clients;
mod doors;
mod refusals;
mod site;
mod streams;
mod world;

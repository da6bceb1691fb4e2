//! The engine with real processes, files and restarts, and a broker that only
//! records.

mod actions;
mod fake;
mod live;
mod restarts;
mod tasks;
mod trees;

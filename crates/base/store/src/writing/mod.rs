//! The statements that write jobs, runs and events, and the data that they are made from.
//!
//! The SQL here enforces the invariants: forward only, never out of a terminal state, and no event
//! without the transition that it records.

pub(crate) mod audit;
mod changes;
pub(crate) mod events;
pub(crate) mod jobs;
pub(crate) mod runs;

//! The statements that write jobs, runs and events, and what they are made from.
//!
//! The rules stand in the SQL here: forward only, never out of a terminal state, and no event without
//! the transition that it tells of.

pub(crate) mod audit;
mod changes;
pub(crate) mod events;
pub(crate) mod jobs;
pub(crate) mod runs;

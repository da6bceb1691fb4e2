//! The statements that write jobs, runs and events, with what a job is part of (plans, slots of
//! schedules), the audit chain, and the data that they are made from.
//!
//! The SQL here enforces the invariants: forward only, never out of a terminal state, and no event
//! without the transition that it records.

pub(crate) mod audit;
mod changes;
pub(crate) mod events;
pub(crate) mod history;
pub(crate) mod jobs;
pub(crate) mod plan_events;
pub(crate) mod plan_journal;
pub(crate) mod plan_steps;
pub(crate) mod runs;
pub(crate) mod slots;

//! Statements that write jobs, runs, their events, steps and events of plans, slots of schedules and
//! audit events, and the data from which they are made.
//!
//! Invariant: the SQL moves a job or run only forward, never out of a terminal state, and writes none
//! of their events without the transition that it records.

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

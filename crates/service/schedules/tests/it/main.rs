//! Tests of the schedules: timetables and decisions alone, and the actor over a real store.

#![allow(
    clippy::large_futures,
    reason = "a test has few tasks, and their size is nobody's memory"
)]
#![cfg(test)]

mod actor;
mod clocks;
mod decisions;
mod kill;
mod planner;
mod properties;
mod world;

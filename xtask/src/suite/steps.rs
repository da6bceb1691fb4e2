//! The steps of the suite with their durations: [`Steps`].

use std::time::{Duration, Instant};

use anyhow::Result;

/// Runs steps one after the other and records the duration of each.
#[derive(Debug, Default)]
pub(super) struct Steps {
    taken: Vec<(&'static str, Duration)>,
}

impl Steps {
    /// Runs a step. Its duration is recorded even if it fails.
    pub(super) fn run<T>(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let started = Instant::now();
        let outcome = step();
        self.taken.push((name, started.elapsed()));
        outcome
    }

    /// Prints a line for each step, and the sum.
    pub(super) fn print(&self) {
        println!("time of each step:");
        for (name, duration) in &self.taken {
            println!("{:8.1} s  {name}", duration.as_secs_f64());
        }
        let sum: Duration = self.taken.iter().map(|(_, duration)| *duration).sum();
        println!("{:8.1} s  in all", sum.as_secs_f64());
    }
}

//! The steps of the suite with their times: [`Steps`].

use std::time::{Duration, Instant};

use anyhow::Result;

use super::cpu_time;
use super::times::wall_and_cpu;

/// Runs steps one after the other and records the times of each.
#[derive(Debug, Default)]
pub(super) struct Steps {
    taken: Vec<StepTime>,
}

#[derive(Debug)]
struct StepTime {
    name: &'static str,
    wall: Duration,
    /// CPU time of the commands that ended in this step.
    cpu: Duration,
}

impl Steps {
    /// Runs a step. Its times are recorded even if it fails.
    pub(super) fn run<T>(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let (started, before) = (Instant::now(), cpu_time::used_so_far()?);
        let outcome = step();
        self.taken.push(StepTime {
            name,
            wall: started.elapsed(),
            cpu: cpu_time::used_so_far()?.saturating_sub(before),
        });
        outcome
    }

    /// Prints a line for each step, and the sum.
    pub(super) fn print(&self) {
        println!("time of each step, and the share of all cores that was used:");
        for step in &self.taken {
            println!("{}  {}", wall_and_cpu(step.wall, step.cpu), step.name);
        }
        let wall = self.taken.iter().map(|step| step.wall).sum();
        let cpu = self.taken.iter().map(|step| step.cpu).sum();
        println!("{}  in all", wall_and_cpu(wall, cpu));
    }
}

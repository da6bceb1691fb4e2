//! The engine against a real store and agents in memory.

#![expect(
    clippy::unwrap_used,
    clippy::large_futures,
    reason = "helpers of tests may fail like tests, and a test's future lives once"
)]

mod absence;
mod adverse_agents;
mod chaos;
mod choria_flaws;
mod deploys;
mod dispatch;
mod doubt;
mod durations;
mod enforced;
mod faults;
mod file_servers;
mod fleet;
mod happy;
mod leases;
mod live;
mod lost_results;
mod namesakes;
mod natives;
mod pass_leases;
mod passes;
mod pings;
mod pinned;
mod recovery;
mod refusals;
mod refused;
mod resolve;
mod rollouts;
mod run_orders;
mod secrets;
mod silent_restarts;
mod sim;
mod splays;
mod stop;
mod world;

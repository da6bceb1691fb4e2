//! Runs over SSH against a real `sshd`, with the test in the role of the engine.
#![allow(
    clippy::large_futures,
    reason = "a test has few tasks, and their size is nobody's memory"
)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod agents;
mod endings;
mod logins;
mod modules;
mod runs;
mod secrets;
mod stored;
mod world;

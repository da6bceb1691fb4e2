//! Jobs: tasks on many nodes, at most once each, with every outcome known or said to be unknown.
//!
//! [`Jobs`] is the handle; behind it one actor owns every job that is not over. The rules that all
//! of this crate serves:
//! - what a caller was told is durable;
//! - a request is sent only after the commit that says so, and a second time only when the agent
//!   has proved that it never got the first;
//! - a run's terminal state is never left, and a job's last event is its last.

mod clock;
mod config;
pub mod defaults;
mod engine;
mod events;
mod flight;
mod handle;
mod keys;
mod live;
mod metrics;
mod outcome;
mod ping;
mod prepare;
mod prune;
mod request;
mod scheduler;
mod state;
mod tally;
mod verdict;

pub use clock::{Clock, SystemClock};
pub use config::JobsConfig;
pub use events::NODE_LATE_OUTCOME;
pub use handle::{EngineLost, Jobs, StopError};
pub use live::{LiveEvent, LiveSubscription};
pub use metrics::Metrics;
pub use outcome::{KIND_TASK, REDACTED};
pub use ping::{Ping, PingError};
pub use request::{RunTaskError, Scope, TaskRequest};
pub use state::{JobState, RunState};
pub use verdict::{KIND_EXECUTION, KIND_STOPPED, KIND_TIMEOUT, KIND_UNKNOWN};

//! Limits of repeated runs, with their reasons.

use std::time::Duration;

use crate::rerun_budget::{RerunLimits, RerunRate};

/// Waves unless the request says otherwise. Clusters that form step by step need 3 to 5, and twice that leaves room for
/// a step that takes two runs.
pub const MAX_WAVES: u32 = 10;

/// Longest pause that a node's request causes, unless the request of the job says otherwise: after it the regular run of
/// most nodes would have come.
pub const MAX_DELAY: Duration = Duration::from_secs(1_800);

/// Resources by which a run that repeats itself is explained.
pub const NAMED_RESOURCES: usize = 5;

/// Nodes that have not converged, as they are listed with the result; the others are counted. 1,000 nodes with
/// five resources each are some 300 KB.
pub const LISTED_NODES: usize = 1_000;

/// Requests of one run that are read: the module that makes them keeps 64 by key.
pub const RERUN_REQUESTS: usize = 64;

/// Runs in a row with changed data of other nodes that change nothing, after which such data are no reason any more: the
/// first may be for data that do not matter, and a second one confirms it.
pub const IDLE_IMPORTS: u32 = 2;

/// Messages of a resource that a result has at most, by the limit of the agent. A resource with as many may have had
/// others.
pub const RESOURCE_MESSAGES: usize = 4;

/// Nodes of a pass that run again, and components of each that are left for later, as the event of the pass names them: a
/// few lines.
pub const PARTIAL_RUNS_NAMED: usize = 5;

/// Reruns over all jobs. A node has those of two jobs of ten waves at once (18, rounded up), and as many again in an hour:
/// one every 3 minutes, far more than its two regular runs. The fleet has those of a wave of all nodes with 50,000 of
/// them at once, and in an hour as many as it has regular runs. On fleets of up to 2,500 nodes (`50,000 / 20`) only the
/// limit of each node counts: together they never have more.
pub const RERUN_LIMITS: RerunLimits = RerunLimits {
    node: RerunRate {
        burst: 20,
        per_hour: 20,
    },
    fleet: RerunRate {
        burst: 50_000,
        per_hour: 100_000,
    },
};

/// The most that each of these limits may be: a million nodes with ten reruns each. The time in which a bucket is filled
/// is at most this number of hours, which a `Duration` holds.
pub const RERUN_LIMIT_MAX: u32 = 10_000_000;

/// Shortest second wait of a wave for reruns, if other waves have taken the tokens after the first one; each further wait
/// is at least twice as long. So a wave that may wait for a day (86,400 s) waits at most 18 times.
pub const SECOND_RERUN_WAIT: Duration = Duration::from_secs(1);

/// Nodes without reruns, as the event of their wave names them: a line.
pub const LEFT_OUT_NAMED: usize = 5;

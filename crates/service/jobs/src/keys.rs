//! The names by which the engine and its readers speak of jobs and runs, in memory alone.

/// The engine's own name of a job; it has one before the store has given the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct JobKey(pub(crate) u64);

/// One run of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RunKey {
    pub(crate) job: JobKey,
    pub(crate) index: usize,
}

//! Keys of jobs and runs for the engine and its readers, in memory alone.

/// The engine's own key of a job, which exists before the store has assigned the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct JobKey(pub(crate) u64);

/// One run of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RunKey {
    pub(crate) job: JobKey,
    pub(crate) index: usize,
}

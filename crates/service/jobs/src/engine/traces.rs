//! Export of spans for a job and its runs.
//!
//! Invariant: nothing waits for a span, and a job that is not traced costs one check of an
//! `Option`.

use std::time::SystemTime;

use store::JobNumber;

use super::active_jobs::ActiveJob;
use super::state::JobEngine;
use crate::keys::{JobKey, RunKey};
use crate::trace::{JobTrace, RunTrace};

// === impl ActiveJob ===

impl ActiveJob {
    /// Begins the trace of a run that has had its slot since `start`.
    pub(super) fn trace_run(&mut self, index: usize, start: SystemTime) {
        let trace = self.dispatch.trace.as_ref();
        let run = trace.and_then(|trace| trace.begin_run(index, start));
        self.runs[index].trace = run.map(Box::new);
    }
}

// === impl JobEngine ===

impl JobEngine {
    /// Adds a note to the trace of a run, if it has one.
    pub(super) fn trace(&mut self, key: RunKey, note: impl FnOnce(&mut RunTrace)) {
        if let Some(run) = self.active_jobs.run_mut(key)
            && let Some(trace) = &mut run.trace
        {
            note(trace);
        }
    }

    /// Exports the span of a job that is durable, or over in the transaction that made it.
    pub(super) fn trace_inserted(&self, trace: Option<&JobTrace>, since: SystemTime) {
        if let Some(trace) = trace {
            self.deps.tracer.take(trace.commit_span(since));
        }
    }

    /// Exports the spans of a run whose end is durable.
    pub(super) fn trace_run_ended(&mut self, key: RunKey) {
        let Some(job) = self.active_jobs.jobs.get_mut(&key.job) else {
            return;
        };
        let run = &mut job.runs[key.index];
        let Some(trace) = run.trace.take() else {
            return;
        };
        for span in trace.into_spans(job.number, run.certname.as_str(), run.via) {
            self.deps.tracer.take(span);
        }
    }

    /// Exports the span of a job whose end is durable.
    pub(super) fn trace_job_ended(&mut self, key: JobKey) {
        if let Some(job) = self.active_jobs.jobs.get_mut(&key)
            && let Some(trace) = job.dispatch.trace.take()
        {
            let number = job.number;
            self.trace_finished_job(trace, number);
        }
    }

    /// Exports the span of a job that is over.
    pub(super) fn trace_finished_job(&self, trace: JobTrace, number: JobNumber) {
        self.deps.tracer.take(trace.into_span(number));
    }
}

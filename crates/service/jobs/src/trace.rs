//! A job and its runs in the traces: [`JobTrace`], [`RunTrace`].
//!
//! Invariants: a job's span context is stored sealed in its row, so that a restarted engine goes on
//! with the same trace; of a huge job only every n-th run has spans, so that memory and the queue
//! to the collector stay bounded; and no span holds a parameter, an output or an error's text.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::JobNumber;
use telemetry::{SpanId, SpanKind, StartedSpan, TraceSpan, Tracer};

use crate::defaults::TRACED_RUNS;
use crate::over_ssh::NodeTransport;
use crate::state::{JobState, RunState};

/// A job that is traced, from its command to the commit of its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "StoredTrace", into = "StoredTrace")]
pub(crate) struct JobTrace {
    begun: StartedSpan,
    kind: String,
    nodes: usize,
    /// State in which the job ended.
    state: Option<JobState>,
}

/// The trace as stored in the sealed part of a job's row.
#[derive(Serialize, Deserialize)]
struct StoredTrace {
    traceparent: String,
    /// Id of the parent span, as bytes.
    parent: Option<[u8; 8]>,
    start_us: u64,
    kind: String,
    nodes: usize,
}

/// A run that is traced, from its mark to the commit of its end.
#[derive(Debug)]
pub(crate) struct RunTrace {
    begun: StartedSpan,
    accepted_at: Option<SystemTime>,
    outcome_at: Option<SystemTime>,
    decided_at: Option<(SystemTime, RunState)>,
}

// === impl JobTrace ===

impl JobTrace {
    /// Begins within the span of the caller; a job without a caller's span begins a new trace.
    pub(crate) fn begin(tracer: &Tracer, kind: &str, nodes: usize) -> Option<Self> {
        let begun = tracer.begin(telemetry::current())?;
        Some(Self {
            begun,
            kind: kind.to_owned(),
            nodes,
            state: None,
        })
    }

    /// Adds the trace's id to the shown options of a job.
    pub(crate) fn add_trace_id(trace: Option<&Self>, options: &mut Value) {
        if let Some(trace) = trace {
            options["trace_id"] = json!(trace.begun.context.trace_id());
        }
    }

    /// Span of the job's commit, which includes its first marks.
    pub(crate) fn commit_span(&self, since: SystemTime) -> TraceSpan {
        StartedSpan::within(self.begun.context, since).finish("commit job", SystemTime::now())
    }

    /// The trace of the run at this index of the job, if it has one: all runs of a job of up to
    /// [`TRACED_RUNS`] nodes, otherwise every n-th.
    pub(crate) fn begin_run(&self, index: usize, start: SystemTime) -> Option<RunTrace> {
        let every = self.nodes.div_ceil(TRACED_RUNS).max(1);
        index.is_multiple_of(every).then(|| RunTrace {
            begun: StartedSpan::within(self.begun.context, start),
            accepted_at: None,
            outcome_at: None,
            decided_at: None,
        })
    }

    pub(crate) fn record_state(&mut self, state: JobState) {
        self.state = Some(state);
    }

    /// Span of the whole job, whose end is durable.
    pub(crate) fn into_span(self, number: JobNumber) -> TraceSpan {
        let state = self.state.unwrap_or(JobState::Failed);
        let mut span = self
            .begun
            .finish("job", SystemTime::now())
            .with("tutti.job", number.to_string())
            .with("tutti.job.kind", self.kind)
            .with("tutti.job.nodes", self.nodes)
            .with("tutti.job.nodes_traced", self.nodes.min(TRACED_RUNS))
            .with("tutti.job.state", state.as_str());
        span.failed = state != JobState::Finished;
        span
    }
}

impl TryFrom<StoredTrace> for JobTrace {
    type Error = telemetry::InvalidTraceparent;

    fn try_from(kept: StoredTrace) -> Result<Self, Self::Error> {
        Ok(Self {
            begun: StartedSpan {
                context: kept.traceparent.parse()?,
                parent: kept.parent.map(SpanId::from_bytes),
                start: SystemTime::UNIX_EPOCH + Duration::from_micros(kept.start_us),
            },
            kind: kept.kind,
            nodes: kept.nodes,
            state: None,
        })
    }
}

impl From<JobTrace> for StoredTrace {
    fn from(trace: JobTrace) -> Self {
        let since_epoch = trace.begun.start.duration_since(SystemTime::UNIX_EPOCH);
        let start_us = since_epoch.unwrap_or_default().as_micros();
        Self {
            traceparent: trace.begun.context.to_string(),
            parent: trace.begun.parent.map(SpanId::to_bytes),
            start_us: u64::try_from(start_us).unwrap_or(u64::MAX),
            kind: trace.kind,
            nodes: trace.nodes,
        }
    }
}

// === impl RunTrace ===

impl RunTrace {
    /// Records that the agent confirmed the request.
    pub(crate) fn record_accepted(&mut self) {
        self.accepted_at.get_or_insert_with(SystemTime::now);
    }

    /// Records that the agent's outcome has arrived.
    pub(crate) fn record_outcome(&mut self) {
        self.outcome_at.get_or_insert_with(SystemTime::now);
    }

    /// Records that the end of the run is decided, but not durable yet.
    pub(crate) fn record_end(&mut self, state: RunState) {
        self.decided_at = Some((SystemTime::now(), state));
    }

    /// The run, the agent's part in it, and the commit of its end, which is durable now. The
    /// agent's part is as this server saw it, from its acceptance of the request to its outcome:
    /// agents do not tell times, and clocks of nodes differ.
    pub(crate) fn into_spans(
        self,
        job: JobNumber,
        certname: &str,
        via: NodeTransport,
    ) -> Vec<TraceSpan> {
        let now = SystemTime::now();
        let (decided, state) = self.decided_at.unwrap_or((now, RunState::Errored));
        let whole = self.begun.context;
        let mut run = self
            .begun
            .finish("run", now)
            .with("tutti.job", job.to_string())
            .with("tutti.certname", certname)
            .with("tutti.run.state", state.as_str());
        run.failed = state != RunState::Finished;
        let mut spans = vec![run];
        if let Some(told) = self.outcome_at {
            let since = self.accepted_at.unwrap_or(self.begun.start);
            let mut agent = StartedSpan::within(whole, since)
                .finish(agent_name(via), told)
                .with("tutti.certname", certname);
            agent.kind = SpanKind::Client;
            spans.push(agent);
        }
        spans.push(StartedSpan::within(whole, decided).finish("commit result", now));
        spans
    }
}

fn agent_name(via: NodeTransport) -> &'static str {
    match via {
        NodeTransport::Agent => "agent",
        NodeTransport::Ssh => "ssh",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use telemetry::{SpanSink, TraceContext, TraceId};

    use super::*;

    struct Nowhere;

    impl SpanSink for Nowhere {
        fn samples(&self, _: Option<&TraceContext>, _: TraceId) -> bool {
            true
        }

        fn take(&self, _: TraceSpan) {}
    }

    fn number(number: i64) -> JobNumber {
        number.to_string().parse().unwrap()
    }

    fn trace(nodes: usize) -> JobTrace {
        let tracer = Tracer::new(Arc::new(Nowhere));
        JobTrace::begin(&tracer, "task", nodes).unwrap()
    }

    #[test]
    fn a_huge_job_has_a_bounded_number_of_traced_runs() {
        for nodes in [1, 255, 256, 257, 10_000, 100_000] {
            let trace = trace(nodes);
            let now = SystemTime::now();
            let traced = (0..nodes).filter(|&index| trace.begin_run(index, now).is_some());
            let count = traced.count();
            assert!(
                count <= TRACED_RUNS && count >= nodes.min(TRACED_RUNS / 2),
                "{nodes}: {count}"
            );
        }
    }

    #[test]
    fn after_a_restart_it_is_the_same_trace() {
        let before = trace(3);
        let kept = serde_json::to_string(&before).unwrap();
        let after: JobTrace = serde_json::from_str(&kept).unwrap();
        let (before, after) = (before.into_span(number(1)), after.into_span(number(1)));
        assert_eq!(before.context, after.context);
        assert_eq!(before.parent, after.parent);
        let gap = before.start.duration_since(after.start).unwrap_or_default();
        assert!(gap < Duration::from_micros(1), "{gap:?}");
    }

    #[test]
    fn the_agents_part_lies_between_its_acceptance_and_its_outcome() {
        let mut run = trace(1).begin_run(0, SystemTime::now()).unwrap();
        run.record_accepted();
        run.record_outcome();
        run.record_end(RunState::Failed);
        let spans = run.into_spans(number(7), "web1", NodeTransport::Agent);
        let [run, agent, commit] = spans.as_slice() else {
            panic!("{spans:?}");
        };
        assert!(run.failed);
        assert_eq!(agent.parent, Some(run.context.span));
        assert_eq!(commit.parent, Some(run.context.span));
        assert!(run.start <= agent.start && agent.end <= commit.start && commit.end <= run.end);
    }

    #[test]
    fn a_run_that_was_given_up_has_no_part_of_an_agent() {
        let mut run = trace(1).begin_run(0, SystemTime::now()).unwrap();
        run.record_end(RunState::Errored);
        let names = run.into_spans(number(7), "web1", NodeTransport::Ssh);
        let names: Vec<_> = names.iter().map(|span| span.name.as_ref()).collect();
        assert_eq!(names, ["run", "commit result"]);
    }
}

//! Recording of spans: [`Tracer`].
//!
//! Invariant: [`Tracer::default`] records nothing and costs nothing; a [`SpanSink`] never waits.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::{AttributeValue, SpanId, SpanKind, TraceContext, TraceId, TraceSpan};

/// Handle that records spans. Clones share the same sink.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<dyn SpanSink>>);

/// Receiver of finished spans, for example an exporter.
pub trait SpanSink: Send + Sync {
    /// Decides if the spans of a trace are exported; called once, when the trace enters this
    /// server.
    fn samples(&self, parent: Option<&TraceContext>, trace: TraceId) -> bool;

    /// Takes a span, or drops it; must not wait.
    fn take(&self, span: TraceSpan);
}

/// Start of a span whose work goes on. It is a plain value and not a guard: if it is dropped, no
/// span is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedSpan {
    /// Trace and id of the span.
    pub context: TraceContext,
    /// Id of the parent span; `None` for the first span of a trace.
    pub parent: Option<SpanId>,
    /// Start time of the work.
    pub start: SystemTime,
}

// === impl Tracer ===

impl Tracer {
    /// Creates a tracer that passes spans to `sink`.
    pub fn new(sink: Arc<dyn SpanSink>) -> Self {
        Self(Some(sink))
    }

    /// Returns true if there is a sink.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Starts a span for work that comes from outside, in the caller's trace or in a new one.
    /// `None`: the trace is not sampled.
    pub fn begin_incoming(&self, parent: Option<TraceContext>) -> Option<StartedSpan> {
        let sink = self.0.as_ref()?;
        let context = parent.map_or_else(|| TraceContext::root(true), |parent| parent.child());
        let sampled = sink.samples(parent.as_ref(), context.trace);
        sampled.then(|| StartedSpan {
            context: TraceContext { sampled, ..context },
            parent: parent.map(|parent| parent.span),
            start: SystemTime::now(),
        })
    }

    /// Starts a span below `parent`, or a new trace if there is none. `None`: the trace is not
    /// sampled.
    pub fn begin(&self, parent: Option<TraceContext>) -> Option<StartedSpan> {
        let Some(parent) = parent else {
            return self.begin_incoming(None);
        };
        self.0.as_ref()?;
        parent
            .sampled
            .then(|| StartedSpan::within(parent, SystemTime::now()))
    }

    /// Records a finished span.
    pub fn take(&self, span: TraceSpan) {
        if let Some(sink) = &self.0 {
            sink.take(span);
        }
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tracer").field(&self.is_on()).finish()
    }
}

// === impl StartedSpan ===

impl StartedSpan {
    /// Creates a span below `parent` that started at `start`.
    pub fn within(parent: TraceContext, start: SystemTime) -> Self {
        Self {
            context: parent.child(),
            parent: Some(parent.span),
            start,
        }
    }

    /// Finishes the span at `end`.
    pub fn finish(self, name: &'static str, end: SystemTime) -> TraceSpan {
        TraceSpan {
            context: self.context,
            parent: self.parent,
            parent_is_remote: false,
            name: name.into(),
            kind: SpanKind::Internal,
            start: self.start,
            // The clock may have been set back meanwhile.
            end: end.max(self.start),
            attributes: Vec::new(),
            failed: false,
        }
    }
}

// === impl TraceSpan ===

impl TraceSpan {
    /// Adds one attribute to the span.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<AttributeValue>) -> Self {
        self.attributes.push((key, value.into()));
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<TraceSpan>>);

    impl SpanSink for Kept {
        fn samples(&self, parent: Option<&TraceContext>, _: TraceId) -> bool {
            parent.is_none_or(|parent| parent.sampled)
        }

        fn take(&self, span: TraceSpan) {
            self.0.lock().unwrap().push(span);
        }
    }

    #[test]
    fn a_part_belongs_to_its_whole() {
        let kept = Arc::new(Kept::default());
        let tracer = Tracer::new(kept.clone());
        let caller = TraceContext::root(true);
        let request = tracer.begin_incoming(Some(caller)).unwrap();
        let job = tracer.begin(Some(request.context)).unwrap();
        tracer.take(job.finish("job", SystemTime::UNIX_EPOCH).with("n", 1_usize));
        let spans = kept.0.lock().unwrap();
        assert_eq!(spans[0].context.trace, caller.trace);
        assert_eq!(spans[0].parent, Some(request.context.span));
        assert_eq!(request.parent, Some(caller.span));
        assert_eq!(spans[0].end, spans[0].start, "never before it began");
    }

    #[test]
    fn who_is_not_sampled_or_has_no_sink_does_nothing() {
        let tracer = Tracer::new(Arc::new(Kept::default()));
        assert_eq!(tracer.begin_incoming(Some(TraceContext::root(false))), None);
        assert_eq!(tracer.begin(Some(TraceContext::root(false))), None);
        assert_eq!(Tracer::default().begin_incoming(None), None);
    }
}

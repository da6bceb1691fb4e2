//! Watching a job: its committed events and, as it is written, its output.
//!
//! [`LiveSubscription`] is the reader's handle. Invariants: events are read from the store, so none
//! is lost however slow the reader is; output is queued in bounded memory, and the agents get new
//! credit only for output that the reader has taken.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use partial_debug::partial_debug;
use pcp::Certname;
use pxp::ProcessStream;
use store::{EventRow, JobNumber, Store, StoreError};
use tokio::sync::{mpsc, watch};

use crate::defaults::{LIVE_CHUNKS, LIVE_EVENTS, LIVE_QUEUE_BYTES};
use crate::keys::{JobKey, RunKey};

/// An event or a piece of output that a reader of a job receives.
#[derive(Clone, Debug)]
pub enum LiveEvent {
    /// A committed event; ids ascend.
    Event(EventRow),
    /// Output of an action, as it was written.
    Output {
        /// Certname of the node that wrote the output.
        certname: Certname,
        /// Standard output or standard error.
        stream: ProcessStream,
        /// Offset of `bytes` in the stream; bytes missing before it were lost on the way (the
        /// result has them).
        offset: u64,
        /// The output itself; not necessarily UTF-8.
        bytes: Bytes,
    },
    /// Number of pieces of output that were dropped because the reader was too slow. Events are
    /// never dropped.
    Lagged(u64),
}

/// A reader's end; dropping it ends the subscription.
pub struct LiveSubscription {
    store: Store,
    job: JobNumber,
    next_event: i64,
    read: VecDeque<EventRow>,
    ended: bool,
    feed: Option<LiveFeed>,
}

/// The reader's end of the channel from the engine.
pub(crate) struct LiveFeed {
    job: JobKey,
    chunks: mpsc::Receiver<OutputChunk>,
    backlog: Arc<OutputBacklog>,
    /// Counts the commits that touched the job.
    commits: watch::Receiver<u64>,
    /// The count up to which events have been read.
    commits_read: Option<u64>,
    reports: mpsc::Sender<OutputTaken>,
    taken: HashMap<RunKey, u64>,
    taken_bytes: u64,
    lagged: bool,
    report_bytes: u64,
}

/// The engine's end of the channel.
#[derive(Debug)]
pub(crate) struct OutputWatcher {
    chunks: mpsc::Sender<OutputChunk>,
    backlog: Arc<OutputBacklog>,
}

/// A piece of output on its way to one reader.
#[derive(Clone, Debug)]
pub(crate) struct OutputChunk {
    pub(crate) run: RunKey,
    pub(crate) certname: Certname,
    pub(crate) stream: ProcessStream,
    pub(crate) offset: u64,
    pub(crate) bytes: Bytes,
    /// Total bytes of both streams up to and including this piece.
    pub(crate) passed: u64,
}

#[derive(Debug, Default)]
struct OutputBacklog {
    bytes: AtomicU64,
    dropped: AtomicU64,
}

/// Output that a reader has taken since its last report.
#[derive(Debug)]
pub(crate) struct OutputTaken {
    pub(crate) job: JobKey,
    /// Bytes passed, by run.
    pub(crate) runs: HashMap<RunKey, u64>,
    /// Pieces were dropped: all output sent so far counts as taken.
    pub(crate) lagged: bool,
}

/// Both ends of a new subscription. The reader reports after `report_bytes`.
pub(crate) fn channel(
    job: JobKey,
    commits: watch::Receiver<u64>,
    reports: mpsc::Sender<OutputTaken>,
    report_bytes: u64,
) -> (OutputWatcher, LiveFeed) {
    let (sender, chunks) = mpsc::channel(LIVE_CHUNKS);
    let backlog = Arc::new(OutputBacklog::default());
    let watcher = OutputWatcher {
        chunks: sender,
        backlog: Arc::clone(&backlog),
    };
    let feed = LiveFeed {
        job,
        chunks,
        backlog,
        commits,
        commits_read: None,
        reports,
        taken: HashMap::new(),
        taken_bytes: 0,
        lagged: false,
        report_bytes,
    };
    (watcher, feed)
}

// === impl LiveSubscription ===

impl LiveSubscription {
    pub(crate) fn new(
        store: Store,
        job: JobNumber,
        from_event: i64,
        feed: Option<LiveFeed>,
    ) -> Self {
        Self {
            store,
            job,
            next_event: from_event,
            read: VecDeque::new(),
            ended: false,
            feed,
        }
    }

    /// The next event or piece of output; `None` after the job's last event. May be dropped at any
    /// await and called again without losing anything.
    pub async fn next(&mut self) -> Result<Option<LiveEvent>, StoreError> {
        loop {
            if let Some(event) = self.read.pop_front() {
                self.ended = matches!(event.kind.as_str(), "job_finished" | "job_aborted");
                return Ok(Some(LiveEvent::Event(event)));
            }
            if self.ended {
                return Ok(None);
            }
            let Some(feed) = &mut self.feed else {
                self.read_events().await?;
                self.ended = self.read.is_empty();
                continue;
            };
            feed.report_taken().await;
            if let Some(dropped) = feed.backlog.take_dropped() {
                feed.lagged = true;
                return Ok(Some(LiveEvent::Lagged(dropped)));
            }
            // Output in the queue was written before the events that are not read yet.
            if let Ok(chunk) = feed.chunks.try_recv() {
                return Ok(Some(feed.take_chunk(chunk)));
            }
            let commits = *feed.commits.borrow();
            if feed.commits_read != Some(commits) {
                self.read_events().await?;
                // After a full page there may be more events.
                if self.read.len() < LIVE_EVENTS
                    && let Some(feed) = &mut self.feed
                {
                    feed.commits_read = Some(commits);
                }
                continue;
            }
            tokio::select! {
                biased;
                Some(chunk) = feed.chunks.recv() => return Ok(Some(feed.take_chunk(chunk))),
                changed = feed.commits.changed() => if changed.is_err() {
                    // The job is over: the store has all remaining events.
                    self.feed = None;
                },
            }
        }
    }

    async fn read_events(&mut self) -> Result<(), StoreError> {
        let events = self
            .store
            .events(self.job, self.next_event, LIVE_EVENTS)
            .await?;
        if let Some(last) = events.last() {
            self.next_event = last.id + 1;
        }
        self.read.extend(events);
        Ok(())
    }
}

partial_debug!(LiveSubscription { job, next_event });

// === impl LiveFeed ===

impl LiveFeed {
    fn take_chunk(&mut self, chunk: OutputChunk) -> LiveEvent {
        let len = chunk.bytes.len() as u64;
        self.backlog.bytes.fetch_sub(len, Ordering::Relaxed);
        self.taken_bytes += len;
        self.taken.insert(chunk.run, chunk.passed);
        let OutputChunk {
            certname,
            stream,
            offset,
            bytes,
            ..
        } = chunk;
        LiveEvent::Output {
            certname,
            stream,
            offset,
            bytes,
        }
    }

    /// Reports to the engine the output that the reader has taken, once it is enough for a message.
    /// The reader requests the next item, so it has processed the previous one.
    async fn report_taken(&mut self) {
        // A reader that has emptied its queue reports even a small amount: the agent may wait for
        // it.
        let idle = self.taken_bytes > 0 && self.chunks.is_empty();
        if self.taken_bytes < self.report_bytes && !idle && !self.lagged {
            return;
        }
        let Ok(permit) = self.reports.reserve().await else {
            return;
        };
        let lagged = std::mem::take(&mut self.lagged);
        self.taken_bytes = 0;
        let runs = std::mem::take(&mut self.taken);
        permit.send(OutputTaken {
            job: self.job,
            runs,
            lagged,
        });
    }
}

// === impl OutputBacklog ===

impl OutputBacklog {
    fn take_dropped(&self) -> Option<u64> {
        Some(self.dropped.swap(0, Ordering::Relaxed)).filter(|dropped| *dropped > 0)
    }
}

// === impl OutputWatcher ===

impl OutputWatcher {
    /// Queues a piece, or drops and counts it if the reader is too slow.
    pub(crate) fn push(&self, chunk: OutputChunk) {
        let len = chunk.bytes.len() as u64;
        let queued = self.backlog.bytes.fetch_add(len, Ordering::Relaxed);
        if queued + len > LIVE_QUEUE_BYTES || self.chunks.try_send(chunk).is_err() {
            self.backlog.bytes.fetch_sub(len, Ordering::Relaxed);
            self.backlog.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// True if the reader dropped its subscription.
    pub(crate) fn is_gone(&self) -> bool {
        self.chunks.is_closed()
    }
}

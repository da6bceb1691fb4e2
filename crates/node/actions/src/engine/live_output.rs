//! Live output of running actions: [`LiveOutputs`].
//!
//! The orchestrator grants credit (total bytes of both streams), the agent sends chunks with their
//! offsets from the spool files. Invariants: nothing is sent without credit, so a slow viewer
//! delays no other; chunks hold whole characters if the output is text; the outcome is complete
//! without them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pcp::PcpUri;
use pxp::task::SensitiveScan;
use pxp::{OutputPiece, ProcessStream, PxpMessageBody, TransactionId};
use tokio::sync::watch;

use super::disk::run_blocking;
use super::state::ActionEngineState;
use super::transactions::ActiveTransaction;
use super::watcher::{DirectoryWatch, DirectoryWatcher};
use crate::defaults::{MAX_LIVE_OUTPUTS, OUTPUT_CHUNK_BYTES, OUTPUT_COALESCE, OUTPUT_LINGER};
use crate::modules::TASK_MODULE;
use crate::spool::SpoolEntry;

/// All outputs that are being watched.
#[derive(Debug)]
pub(super) struct LiveOutputs {
    watcher: Arc<DirectoryWatcher>,
    by_id: Mutex<HashMap<TransactionId, Arc<WatchedOutput>>>,
}

/// One output that is being watched.
#[derive(Debug)]
struct WatchedOutput {
    id: TransactionId,
    viewer: PcpUri,
    entry: SpoolEntry,
    active: Option<Arc<ActiveTransaction>>,
    credit: watch::Sender<u64>,
    sent: tokio::sync::Mutex<SentOutput>,
}

/// Number of bytes sent of each stream.
#[derive(Debug, Default)]
struct SentOutput {
    stdout: u64,
    stderr: u64,
    /// Scan for the start of the `_sensitive` key in a task's standard output. A blocking action
    /// has no record of its module, so it counts as a task.
    sensitive: SensitiveScan,
    is_other: bool,
}

/// Reason for which no more could be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SendEndReason {
    /// All available output was sent.
    Everything,
    CreditSpent,
    NotConnected,
}

/// Processes the kernel's file notifications.
pub(super) async fn run(shared: Arc<ActionEngineState>) {
    shared.live.watcher.run().await;
}

impl LiveOutputs {
    pub(super) fn start() -> std::io::Result<Self> {
        Ok(Self {
            watcher: DirectoryWatcher::start()?,
            by_id: Mutex::default(),
        })
    }

    /// Grants credit to a viewer, up to `until` bytes in total.
    pub(super) fn credit(
        &self,
        shared: &Arc<ActionEngineState>,
        id: &TransactionId,
        viewer: &PcpUri,
        until: u64,
    ) {
        let mut by_id = self.by_id();
        if let Some(live) = by_id.get(id).filter(|live| live.viewer == *viewer) {
            live.credit.send_if_modified(|credit| {
                let more = until > *credit;
                *credit = (*credit).max(until);
                more
            });
            return;
        }
        let active = shared.transactions.get(id);
        let entry = match &active {
            Some(active) => {
                active.keep_credit(viewer, until);
                // The task that sets the entry looks for kept credit afterwards, and this one looks
                // for the entry after keeping credit: one of the two sees both.
                if active.entry().is_none() || active.take_credit().is_none() {
                    return;
                }
                active.entry().cloned()
            }
            None => shared.spool.find(id),
        };
        let Some(entry) = entry else {
            tracing::debug!(transaction_id = %id, "credit for an output that is not there");
            return;
        };
        if by_id.len() >= MAX_LIVE_OUTPUTS {
            tracing::warn!(transaction_id = %id, "too many outputs are watched; this one is not");
            return;
        }
        let live = Arc::new(WatchedOutput {
            id: id.clone(),
            viewer: viewer.clone(),
            entry,
            active,
            credit: watch::Sender::new(until),
            sent: tokio::sync::Mutex::default(),
        });
        by_id.insert(id.clone(), Arc::clone(&live));
        shared.spawn(follow(Arc::clone(shared), live));
    }

    /// Sends the output that credit still allows, before the outcome overtakes it.
    pub(super) async fn flush(&self, shared: &Arc<ActionEngineState>, id: &TransactionId) {
        let live = self.by_id().get(id).cloned();
        if let Some(live) = live {
            live.pump(shared).await;
        }
    }

    fn by_id(&self) -> MutexGuard<'_, HashMap<TransactionId, Arc<WatchedOutput>>> {
        // Single inserts and removes: the table is consistent after a panic.
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends output as it grows, until the action ended and everything was sent.
async fn follow(shared: Arc<ActionEngineState>, live: Arc<WatchedOutput>) {
    let watched = shared.live.watcher.watch(live.entry.path());
    match watched {
        Ok(watched) => live.follow(&shared, &watched).await,
        Err(error) => tracing::warn!(transaction_id = %live.id, %error, "cannot watch the output"),
    }
    let mut by_id = shared.live.by_id();
    if by_id.get(&live.id).is_some_and(|it| Arc::ptr_eq(it, &live)) {
        by_id.remove(&live.id);
    }
}

impl WatchedOutput {
    async fn follow(&self, shared: &Arc<ActionEngineState>, watched: &DirectoryWatch) {
        let mut credit = self.credit.subscribe();
        let mut connected = shared.outbox.connected();
        loop {
            let ended = self.has_ended();
            credit.mark_unchanged();
            match self.pump(shared).await {
                SendEndReason::Everything if ended => return,
                SendEndReason::Everything => {
                    tokio::select! {
                        () = watched.wait_for_change() => tokio::time::sleep(OUTPUT_COALESCE).await,
                        () = self.ended() => {}
                    }
                }
                SendEndReason::CreditSpent => {
                    let more = tokio::time::timeout(OUTPUT_LINGER, credit.changed());
                    tokio::select! {
                        more = more => if ended && more.is_err() { return },
                        () = self.ended(), if !ended => {}
                    }
                }
                SendEndReason::NotConnected => {
                    if connected.wait_for(|connected| *connected).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.active.as_ref().is_none_or(|active| active.has_ended())
    }

    async fn ended(&self) {
        if let Some(active) = &self.active {
            active.wait_ended().await;
        }
    }

    /// Sends all available output that credit allows.
    async fn pump(&self, shared: &Arc<ActionEngineState>) -> SendEndReason {
        let mut sent = self.sent.lock().await;
        if sent.total() == 0 {
            sent.is_other = self.is_no_task().await;
        }
        for stream in [ProcessStream::Stdout, ProcessStream::Stderr] {
            loop {
                let allowed = self.credit.borrow().saturating_sub(sent.total());
                let limit = allowed.min(OUTPUT_CHUNK_BYTES as u64);
                let offset = *sent.of(stream);
                // One more byte shows if only credit is missing.
                let chunk = self.read(stream, offset, limit.max(1)).await;
                if chunk.is_empty() {
                    break;
                }
                if limit == 0 {
                    return SendEndReason::CreditSpent;
                }
                let mut whole = whole_characters(&chunk, self.has_ended() || limit < 4);
                let mut sensitive = sent.sensitive;
                if stream == ProcessStream::Stdout && !sent.is_other {
                    whole = sensitive.scan(&chunk[..whole]);
                }
                if whole == 0 {
                    break;
                }
                let output = OutputPiece {
                    transaction_id: self.id.clone(),
                    stream,
                    offset,
                    data: chunk.slice(..whole),
                };
                if shared
                    .outbox
                    .send(&self.viewer, PxpMessageBody::Output(output))
                    .await
                    .is_err()
                {
                    return SendEndReason::NotConnected;
                }
                *sent.of(stream) += whole as u64;
                sent.sensitive = sensitive;
            }
        }
        SendEndReason::Everything
    }

    async fn is_no_task(&self) -> bool {
        let entry = self.entry.clone();
        let record = run_blocking(move || entry.record()).await;
        record.is_ok_and(|record| record.module != TASK_MODULE)
    }

    async fn read(&self, stream: ProcessStream, offset: u64, limit: u64) -> bytes::Bytes {
        let entry = self.entry.clone();
        let read = run_blocking(move || entry.output(stream.as_str(), offset, limit)).await;
        // A file that cannot be read has no output to show; the outcome has the reason.
        read.unwrap_or_default().into()
    }
}

impl SentOutput {
    fn of(&mut self, stream: ProcessStream) -> &mut u64 {
        match stream {
            ProcessStream::Stdout => &mut self.stdout,
            ProcessStream::Stderr => &mut self.stderr,
        }
    }

    fn total(&self) -> u64 {
        self.stdout + self.stderr
    }
}

/// Number of bytes of a chunk that are sent now: a character cut at its end waits for its remaining
/// bytes, unless there are none.
fn whole_characters(chunk: &[u8], no_rest: bool) -> usize {
    match std::str::from_utf8(chunk) {
        Err(error) if error.error_len().is_none() && !no_rest => error.valid_up_to(),
        _ => chunk.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_character_waits_for_its_rest() {
        assert_eq!(whole_characters("aé".as_bytes(), false), 3);
        assert_eq!(whole_characters(&"aé".as_bytes()[..2], false), 1);
        assert_eq!(whole_characters(&"é".as_bytes()[..1], false), 0);
        assert_eq!(whole_characters(&"é".as_bytes()[..1], true), 1);
        assert_eq!(
            whole_characters(b"\xff\xfe", false),
            2,
            "no text at all: sent as it is"
        );
    }
}

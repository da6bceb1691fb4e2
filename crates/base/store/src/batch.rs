//! Requests that share a transaction.
//!
//! [`collect`] takes every waiting request, up to a bound. While one commit waits for the disk, the
//! next batch fills up, so no timer is needed.

use tokio::sync::mpsc;

use crate::StoreError;
use crate::defaults::{BATCH_BYTES, BATCH_STATEMENTS};
use crate::request::{WriteRequest, WriterMessage};
use crate::write::WriteResult;

/// The requests of one transaction.
#[derive(Default)]
pub(crate) struct WriteBatch {
    pub(crate) requests: Vec<WriteRequest>,
    /// True when the store is being closed.
    pub(crate) last: bool,
    statements: usize,
    bytes: usize,
}

/// Starts a batch with `first` and adds the requests that wait in the queue.
pub(crate) fn collect(
    first: WriterMessage,
    queue: &mut mpsc::Receiver<WriterMessage>,
) -> WriteBatch {
    let mut batch = WriteBatch::default();
    batch.push(first);
    while !batch.is_full() {
        match queue.try_recv() {
            Ok(message) => batch.push(message),
            Err(_) => break,
        }
    }
    batch
}

/// Sends each caller the result of its request.
pub(crate) fn send_results(requests: Vec<WriteRequest>, written: Vec<WriteResult>) {
    for (request, written) in requests.into_iter().zip(written) {
        // The receiver is gone if the caller stopped waiting.
        let _ = request.reply.send(Ok(written));
    }
}

/// Sends a caller the error; nothing of its request was written.
pub(crate) fn send_error(request: WriteRequest, error: StoreError) {
    tracing::warn!(%error, source = ?std::error::Error::source(&error), "a write failed");
    let _ = request.reply.send(Err(error));
}

impl WriteBatch {
    fn push(&mut self, message: WriterMessage) {
        match message {
            WriterMessage::Close => self.last = true,
            WriterMessage::Write(request) => {
                self.statements += request.write.weight();
                self.bytes += request.write.bytes();
                self.requests.push(request);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.statements >= BATCH_STATEMENTS || self.bytes >= BATCH_BYTES
    }
}

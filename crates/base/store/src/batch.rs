//! What shares a transaction.
//!
//! [`fill`] takes everything that waits, up to a bound: while one commit waits for the disk, the
//! next batch gathers by itself, so nobody waits for a timer.

use tokio::sync::mpsc;

use crate::StoreError;
use crate::defaults::{BATCH_BYTES, BATCH_STATEMENTS};
use crate::request::{Message, Request};
use crate::write::Written;

/// The requests of one transaction.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) requests: Vec<Request>,
    /// The store is being closed.
    pub(crate) last: bool,
    statements: usize,
    bytes: usize,
}

/// Starts with `first` and takes what waits in the queue.
pub(crate) fn fill(first: Message, queue: &mut mpsc::Receiver<Message>) -> Batch {
    let mut batch = Batch::default();
    batch.push(first);
    while !batch.is_full() {
        match queue.try_recv() {
            Ok(message) => batch.push(message),
            Err(_) => break,
        }
    }
    batch
}

/// Tells each caller what was written.
pub(crate) fn answer(requests: Vec<Request>, written: Vec<Written>) {
    for (request, written) in requests.into_iter().zip(written) {
        // A caller that does not wait any more has nothing to be told.
        let _ = request.reply.send(Ok(written));
    }
}

/// Tells a caller that nothing was.
pub(crate) fn fail(request: Request, error: StoreError) {
    tracing::warn!(%error, source = ?std::error::Error::source(&error), "a write failed");
    let _ = request.reply.send(Err(error));
}

impl Batch {
    fn push(&mut self, message: Message) {
        match message {
            Message::Close => self.last = true,
            Message::Write(request) => {
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

//! Messages to the writer of either engine.

use tokio::sync::oneshot;

use crate::StoreError;
use crate::write::{StoreWrite, WriteResult};

/// A message to the writer.
pub(crate) enum WriterMessage {
    Write(WriteRequest),
    /// Write the queued requests and end.
    Close,
}

/// A write and the caller that waits for it.
pub(crate) struct WriteRequest {
    pub(crate) write: StoreWrite,
    pub(crate) reply: oneshot::Sender<Result<WriteResult, StoreError>>,
}

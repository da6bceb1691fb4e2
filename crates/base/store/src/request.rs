//! Messages to the writer of either engine.

use tokio::sync::oneshot;

use crate::StoreError;
use crate::write::{Write, Written};

/// A message to the writer.
pub(crate) enum Message {
    Write(Request),
    /// Write the queued requests and end.
    Close,
}

/// A write and the caller that waits for it.
pub(crate) struct Request {
    pub(crate) write: Write,
    pub(crate) reply: oneshot::Sender<Result<Written, StoreError>>,
}

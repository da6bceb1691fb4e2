//! What the writer of either engine is handed.

use tokio::sync::oneshot;

use crate::StoreError;
use crate::write::{Write, Written};

/// What the writer gets.
pub(crate) enum Message {
    Write(Request),
    /// Write what is queued and end.
    Close,
}

/// A write and the caller that waits for it.
pub(crate) struct Request {
    pub(crate) write: Write,
    pub(crate) reply: oneshot::Sender<Result<Written, StoreError>>,
}

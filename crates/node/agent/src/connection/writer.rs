//! The writing side of a connection.
//!
//! [`SessionWriter`] writes frames from two queues. Invariants: control frames are written before
//! messages; nothing follows a close frame; a message counts as written when TLS and the kernel
//! have accepted all of it; and a peer that accepts no data for a long time is given up, regardless
//! of the message's size.

use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use ws::OutgoingFrame;

use super::control::ControlFrame;
use super::live_connection::QueuedPayload;
use super::protocol::OutgoingPayload;
use super::shared_keepalive::SharedKeepalive;
use crate::defaults;

/// Reason for which writing failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionWriteError {
    /// The socket or TLS failed.
    #[error("writing failed")]
    Io(#[from] std::io::Error),
    /// The peer read nothing for this long.
    #[error("the broker took no data for {} seconds", .0.as_secs())]
    Stalled(Duration),
}

/// The writing half and its queues.
pub(crate) struct SessionWriter<'a, W> {
    half: W,
    control: mpsc::Receiver<ControlFrame>,
    outgoing: mpsc::Receiver<QueuedPayload>,
    pulse: &'a SharedKeepalive,
}

// === impl SessionWriter ===

impl<'a, W: AsyncWrite + Unpin> SessionWriter<'a, W> {
    pub(crate) fn new(
        half: W,
        control: mpsc::Receiver<ControlFrame>,
        outgoing: mpsc::Receiver<QueuedPayload>,
        pulse: &'a SharedKeepalive,
    ) -> Self {
        Self {
            half,
            control,
            outgoing,
            pulse,
        }
    }

    /// Writes until a close frame has been written, or an error occurs.
    pub(crate) async fn run(mut self) -> Result<(), SessionWriteError> {
        loop {
            tokio::select! {
                // Pongs and the close frame first.
                biased;
                Some(control) = self.control.recv() => {
                    let is_close = matches!(control, ControlFrame::Close { .. });
                    self.control(control).await?;
                    if is_close {
                        return Ok(());
                    }
                }
                Some(outgoing) = self.outgoing.recv() => self.message(outgoing).await?,
                // The session holds senders of both queues.
                else => return Ok(()),
            }
        }
    }

    async fn control(&mut self, control: ControlFrame) -> Result<(), SessionWriteError> {
        let mut bytes = BytesMut::new();
        let mask = Some(rand::random());
        match &control {
            ControlFrame::Ping => ws::encode(OutgoingFrame::Ping(&[]), mask, &mut bytes),
            ControlFrame::Pong(payload) => {
                ws::encode(OutgoingFrame::Pong(payload), mask, &mut bytes)
            }
            ControlFrame::Close { code, reason } => {
                ws::encode(OutgoingFrame::Close(*code, reason), mask, &mut bytes);
            }
        }
        self.write(bytes).await?;
        if control == ControlFrame::Ping {
            self.pulse.record_ping_written();
        }
        Ok(())
    }

    async fn message(&mut self, outgoing: QueuedPayload) -> Result<(), SessionWriteError> {
        let mut bytes = BytesMut::new();
        let mask = Some(rand::random());
        match &outgoing.payload {
            OutgoingPayload::Text(text) => ws::encode(OutgoingFrame::Text(text), mask, &mut bytes),
            OutgoingPayload::Binary(binary) => {
                ws::encode(OutgoingFrame::Binary(binary), mask, &mut bytes)
            }
        }
        // The frame is a masked copy: one of the two has to be freed.
        drop(outgoing.payload);
        self.write(bytes).await?;
        if let Some(written) = outgoing.written {
            // The sender may have stopped waiting.
            let _ = written.send(());
        }
        Ok(())
    }

    async fn write(&mut self, mut bytes: BytesMut) -> Result<(), SessionWriteError> {
        let stalled = |_| SessionWriteError::Stalled(defaults::WRITE_STALL);
        while bytes.has_remaining() {
            let chunk = &bytes[..bytes.len().min(defaults::WRITE_CHUNK_BYTES)];
            let taken = timeout(defaults::WRITE_STALL, self.half.write(chunk))
                .await
                .map_err(stalled)??;
            if taken == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::WriteZero).into());
            }
            bytes.advance(taken);
        }
        timeout(defaults::WRITE_STALL, self.half.flush())
            .await
            .map_err(stalled)??;
        Ok(())
    }
}

//! Output of a command: a bounded part is kept for the result, and sent live within the engine's
//! credit.
//!
//! Main type: [`OutputCapture`]. Invariants: output that is not kept is counted and reported as
//! truncated; and live output never exceeds the credit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use pxp::action::ActionResult;
use pxp::{OutputPiece, ProcessStream, PxpMessageBody};
use tokio::sync::watch;

use crate::defaults::LIVE_PIECE_BYTES;
use crate::reply_sender::NodeReplySender;

/// Memory for the output of all runs together.
#[derive(Debug)]
pub(crate) struct OutputBudget {
    left: AtomicUsize,
}

/// The output of one command.
#[derive(Debug)]
pub(crate) struct OutputCapture {
    stdout: CapturedStream,
    stderr: CapturedStream,
    limit: usize,
    budget: Option<Arc<OutputBudget>>,
    live: Option<LiveOutputSender>,
}

#[derive(Debug, Default)]
struct CapturedStream {
    bytes: Vec<u8>,
    /// Bytes written, including those that are not kept.
    total: u64,
    /// True if output was left out; nothing after the gap is kept.
    cut: bool,
    /// Bytes that were sent live.
    sent: usize,
}

#[derive(Debug)]
struct LiveOutputSender {
    voice: NodeReplySender,
    /// Credit: total bytes of both streams that may be sent.
    credit: watch::Receiver<u64>,
}

// === impl OutputBudget ===

impl OutputBudget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            left: AtomicUsize::new(bytes),
        }
    }

    fn take(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

// === impl OutputCapture ===

impl OutputCapture {
    /// Captures the output of a preparatory step.
    pub(crate) fn for_step(limit: usize) -> Self {
        Self::new(limit, None, None)
    }

    /// Captures the output of the run itself, with live output.
    pub(crate) fn for_run(
        limit: usize,
        budget: Arc<OutputBudget>,
        voice: NodeReplySender,
        granted: watch::Receiver<u64>,
    ) -> Self {
        Self::new(
            limit,
            Some(budget),
            Some(LiveOutputSender {
                voice,
                credit: granted,
            }),
        )
    }

    fn new(
        limit: usize,
        budget: Option<Arc<OutputBudget>>,
        live: Option<LiveOutputSender>,
    ) -> Self {
        Self {
            stdout: CapturedStream::default(),
            stderr: CapturedStream::default(),
            limit,
            budget,
            live,
        }
    }

    pub(crate) fn append(&mut self, stream: ProcessStream, bytes: &[u8]) {
        let kept = match stream {
            ProcessStream::Stdout => &mut self.stdout,
            ProcessStream::Stderr => &mut self.stderr,
        };
        kept.total += bytes.len() as u64;
        let room = if kept.cut {
            0
        } else {
            self.limit - kept.bytes.len()
        };
        let piece = &bytes[..bytes.len().min(room)];
        let affords = self
            .budget
            .as_ref()
            .is_none_or(|budget| budget.take(piece.len()));
        if affords {
            kept.bytes.extend_from_slice(piece);
        }
        kept.cut |= !affords || piece.len() < bytes.len();
    }

    pub(crate) fn stdout(&self) -> &[u8] {
        &self.stdout.bytes
    }

    pub(crate) fn stderr(&self) -> &[u8] {
        &self.stderr.bytes
    }

    /// Waits until the credit grows; forever without live output.
    pub(crate) async fn wait_for_credit(&mut self) {
        let more = match &mut self.live {
            Some(live) => live.credit.changed().await.is_ok(),
            None => false,
        };
        if !more {
            std::future::pending::<()>().await;
        }
    }

    /// Sends the kept output, as far as the credit permits.
    pub(crate) async fn send_live(&mut self) {
        let Some(live) = &mut self.live else { return };
        let granted = *live.credit.borrow_and_update();
        for (stream, other) in [
            (ProcessStream::Stdout, ProcessStream::Stderr),
            (ProcessStream::Stderr, ProcessStream::Stdout),
        ] {
            let told_of_other = match other {
                ProcessStream::Stdout => self.stdout.sent,
                ProcessStream::Stderr => self.stderr.sent,
            };
            let kept = match stream {
                ProcessStream::Stdout => &mut self.stdout,
                ProcessStream::Stderr => &mut self.stderr,
            };
            loop {
                let told = (kept.sent + told_of_other) as u64;
                let room = usize::try_from(granted.saturating_sub(told)).unwrap_or(usize::MAX);
                let waiting = kept.bytes.len() - kept.sent;
                let piece = waiting.min(room).min(LIVE_PIECE_BYTES);
                if piece == 0 {
                    break;
                }
                let data = &kept.bytes[kept.sent..kept.sent + piece];
                let output = OutputPiece {
                    transaction_id: live.voice.transaction.clone(),
                    stream,
                    offset: kept.sent as u64,
                    data: Bytes::copy_from_slice(data),
                };
                live.voice.send(PxpMessageBody::Output(output)).await;
                kept.sent += piece;
            }
        }
    }

    /// Builds a result like an agent's.
    pub(crate) fn result(&mut self, exitcode: i64) -> ActionResult {
        let (stdout, stdout_base64) = self.stdout.text();
        let (stderr, stderr_base64) = self.stderr.text();
        ActionResult {
            exitcode,
            stdout,
            stderr,
            stdout_base64,
            stderr_base64,
            stdout_truncated: self.stdout.cut,
            stderr_truncated: self.stderr.cut,
            stdout_bytes: self.stdout.cut.then_some(self.stdout.total),
            stderr_bytes: self.stderr.cut.then_some(self.stderr.total),
            ..ActionResult::default()
        }
    }
}

impl Drop for OutputCapture {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.give_back(self.stdout.bytes.len() + self.stderr.bytes.len());
        }
    }
}

// === impl CapturedStream ===

impl CapturedStream {
    /// The output as text, and as Base64 too if it is not UTF-8. A character that the cut split is
    /// left out.
    fn text(&self) -> (Option<String>, Option<String>) {
        let mut bytes = self.bytes.as_slice();
        if bytes.is_empty() {
            return (None, None);
        }
        if self.cut
            && let Err(error) = std::str::from_utf8(bytes)
            && error.error_len().is_none()
        {
            bytes = &bytes[..error.valid_up_to()];
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => {
                let lossy = String::from_utf8_lossy(bytes).into_owned();
                (Some(lossy), Some(BASE64.encode(bytes)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_said_and_nothing_behind_it_is_kept() {
        let mut capture = OutputCapture::for_step(5);
        capture.append(ProcessStream::Stdout, b"abc");
        capture.append(ProcessStream::Stdout, b"\xc3\xa4\xc3\xa4");
        capture.append(ProcessStream::Stdout, b"x");
        let result = capture.result(0);
        assert_eq!(result.stdout.as_deref(), Some("abcä"));
        assert!(result.stdout_truncated);
        assert_eq!(result.stdout_bytes, Some(8));
        assert_eq!(result.stdout_base64, None);
        assert_eq!((result.stderr, result.stderr_truncated), (None, false));
    }

    #[test]
    fn a_character_that_was_halved_by_the_cut_makes_no_binary() {
        let mut capture = OutputCapture::for_step(4);
        capture.append(ProcessStream::Stderr, b"abc\xc3\xa4");
        assert_eq!(capture.result(1).stderr.as_deref(), Some("abc"));
        let mut capture = OutputCapture::for_step(9);
        capture.append(ProcessStream::Stderr, b"\xff");
        let result = capture.result(1);
        assert_eq!(result.stderr_base64.as_deref(), Some("/w=="));
    }

    #[test]
    fn runs_share_the_room_and_give_it_back() {
        let budget = Arc::new(OutputBudget::new(4));
        let capture = || OutputCapture::new(100, Some(Arc::clone(&budget)), None);
        let (mut one, mut two) = (capture(), capture());
        one.append(ProcessStream::Stdout, b"abc");
        two.append(ProcessStream::Stdout, b"de");
        assert!(two.result(0).stdout_truncated);
        drop((one, two));
        assert!(budget.take(4));
    }
}

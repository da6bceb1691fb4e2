//! Sends queued commands to PuppetDB: [`CommandForwarder`].
//!
//! Invariant: after a failure the queue is kept and tried again after a pause that grows up to a
//! limit; a command that PuppetDB refuses does not stop those behind it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use inventory::{Inventory, PuppetDbCommand, QueryError};
use jiff::Timestamp;
use store::{PuppetDbCommandRow, StoreError};
use tokio_util::sync::CancellationToken;

use super::queue::CommandQueue;
use crate::defaults::{
    BACKOFF_FIRST, BACKOFF_LAST, NODES_AT_ONCE, QUEUE_CHECK, QUEUE_PAGE, QUEUE_PAGE_BYTES,
};

/// The task that empties the queue.
pub(crate) struct CommandForwarder {
    pub(crate) queue: Arc<CommandQueue>,
    pub(crate) inventory: Inventory,
    pub(crate) stopped: CancellationToken,
}

/// The end of a round over a page of the queue.
enum ForwardingRound {
    /// The queue is empty.
    Empty,
    /// PuppetDB took or refused every command of the page.
    Answered,
    /// PuppetDB did not answer.
    Unanswered(QueryError),
}

/// The result of sending one command.
enum CommandResult {
    Taken,
    Refused(QueryError),
    Unanswered(QueryError),
}

// === impl CommandForwarder ===

impl CommandForwarder {
    /// Runs until the server stops. Commands that are being sent then stay in the queue.
    pub(crate) async fn run(self) {
        tokio::select! {
            () = self.stopped.cancelled() => {}
            () = self.forward() => {}
        }
    }

    async fn forward(&self) {
        let mut failures = 0_u32;
        loop {
            let pause = match self.send_page().await {
                Ok(ForwardingRound::Answered) => {
                    failures = 0;
                    self.queue.record_error(None);
                    continue;
                }
                Ok(ForwardingRound::Empty) => QUEUE_CHECK,
                Ok(ForwardingRound::Unanswered(error)) => {
                    if failures == 0 {
                        tracing::warn!(%error, "data for PuppetDB waits in the database until it answers");
                    }
                    self.queue.record_error(Some(error.to_string()));
                    failures = failures.saturating_add(1);
                    retry_pause(failures)
                }
                Err(error) => {
                    tracing::warn!(%error, "the queue for PuppetDB cannot be read; trying again");
                    failures = failures.saturating_add(1);
                    retry_pause(failures)
                }
            };
            if let Err(error) = self.queue.enforce_bounds().await {
                tracing::warn!(%error, "the queue for PuppetDB cannot be shortened; trying again");
            }
            match failures {
                // A new command is sent at once.
                0 => {
                    let news = self.queue.news.notified();
                    // Not an error: the check of the bounds is due.
                    let _ = tokio::time::timeout(pause, news).await;
                }
                _ => tokio::time::sleep(pause).await,
            }
        }
    }

    async fn send_page(&self) -> Result<ForwardingRound, StoreError> {
        let store = self.queue.store();
        let rows = store
            .puppetdb_commands(i64::MIN, QUEUE_PAGE, QUEUE_PAGE_BYTES)
            .await?;
        if rows.is_empty() {
            return Ok(ForwardingRound::Empty);
        }
        let mut by_node: HashMap<String, Vec<PuppetDbCommandRow>> = HashMap::new();
        for row in rows {
            by_node.entry(row.certname.clone()).or_default().push(row);
        }
        let is_away = AtomicBool::new(false);
        let nodes = by_node.into_values();
        let nodes: Vec<_> = nodes
            .map(|rows| self.send_of_node(rows, &is_away))
            .collect();
        let mut answers = stream::iter(nodes).buffer_unordered(NODES_AT_ONCE);
        let (mut done, mut unanswered) = (Vec::new(), None);
        while let Some((positions, error)) = answers.next().await {
            done.extend(positions);
            unanswered = unanswered.or(error);
        }
        drop(answers);
        store.delete_puppetdb_commands(&done).await?;
        self.queue.update_gauges().await?;
        Ok(match unanswered {
            Some(error) => ForwardingRound::Unanswered(error),
            None => ForwardingRound::Answered,
        })
    }

    /// Sends the commands of a node in their order, until one is not answered. Returns the
    /// positions of the answered ones.
    async fn send_of_node(
        &self,
        rows: Vec<PuppetDbCommandRow>,
        is_away: &AtomicBool,
    ) -> (Vec<i64>, Option<QueryError>) {
        let mut done = Vec::with_capacity(rows.len());
        for row in rows {
            if is_away.load(Ordering::Relaxed) {
                break;
            }
            let (position, certname) = (row.position, row.certname.clone());
            match self.send(row).await {
                CommandResult::Taken => {
                    self.queue.metrics.sent.inc();
                }
                CommandResult::Refused(error) => {
                    self.queue.metrics.refused.inc();
                    tracing::error!(certname, %error, "PuppetDB refuses data of a node; it is dropped");
                }
                CommandResult::Unanswered(error) => {
                    is_away.store(true, Ordering::Relaxed);
                    return (done, Some(error));
                }
            }
            done.push(position);
        }
        (done, None)
    }

    async fn send(&self, row: PuppetDbCommandRow) -> CommandResult {
        let certname = match row.certname.parse() {
            Ok(certname) => certname,
            Err(error) => return CommandResult::Refused(QueryError::BadCertname(error)),
        };
        let command = PuppetDbCommand {
            name: row.command,
            version: row.version,
            certname,
            produced: Timestamp::from_millisecond(row.queued_ms).unwrap_or_default(),
            payload_gzip: row.payload,
        };
        match self.inventory.submit_command(&command).await {
            Ok(()) => CommandResult::Taken,
            Err(error) if is_refusal(&error) => CommandResult::Refused(error),
            Err(error) => CommandResult::Unanswered(error),
        }
    }
}

/// Returns `true` if PuppetDB will never take the command.
fn is_refusal(error: &QueryError) -> bool {
    match error {
        QueryError::QueryInvalid { .. } => true,
        // 413: the command is larger than PuppetDB takes.
        QueryError::Refused { status, .. } => *status == 413,
        _ => false,
    }
}

/// The pause after `failures` in a row, 1 or more.
fn retry_pause(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    BACKOFF_FIRST
        .saturating_mul(1 << doublings)
        .min(BACKOFF_LAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        let pauses: Vec<u64> = (1..=8).map(|n| retry_pause(n).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(retry_pause(u32::MAX), BACKOFF_LAST);
    }
}

//! Live output: credit for agents to send it, and its way to the readers.
//!
//! Invariant: an agent gets credit only while there is a reader, and more of it only as the fastest
//! reader takes output; so a reader's pace reaches the task's node, and a slower reader beside it
//! is notified of the output that it missed.

use std::collections::HashMap;
use std::sync::Arc;

use pcp::Certname;
use pxp::{AgentCapabilities, ProcessStream, PxpMessageBody};
use store::JobNumber;

use super::active_jobs::{OutputProgress, RunPhase};
use super::outgoing::OutgoingMessage;
use super::state::JobEngine;
use crate::defaults::{LIVE_QUEUE_BYTES, LIVE_SUBSCRIBERS, LIVE_WINDOW_MAX, LIVE_WINDOW_MIN};
use crate::keys::{JobKey, RunKey};
use crate::live::{self, LiveFeed, OutputChunk, OutputTaken};

// === impl JobEngine ===

impl JobEngine {
    /// Adds a reader. `None`: the job is over, or has the maximum number of readers.
    pub(super) fn watch(&mut self, number: JobNumber) -> Option<LiveFeed> {
        let window = self.credit_window();
        let reports = self.deps.reports.clone();
        let (key, job) = self.active_jobs.by_number(number)?;
        job.watchers.retain(|watcher| !watcher.is_gone());
        if job.watchers.len() >= LIVE_SUBSCRIBERS {
            tracing::warn!(job = %number, "too many live readers; this one gets the events alone");
            return None;
        }
        let (watcher, feed) = live::channel(key, job.commits.subscribe(), reports, window / 2);
        job.watchers.push(watcher);
        let outgoing = self.build_credits(key, |_| true);
        self.send(outgoing);
        Some(feed)
    }

    /// A reader has taken output: its agents get credit for as much more.
    pub(super) fn handle_taken(&mut self, taken: &OutputTaken) {
        let window = self.credit_window();
        let mut outgoing = Vec::new();
        for (key, passed) in &taken.runs {
            let Some(flying) = self.active_jobs.dispatched_mut(*key) else {
                continue;
            };
            // Half a window is worth a message.
            if passed + window >= flying.output.granted + window / 2 {
                outgoing.extend(self.credit_up_to(*key, passed + window));
            }
        }
        if taken.lagged {
            outgoing.extend(self.build_credits(taken.job, OutputProgress::has_received_all));
        }
        self.send(outgoing);
    }

    /// Credit for a run, if there is a reader.
    pub(super) fn build_credit(&mut self, key: RunKey) -> Option<OutgoingMessage> {
        let job = self.active_jobs.jobs.get(&key.job)?;
        if job.watchers.iter().all(live::OutputWatcher::is_gone) {
            return None;
        }
        let window = self.credit_window();
        let came = self
            .active_jobs
            .dispatched_mut(key)?
            .output
            .received_bytes();
        self.credit_up_to(key, came + window)
    }

    /// Credit for every run of the job in flight whose output `wants` it.
    fn build_credits(
        &mut self,
        key: JobKey,
        wants: impl Fn(OutputProgress) -> bool,
    ) -> Vec<OutgoingMessage> {
        let Some(job) = self.active_jobs.jobs.get(&key) else {
            return Vec::new();
        };
        let flying = |(index, run): (usize, &super::active_jobs::ActiveRun)| match &run.phase {
            RunPhase::Dispatched(flying) if wants(flying.output) => {
                Some((RunKey { job: key, index }, flying.output.received_bytes()))
            }
            _ => None,
        };
        let runs: Vec<(RunKey, u64)> = job.runs.iter().enumerate().filter_map(flying).collect();
        let window = self.credit_window();
        runs.into_iter()
            .filter_map(|(key, came)| self.credit_up_to(key, came + window))
            .collect()
    }

    /// Credit up to `until`. `None` also before the request is handed over; the credit is requested
    /// again then.
    fn credit_up_to(&mut self, key: RunKey, until: u64) -> Option<OutgoingMessage> {
        if !self.capabilities(key)?.live_output {
            return None;
        }
        let flying = self
            .active_jobs
            .dispatched_mut(key)
            .filter(|flying| flying.handed_over)?;
        let output = &mut flying.output;
        output.granted = output.granted.max(until);
        let until = output.granted;
        let run = self.active_jobs.run(key)?;
        let transaction_id = run.transaction.clone();
        let body = PxpMessageBody::OutputCredit {
            transaction_id,
            until,
        };
        Some(OutgoingMessage::without_request(
            self.message_about(run, body),
        ))
    }

    /// Handles a piece of output from an agent.
    pub(super) fn handle_output(&mut self, certname: &Certname, output: pxp::OutputPiece) {
        let key = self.active_jobs.by_transaction(&output.transaction_id);
        let Some(key) = self.find_run(certname, key) else {
            return;
        };
        let Some(flying) = self.active_jobs.dispatched_mut(key) else {
            return;
        };
        let len = output.data.len() as u64;
        let Some(passed) = flying
            .output
            .accept_piece(output.stream, output.offset, len)
        else {
            self.deps.metrics.unasked_output.inc();
            return;
        };
        let mut sensitive = flying.output.sensitive;
        let Some(job) = self.active_jobs.jobs.get_mut(&key.job) else {
            return;
        };
        job.watchers.retain(|watcher| !watcher.is_gone());
        let mut bytes = output.data;
        if job.kind.is_task() && output.stream == ProcessStream::Stdout {
            // The agent does the same, but it may be an older or a stock one.
            bytes.truncate(sensitive.scan(&bytes));
        }
        if bytes.is_empty() && len > 0 {
            // Nothing is left for readers to take, and the other stream must go on.
            return self.handle_taken(&OutputTaken {
                job: key.job,
                runs: HashMap::from([(key, passed)]),
                lagged: false,
            });
        }
        let chunk = OutputChunk {
            run: key,
            certname: certname.clone(),
            stream: output.stream,
            offset: output.offset,
            bytes,
            passed,
        };
        for watcher in &job.watchers {
            watcher.push(chunk.clone());
        }
        if let Some(flying) = self.active_jobs.dispatched_mut(key) {
            flying.output.sensitive = sensitive;
        }
    }

    /// Capabilities of the agent of a run, if it is connected and not a stock agent.
    pub(super) fn capabilities(&self, key: RunKey) -> Option<Arc<AgentCapabilities>> {
        let run = self.active_jobs.run(key)?;
        self.presence_of(run)?.capabilities
    }

    pub(super) fn has_acknowledgements(&self, key: RunKey) -> bool {
        self.capabilities(key)
            .is_some_and(|capabilities| capabilities.acknowledged_results)
    }

    /// Number of bytes that one agent may be ahead of the readers: the queue, divided by the runs
    /// in flight.
    fn credit_window(&self) -> u64 {
        let share = LIVE_QUEUE_BYTES / self.deps.task_concurrency.max(1) as u64;
        share.clamp(LIVE_WINDOW_MIN, LIVE_WINDOW_MAX)
    }
}

// === impl OutputProgress ===

impl OutputProgress {
    /// Bytes of both streams that were received or skipped.
    fn received_bytes(self) -> u64 {
        self.next[0].saturating_add(self.next[1])
    }

    fn has_received_all(self) -> bool {
        self.received_bytes() >= self.granted
    }

    /// Accepts a piece; returns the bytes of both streams up to its end, or `None` if it is a
    /// duplicate or was sent without credit.
    fn accept_piece(&mut self, stream: ProcessStream, offset: u64, len: u64) -> Option<u64> {
        let next = &mut self.next[match stream {
            ProcessStream::Stdout => 0,
            ProcessStream::Stderr => 1,
        }];
        let (before, end) = (*next, offset.checked_add(len)?);
        if offset < before {
            return None;
        }
        *next = end;
        if self.received_bytes() > self.granted {
            self.next[match stream {
                ProcessStream::Stdout => 0,
                ProcessStream::Stderr => 1,
            }] = before;
            return None;
        }
        Some(self.received_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_granted_is_taken_and_nothing_twice() {
        let mut output = OutputProgress {
            next: [0, 0],
            granted: 10,
            ..OutputProgress::default()
        };
        assert_eq!(output.accept_piece(ProcessStream::Stdout, 0, 4), Some(4));
        assert_eq!(
            output.accept_piece(ProcessStream::Stdout, 0, 4),
            None,
            "a duplicate"
        );
        assert_eq!(output.accept_piece(ProcessStream::Stderr, 0, 6), Some(10));
        assert_eq!(
            output.accept_piece(ProcessStream::Stdout, 4, 1),
            None,
            "beyond the leave"
        );
        output.granted = 11;
        assert_eq!(output.accept_piece(ProcessStream::Stdout, 4, 1), Some(11));
        assert_eq!(
            output.accept_piece(ProcessStream::Stdout, u64::MAX, 1),
            None
        );
    }
}

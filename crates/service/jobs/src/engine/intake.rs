//! Messages from the nodes: each is matched with the engine's own state before it has an effect.
//!
//! Invariant: a message counts only if its sender is the node of the run (or ping) that it names;
//! every other message is counted and changes nothing.

use std::sync::Arc;

use fabric::InboundMessage;
use pcp::{Certname, PcpMessage};
use pki::seal::SealKey;
use pxp::action::{self, ActionResult, StatusResult};
use pxp::{PxpMessageBody, PxpResponse, RpcError, TransactionId};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::late_outcomes::FinalReport;
use super::state::{JobEngine, ShapedOutcome};
use crate::defaults::INLINE_RESULT_BYTES;
use crate::download::NodeDownload;
use crate::in_flight::{AgentStatus, StatusStep, UnknownReason};
use crate::keys::RunKey;
use crate::kind::JobKind;
use crate::outcome::{self, OutcomeContext, RunOutcome};
use crate::over_ssh::NodeTransport;
use crate::trace::RunTrace;
use crate::verdict::RunVerdict;

/// Two forms of the same report.
enum ResultReport {
    Outcome(Box<RawValue>),
    Status(Box<ActionResult>),
}

// === impl JobEngine ===

impl JobEngine {
    pub(super) fn handle_inbound(&mut self, inbound: InboundMessage) {
        let InboundMessage { message, certname } = inbound;
        let has_replaced_bytes = message.has_replaced_bytes;
        if message.message_type == pcp::types::ERROR_MESSAGE {
            return self.handle_error_message(&certname, &message);
        }
        match PxpMessageBody::decode(&message.message_type, message.data.as_deref()) {
            Ok(PxpMessageBody::ProvisionalResponse { transaction_id }) => {
                self.handle_provisional(&certname, &transaction_id);
            }
            Ok(PxpMessageBody::NonBlockingResponse(response)) => {
                self.handle_outcome(&certname, response, has_replaced_bytes);
            }
            Ok(PxpMessageBody::BlockingResponse(response)) => {
                self.handle_answer(&certname, response, has_replaced_bytes);
            }
            Ok(PxpMessageBody::Error(error)) => self.handle_rpc_error(&certname, &error),
            Ok(PxpMessageBody::Output(output)) => self.handle_output(&certname, output),
            Ok(other) => self.ignore(&certname, other.message_type()),
            Err(error) => {
                tracing::debug!(%certname, %error, "unreadable message");
                self.deps.metrics.ignored_messages.inc();
            }
        }
    }

    fn ignore(&self, certname: &Certname, what: &str) {
        tracing::debug!(%certname, what, "message that no run waits for");
        self.deps.metrics.ignored_messages.inc();
    }

    /// The run of a transaction, if it is on this node.
    pub(super) fn find_run(&self, certname: &Certname, key: Option<RunKey>) -> Option<RunKey> {
        let key = key?;
        if self.active_jobs.run(key)?.certname == *certname {
            return Some(key);
        }
        tracing::warn!(%certname, "a node spoke for a run of another node; ignored");
        self.deps.metrics.forged_messages.inc();
        None
    }

    fn handle_provisional(&mut self, certname: &Certname, transaction: &TransactionId) {
        let key = self.find_run(certname, self.active_jobs.by_transaction(transaction));
        let Some(key) = key else { return };
        if let Some(flying) = self.active_jobs.dispatched_mut(key) {
            flying
                .flight
                .record_accepted(Instant::now(), &self.deps.poll_settings);
        }
        self.trace(key, RunTrace::record_accepted);
    }

    fn handle_outcome(
        &mut self,
        certname: &Certname,
        response: PxpResponse,
        has_replaced_bytes: bool,
    ) {
        let Some(key) = self.active_jobs.by_transaction(&response.transaction_id) else {
            let said = FinalReport::Result(response.results);
            return self.look_up(certname, response.transaction_id, said);
        };
        if self.find_run(certname, Some(key)).is_some() {
            let report = ResultReport::Outcome(response.results);
            self.handle_report(key, report, has_replaced_bytes);
        }
    }

    /// Handles an answer to a blocking request of a caller, or to a status query.
    fn handle_answer(
        &mut self,
        certname: &Certname,
        response: PxpResponse,
        has_replaced_bytes: bool,
    ) {
        let transaction = &response.transaction_id;
        let results = Ok(&*response.results);
        if self
            .deps
            .blocking_requests
            .deliver_answer(transaction, certname, results)
        {
            return;
        }
        let Some(key) = self.find_run(certname, self.active_jobs.by_query(transaction)) else {
            return self.ignore(certname, "blocking response");
        };
        match action::decode::<StatusResult>(&response.results) {
            Ok(result) => self.handle_status(key, result, has_replaced_bytes),
            Err(error) => tracing::warn!(%certname, %error, "unreadable answer to a status query"),
        }
    }

    fn handle_status(&mut self, key: RunKey, mut result: StatusResult, has_replaced_bytes: bool) {
        if let Some(words) = result.undetermined.take() {
            return self.handle_undetermined(key, words);
        }
        let status = match result.status {
            action::TransactionStatus::Running => AgentStatus::Running,
            action::TransactionStatus::Unknown => AgentStatus::Unknown {
                spool_id: result.spool_id,
            },
            action::TransactionStatus::Success | action::TransactionStatus::Failure => {
                AgentStatus::Ended
            }
        };
        let Some(flying) = self.active_jobs.dispatched_mut(key) else {
            return;
        };
        match flying
            .flight
            .handle_status(Instant::now(), status, &self.deps.poll_settings)
        {
            StatusStep::Wait => {}
            StatusStep::Record => {
                self.handle_ended_status(key, result.into_result(), has_replaced_bytes);
            }
            StatusStep::Unknown(why) => {
                let over_ssh = self
                    .active_jobs
                    .run(key)
                    .is_some_and(|run| run.via == NodeTransport::Ssh);
                let why = if over_ssh {
                    UnknownReason::OverSsh
                } else {
                    why
                };
                self.give_up_unless_claimed(key, &RunVerdict::Unknown(why));
            }
            StatusStep::Resend => {
                let outgoing = self.resend_request(key);
                if outgoing.is_some() {
                    self.deps.metrics.requests_resent.inc();
                }
                self.send(outgoing.into_iter().collect());
            }
        }
    }

    /// Handles a status answer that the action ended. `None`: without an exit code, which a stock
    /// agent leaves out when its record of it is unreadable.
    fn handle_ended_status(
        &mut self,
        key: RunKey,
        outcome: Option<ActionResult>,
        has_replaced_bytes: bool,
    ) {
        if let Some(verdict) = self.status_verdict(key, outcome.as_ref()) {
            return self.give_up_reported(key, &verdict);
        }
        let outcome = outcome.unwrap_or(ActionResult {
            exitcode: 1,
            ..ActionResult::default()
        });
        let report = ResultReport::Status(Box::new(outcome));
        self.handle_report(key, report, has_replaced_bytes);
    }

    fn handle_report(&mut self, key: RunKey, report: ResultReport, has_replaced_bytes: bool) {
        let Some(known) = self.outcome_context(key) else {
            return;
        };
        let known = OutcomeContext {
            has_replaced_bytes,
            ..known
        };
        let Some(kind) = self.active_jobs.jobs.get(&key.job).map(|job| job.kind) else {
            return;
        };
        let as_task = self.active_jobs.run(key).is_some_and(|run| run.as_task);
        let keep = self.secrets_seal_key(key);
        let Some(flying) = self.active_jobs.dispatched_mut(key) else {
            return;
        };
        if flying.shaping {
            return;
        }
        self.trace(key, RunTrace::record_outcome);
        if kind == JobKind::Puppet {
            let results = match report {
                ResultReport::Outcome(raw) => Arc::from(raw.get()),
                ResultReport::Status(result) => Arc::from(action::encode(&*result).get()),
            };
            return self.handle_puppet_result(key, results, known);
        }
        let size = match &report {
            ResultReport::Outcome(raw) => raw.get().len(),
            ResultReport::Status(result) => result.stdout.as_ref().map_or(0, String::len),
        };
        let landing = self.node_download(key);
        // Files are written on a blocking thread, which may wait for the disk.
        if size <= INLINE_RESULT_BYTES && landing.is_none() {
            let acknowledge = self.has_acknowledgements(key);
            let shaped = shape((kind, as_task), &report, known, keep.as_deref());
            return self.record_outcome(key, shaped, acknowledge);
        }
        if let Some(flying) = self.active_jobs.dispatched_mut(key) {
            flying.shaping = true;
        }
        self.shaping.spawn_blocking(move || ShapedOutcome {
            run: key,
            shaped: match landing {
                Some(landing) => shape_download(&landing, &report, known),
                None => shape((kind, as_task), &report, known, keep.as_deref()),
            },
        });
    }

    /// Destination of a download.
    fn node_download(&self, key: RunKey) -> Option<NodeDownload> {
        let action = self
            .active_jobs
            .jobs
            .get(&key.job)?
            .dispatch
            .action
            .as_ref()?;
        let place = Arc::clone(action.place.as_ref()?);
        let certname = self.active_jobs.run(key)?.certname.clone();
        Some(NodeDownload {
            directory: place,
            certname,
        })
    }

    pub(super) fn record_shaped(&mut self, outcome: ShapedOutcome) {
        let acknowledge = self.has_acknowledgements(outcome.run);
        self.record_outcome(outcome.run, outcome.shaped, acknowledge);
    }

    /// The key that seals the secret values that the run's task returns, if a reader for them
    /// exists.
    fn secrets_seal_key(&self, key: RunKey) -> Option<Arc<SealKey>> {
        let job = self.active_jobs.jobs.get(&key.job)?;
        job.dispatch
            .keeps_secrets
            .then(|| Arc::clone(&self.deps.seal))
    }

    pub(super) fn outcome_context(&mut self, key: RunKey) -> Option<OutcomeContext> {
        let job = self.active_jobs.jobs.get(&key.job)?;
        let timeout_seconds = job.dispatch.timeout().as_secs();
        let stock_agent = self.capabilities(key).is_none();
        let cancelling = self.active_jobs.dispatched_mut(key)?.flight.cancel_reason();
        Some(OutcomeContext {
            stock_agent,
            cancelling,
            timeout_seconds,
            has_replaced_bytes: false,
        })
    }

    /// Handles an agent's report that it cannot, or could not, carry out a request.
    fn handle_rpc_error(&mut self, certname: &Certname, error: &RpcError) {
        let transaction = &error.transaction_id;
        let words = error.description.as_str();
        if self
            .deps
            .blocking_requests
            .deliver_answer(transaction, certname, Err(words))
        {
            return;
        }
        if let Some(key) = self.active_jobs.by_transaction(transaction) {
            if self.find_run(certname, Some(key)).is_some() {
                self.handle_run_error(key, words);
            }
        } else if let Some(key) = self.active_jobs.by_cancel(certname, transaction) {
            self.handle_cancel_refused(key);
        } else if let Some(key) = self.active_jobs.by_query(transaction) {
            if self.find_run(certname, Some(key)).is_some() {
                tracing::warn!(%certname, words, "the agent refused a status query");
                self.settle_by_claim(key);
            }
        } else {
            let said = FinalReport::Error(words.to_owned());
            self.look_up(certname, transaction.clone(), said);
        }
    }

    /// Handles an agent's answer that it has an entry of the run whose end cannot be known.
    fn handle_undetermined(&mut self, key: RunKey, words: String) {
        if self
            .active_jobs
            .dispatched_mut(key)
            .is_some_and(|flying| !flying.shaping)
        {
            let via = self
                .active_jobs
                .run(key)
                .map_or(NodeTransport::Agent, |run| run.via);
            self.give_up_reported(key, &RunVerdict::Undetermined { words, via });
        }
    }

    /// Handles an error of a broker, or of the agent's PCP layer, about one of our messages.
    fn handle_error_message(&mut self, certname: &Certname, message: &PcpMessage) {
        let key = message
            .in_reply_to
            .and_then(|id| self.active_jobs.by_message(id));
        let from_broker = message
            .sender
            .as_ref()
            .is_some_and(|sender| sender.is_broker() || sender.client_type() == pcp::SERVER_TYPE);
        let key = if from_broker {
            key
        } else {
            self.find_run(certname, key)
        };
        let Some(key) = key else {
            return self.ignore(certname, "error message");
        };
        let words = message
            .data
            .as_deref()
            .and_then(|data| serde_json::from_str::<String>(data.get()).ok())
            .unwrap_or_else(|| "an error without words".to_owned());
        self.handle_run_pcp_error(key, from_broker, &words);
    }
}

fn shape_download(
    landing: &NodeDownload,
    report: &ResultReport,
    known: OutcomeContext,
) -> RunOutcome {
    match report {
        ResultReport::Status(result) => landing.shape(result, known),
        ResultReport::Outcome(raw) => match action::decode::<ActionResult>(raw) {
            Ok(result) => landing.shape(&result, known),
            Err(error) => outcome::shape_unreadable(&error.to_string()),
        },
    }
}

fn shape(
    (kind, as_task): (JobKind, bool),
    report: &ResultReport,
    known: OutcomeContext,
    keep: Option<&SealKey>,
) -> RunOutcome {
    match report {
        ResultReport::Status(result) => kind.shape(as_task, result, known, keep),
        ResultReport::Outcome(raw) => match action::decode::<ActionResult>(raw) {
            Ok(result) => kind.shape(as_task, &result, known, keep),
            Err(error) => outcome::shape_unreadable(&error.to_string()),
        },
    }
}

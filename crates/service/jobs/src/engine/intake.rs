//! Messages from the nodes: each is matched with the engine's own state before it has an effect.
//!
//! Invariant: a message counts only if its sender is the node of the run (or ping) that it names;
//! every other message is counted and changes nothing.

use std::sync::Arc;

use fabric::Inbound;
use pcp::{Certname, Message};
use pki::seal::SealKey;
use pxp::action::{self, ActionResult, StatusResult};
use pxp::{Body, Response, RpcError, TransactionId};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::late_outcomes::Said;
use super::state::{Engine, ShapedOutcome};
use crate::defaults::INLINE_RESULT_BYTES;
use crate::download::Landing;
use crate::flight::{Next, Status, WhyUnknown};
use crate::keys::RunKey;
use crate::kind::Kind;
use crate::metrics::count;
use crate::outcome::{self, Circumstances, Shaped};
use crate::over_ssh::Via;
use crate::trace::RunTrace;
use crate::verdict::Verdict;

/// Two forms of the same report.
enum Report {
    Outcome(Box<RawValue>),
    Status(Box<ActionResult>),
}

// === impl Engine ===

impl Engine {
    pub(super) fn intake(&mut self, inbound: Inbound) {
        let Inbound { message, certname } = inbound;
        let has_replaced_bytes = message.has_replaced_bytes;
        if message.message_type == pcp::types::ERROR_MESSAGE {
            return self.error_message(&certname, &message);
        }
        match Body::decode(&message.message_type, message.data.as_deref()) {
            Ok(Body::ProvisionalResponse { transaction_id }) => {
                self.provisional(&certname, &transaction_id);
            }
            Ok(Body::NonBlockingResponse(response)) => {
                self.outcome(&certname, response, has_replaced_bytes);
            }
            Ok(Body::BlockingResponse(response)) => {
                self.answer(&certname, response, has_replaced_bytes);
            }
            Ok(Body::Error(error)) => self.rpc_error(&certname, &error),
            Ok(Body::Output(output)) => self.output(&certname, output),
            Ok(other) => self.ignore(&certname, other.message_type()),
            Err(error) => {
                tracing::debug!(%certname, %error, "unreadable message");
                count(&self.parts.metrics.ignored_messages);
            }
        }
    }

    fn ignore(&self, certname: &Certname, what: &str) {
        tracing::debug!(%certname, what, "message that nobody waits for");
        count(&self.parts.metrics.ignored_messages);
    }

    /// The run of a transaction, if it is on this node.
    pub(super) fn run_of(&self, certname: &Certname, key: Option<RunKey>) -> Option<RunKey> {
        let key = key?;
        if self.book.run(key)?.certname == *certname {
            return Some(key);
        }
        tracing::warn!(%certname, "a node spoke for a run of another node; ignored");
        count(&self.parts.metrics.forged_messages);
        None
    }

    fn provisional(&mut self, certname: &Certname, transaction: &TransactionId) {
        let key = self.run_of(certname, self.book.by_transaction(transaction));
        let Some(key) = key else { return };
        if let Some(flying) = self.book.flying(key) {
            flying.flight.accepted(Instant::now(), &self.parts.patience);
        }
        self.trace(key, RunTrace::accepted);
    }

    fn outcome(&mut self, certname: &Certname, response: Response, has_replaced_bytes: bool) {
        let Some(key) = self.book.by_transaction(&response.transaction_id) else {
            let said = Said::Result(response.results);
            return self.look_up(certname, response.transaction_id, said);
        };
        if self.run_of(certname, Some(key)).is_some() {
            let report = Report::Outcome(response.results);
            self.report(key, report, has_replaced_bytes);
        }
    }

    /// Handles an answer to a blocking request of a caller, or to a status query.
    fn answer(&mut self, certname: &Certname, response: Response, has_replaced_bytes: bool) {
        let transaction = &response.transaction_id;
        let results = Ok(&*response.results);
        if self.parts.asks.answered(transaction, certname, results) {
            return;
        }
        let Some(key) = self.run_of(certname, self.book.by_query(transaction)) else {
            return self.ignore(certname, "blocking response");
        };
        match action::decode::<StatusResult>(&response.results) {
            Ok(result) => self.status(key, result, has_replaced_bytes),
            Err(error) => tracing::warn!(%certname, %error, "unreadable answer to a status query"),
        }
    }

    fn status(&mut self, key: RunKey, mut result: StatusResult, has_replaced_bytes: bool) {
        if let Some(words) = result.undetermined.take() {
            return self.told_undetermined(key, words);
        }
        let status = match result.status {
            action::Status::Running => Status::Running,
            action::Status::Unknown => Status::Unknown {
                spool_id: result.spool_id,
            },
            action::Status::Success | action::Status::Failure => Status::Ended,
        };
        let Some(flying) = self.book.flying(key) else {
            return;
        };
        match flying
            .flight
            .answer(Instant::now(), status, &self.parts.patience)
        {
            Next::Wait => {}
            Next::Record => {
                self.ended_by_status(key, result.into_result(), has_replaced_bytes);
            }
            Next::Unknown(why) => {
                let over_ssh = self.book.run(key).is_some_and(|run| run.via == Via::Ssh);
                let why = if over_ssh { WhyUnknown::OverSsh } else { why };
                self.give_up_unless_claimed(key, &Verdict::Unknown(why));
            }
            Next::Resend => {
                let outgoing = self.request_again(key);
                if outgoing.is_some() {
                    count(&self.parts.metrics.requests_resent);
                }
                self.send(outgoing.into_iter().collect());
            }
        }
    }

    /// Handles a status answer that the action ended. `None`: without an exit code, which a stock
    /// agent leaves out when its record of it is unreadable.
    fn ended_by_status(
        &mut self,
        key: RunKey,
        outcome: Option<ActionResult>,
        has_replaced_bytes: bool,
    ) {
        if let Some(verdict) = self.verdict_of_status(key, outcome.as_ref()) {
            return self.give_up_as_told(key, &verdict);
        }
        let outcome = outcome.unwrap_or(ActionResult {
            exitcode: 1,
            ..ActionResult::default()
        });
        let report = Report::Status(Box::new(outcome));
        self.report(key, report, has_replaced_bytes);
    }

    fn report(&mut self, key: RunKey, report: Report, has_replaced_bytes: bool) {
        let Some(known) = self.circumstances(key) else {
            return;
        };
        let known = Circumstances {
            has_replaced_bytes,
            ..known
        };
        let Some(kind) = self.book.jobs.get(&key.job).map(|job| job.kind) else {
            return;
        };
        let as_task = self.book.run(key).is_some_and(|run| run.as_task);
        let keep = self.keeps_secrets(key);
        let Some(flying) = self.book.flying(key) else {
            return;
        };
        if flying.shaping {
            return;
        }
        self.trace(key, RunTrace::told);
        if kind == Kind::Puppet {
            let results = match report {
                Report::Outcome(raw) => Arc::from(raw.get()),
                Report::Status(result) => Arc::from(action::encode(&*result).get()),
            };
            return self.puppet_ran(key, results, known);
        }
        let size = match &report {
            Report::Outcome(raw) => raw.get().len(),
            Report::Status(result) => result.stdout.as_ref().map_or(0, String::len),
        };
        let landing = self.landing(key);
        // Files are written on a blocking thread, which may wait for the disk.
        if size <= INLINE_RESULT_BYTES && landing.is_none() {
            let acknowledge = self.acknowledges(key);
            let shaped = shape((kind, as_task), &report, known, keep.as_deref());
            return self.record(key, shaped, acknowledge);
        }
        if let Some(flying) = self.book.flying(key) {
            flying.shaping = true;
        }
        self.shaping.spawn_blocking(move || ShapedOutcome {
            run: key,
            shaped: match landing {
                Some(landing) => landed(&landing, &report, known),
                None => shape((kind, as_task), &report, known, keep.as_deref()),
            },
        });
    }

    /// Destination of a download.
    fn landing(&self, key: RunKey) -> Option<Landing> {
        let action = self.book.jobs.get(&key.job)?.action.as_ref()?;
        let place = Arc::clone(action.place.as_ref()?);
        let certname = self.book.run(key)?.certname.clone();
        Some(Landing { place, certname })
    }

    pub(super) fn shaped(&mut self, outcome: ShapedOutcome) {
        let acknowledge = self.acknowledges(outcome.run);
        self.record(outcome.run, outcome.shaped, acknowledge);
    }

    /// The key that seals the secret values that the run's task returns, if a reader for them
    /// exists.
    fn keeps_secrets(&self, key: RunKey) -> Option<Arc<SealKey>> {
        let job = self.book.jobs.get(&key.job)?;
        job.keeps_secrets.then(|| Arc::clone(&self.parts.seal))
    }

    pub(super) fn circumstances(&mut self, key: RunKey) -> Option<Circumstances> {
        let timeout_seconds = self.book.jobs.get(&key.job)?.timeout.as_secs();
        let stock_agent = self.capabilities(key).is_none();
        let cancelling = self.book.flying(key)?.flight.cancelling();
        Some(Circumstances {
            stock_agent,
            cancelling,
            timeout_seconds,
            has_replaced_bytes: false,
        })
    }

    /// Handles an agent's report that it cannot, or could not, carry out a request.
    fn rpc_error(&mut self, certname: &Certname, error: &RpcError) {
        let transaction = &error.transaction_id;
        let words = error.description.as_str();
        if self.parts.asks.answered(transaction, certname, Err(words)) {
            return;
        }
        if let Some(key) = self.book.by_transaction(transaction) {
            if self.run_of(certname, Some(key)).is_some() {
                self.told_error(key, words);
            }
        } else if let Some(key) = self.book.by_cancel(certname, transaction) {
            self.cannot_cancel(key);
        } else if let Some(key) = self.book.by_query(transaction) {
            if self.run_of(certname, Some(key)).is_some() {
                tracing::warn!(%certname, words, "the agent refused a status query");
                self.settle_by_claim(key);
            }
        } else {
            let said = Said::Error(words.to_owned());
            self.look_up(certname, transaction.clone(), said);
        }
    }

    /// Handles an agent's answer that it has an entry of the run whose end cannot be known.
    fn told_undetermined(&mut self, key: RunKey, words: String) {
        if self.book.flying(key).is_some_and(|flying| !flying.shaping) {
            let via = self.book.run(key).map_or(Via::Agent, |run| run.via);
            self.give_up_as_told(key, &Verdict::Undetermined { words, via });
        }
    }

    /// Handles an error of a broker, or of the agent's PCP layer, about one of our messages.
    fn error_message(&mut self, certname: &Certname, message: &Message) {
        let key = message.in_reply_to.and_then(|id| self.book.by_message(id));
        let from_broker = message
            .sender
            .as_ref()
            .is_some_and(|sender| sender.is_broker() || sender.client_type() == pcp::SERVER_TYPE);
        let key = if from_broker {
            key
        } else {
            self.run_of(certname, key)
        };
        let Some(key) = key else {
            return self.ignore(certname, "error message");
        };
        let words = message
            .data
            .as_deref()
            .and_then(|data| serde_json::from_str::<String>(data.get()).ok())
            .unwrap_or_else(|| "an error without words".to_owned());
        self.told_pcp_error(key, from_broker, &words);
    }
}

fn landed(landing: &Landing, report: &Report, known: Circumstances) -> Shaped {
    match report {
        Report::Status(result) => landing.shape(result, known),
        Report::Outcome(raw) => match action::decode::<ActionResult>(raw) {
            Ok(result) => landing.shape(&result, known),
            Err(error) => outcome::unreadable(&error.to_string()),
        },
    }
}

fn shape(
    (kind, as_task): (Kind, bool),
    report: &Report,
    known: Circumstances,
    keep: Option<&SealKey>,
) -> Shaped {
    match report {
        Report::Status(result) => kind.shape(as_task, result, known, keep),
        Report::Outcome(raw) => match action::decode::<ActionResult>(raw) {
            Ok(result) => kind.shape(as_task, &result, known, keep),
            Err(error) => outcome::unreadable(&error.to_string()),
        },
    }
}

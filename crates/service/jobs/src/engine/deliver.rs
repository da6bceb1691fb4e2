//! Delivery of durable requests to the nodes.
//!
//! Invariants: a request is built here alone, from a run whose mark is durable; the run gets the
//! result of handing it to the fabric; and nothing about a run (query, credit, cancel) is sent
//! before its request is handed over, since it might overtake it.

use std::sync::OnceLock;
use std::time::Duration;

use fabric::FabricSendError;
use futures_util::StreamExt;
use futures_util::stream;
use pcp::{Certname, PcpMessage, PcpUri};
use pxp::action::{self, CancelParams, StatusParams};
use pxp::{PxpMessageBody, PxpRequest, TransactionId};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::active_jobs::{ActiveRun, RunPhase};
use super::outgoing::{OutgoingMessage, RequestDelivery};
use super::state::JobEngine;
use crate::defaults::SENDS;
use crate::file_server::FileServer;
use crate::in_flight::InFlightRun;
use crate::keys::RunKey;
use crate::over_ssh::NodeTransport;
use crate::stock_limits::refusal_reason;
use crate::tally::StopSeverity;
use crate::verdict::RunVerdict;

// === impl JobEngine ===

impl JobEngine {
    /// Hands messages to the brokers, in a task of their own.
    pub(super) fn send(&mut self, outgoing: Vec<OutgoingMessage>) {
        if outgoing.is_empty() {
            return;
        }
        let fabric = self.deps.fabric.clone();
        self.sending.spawn(async move {
            let deliver = |outgoing: OutgoingMessage| {
                let fabric = fabric.clone();
                async move {
                    let result = fabric.send(outgoing.message).await;
                    outgoing
                        .request_of
                        .map(|run| RequestDelivery { run, result })
                }
            };
            stream::iter(outgoing.into_iter().map(deliver))
                .buffer_unordered(SENDS)
                .filter_map(std::future::ready)
                .collect()
                .await
        });
    }

    /// Handles the result of handing requests to the fabric.
    pub(super) fn handle_deliveries(&mut self, requests: Vec<RequestDelivery>) {
        let mut outgoing = Vec::new();
        for RequestDelivery { run, result } in requests {
            match result {
                Ok(()) => outgoing.extend(self.queued_messages(run)),
                Err(error) => self.handle_undelivered(run, error),
            }
        }
        self.send(outgoing);
    }

    /// The messages that had to wait for the request.
    fn queued_messages(&mut self, key: RunKey) -> Vec<OutgoingMessage> {
        let Some(flying) = self.active_jobs.dispatched_mut(key) else {
            return Vec::new();
        };
        flying.handed_over = true;
        let cancelling = flying.flight.cancel_reason().is_some();
        let cancel = if cancelling {
            self.build_cancel(key)
        } else {
            None
        };
        cancel.into_iter().chain(self.build_credit(key)).collect()
    }

    fn handle_undelivered(&mut self, key: RunKey, error: FabricSendError) {
        let stopping = self.is_stopping(key);
        let Some(flying) = self.active_jobs.dispatched_mut(key) else {
            return;
        };
        let resent = flying.flight.was_resent();
        match error {
            FabricSendError::NotConnected(_) if !resent => {
                self.give_up(key, &RunVerdict::NotConnected)
            }
            FabricSendError::NotConnected(_) | FabricSendError::Busy(_) if stopping => {
                self.give_up(key, &self.not_started_verdict(key.job));
            }
            // The node answered a moment ago; it is awaited like any other that went away.
            FabricSendError::NotConnected(_) => flying.flight.postpone(),
            FabricSendError::Busy(_) => {
                if !flying.flight.record_busy() {
                    self.give_up(key, &RunVerdict::Busy);
                }
            }
            FabricSendError::BadTarget(words) | FabricSendError::Refused(words) => {
                self.give_up(key, &RunVerdict::Refused(words));
            }
        }
    }

    /// The request of a run whose mark is durable, unless the job was stopped meanwhile.
    pub(super) fn handle_marked(&mut self, key: RunKey, ours: bool) -> Option<OutgoingMessage> {
        self.deps.metrics.runs_started.inc();
        let job = self.active_jobs.jobs.get(&key.job)?;
        let RunPhase::Marking { spool_id } = job.runs[key.index].phase else {
            return None;
        };
        if job.tally.stop_severity() != StopSeverity::No {
            self.give_up(key, &self.not_started_verdict(key.job));
            return None;
        }
        let (now, timeout) = (Instant::now(), job.dispatch.timeout());
        let patience = &self.deps.poll_settings;
        if !ours {
            tracing::error!(job = %job.number, "a run was marked by another process already; its \
                state is queried, it is not sent");
            let flight = InFlightRun::from_recovered(now, Duration::ZERO, timeout, None, patience);
            self.active_jobs.mark_dispatched(key, flight);
            self.active_jobs.dispatched_mut(key)?.handed_over = true;
            return None;
        }
        self.active_jobs
            .mark_dispatched(key, InFlightRun::new(now, timeout, spool_id, patience));
        self.build_request(key)
    }

    /// The request again, after nothing of it has reached the node, unless the job was stopped
    /// meanwhile.
    pub(super) fn resend_request(&mut self, key: RunKey) -> Option<OutgoingMessage> {
        if self.is_stopping(key) {
            self.give_up(key, &self.not_started_verdict(key.job));
            return None;
        }
        self.build_request(key)
    }

    pub(super) fn is_stopping(&self, key: RunKey) -> bool {
        let job = self.active_jobs.jobs.get(&key.job);
        job.is_some_and(|job| job.tally.stop_severity() != StopSeverity::No)
    }

    /// The request of a run in flight.
    pub(super) fn build_request(&mut self, key: RunKey) -> Option<OutgoingMessage> {
        let job = self.active_jobs.jobs.get(&key.job)?;
        let run = job.runs.get(key.index)?;
        let Some(action) = &job.dispatch.action else {
            self.give_up(key, &RunVerdict::Unreadable);
            return None;
        };
        let task = action.task.as_deref().filter(|_| run.as_task);
        let (module, name, params) = match task {
            Some(task) => ("task", "run", &*task.params),
            None => (&*action.module, &*action.action, &*action.params),
        };
        if run.via == NodeTransport::Agent && self.is_stock(run) {
            let refusal = action
                .stock
                .refusal
                .get_or_init(|| refusal_reason(module, params));
            if let Some(words) = refusal.clone() {
                self.give_up(key, &RunVerdict::Refused(words));
                return None;
            }
        }
        let made = match task {
            Some(_) => &action.stock.task,
            None => &action.stock.action,
        };
        let common = match run.via {
            NodeTransport::Agent => self.params_for(run, params, made),
            NodeTransport::Ssh => params,
        };
        let Ok(own) = action.node_params.merge(&run.certname, name, common) else {
            self.give_up(key, &RunVerdict::Unreadable);
            return None;
        };
        let params = own.unwrap_or_else(|| common.to_owned());
        let body = PxpMessageBody::NonBlockingRequest(PxpRequest {
            transaction_id: run.transaction.clone(),
            module: module.to_owned(),
            action: name.to_owned(),
            params: match run.via {
                NodeTransport::Agent => params,
                NodeTransport::Ssh => action
                    .over_ssh
                    .params_with_connection(&run.certname, &params),
            },
            notify_outcome: Some(true),
            extended: self.accepts_extended(run),
            file_servers: self.file_servers_for(run),
        });
        let presence = self.presence_of(run);
        let message = self.message_about(run, body);
        if let (Some(presence), Some(flying)) = (presence, self.active_jobs.dispatched_mut(key)) {
            let capabilities = presence.capabilities;
            flying
                .flight
                .record_sent_to(capabilities.and_then(|known| known.spool_id));
        }
        self.active_jobs.record_message(key, message.id);
        Some(OutgoingMessage {
            request_of: Some(key),
            message,
        })
    }

    /// `Some(true)` for an agent that takes the member `extended`; for others the member is left out.
    fn accepts_extended(&self, run: &ActiveRun) -> Option<bool> {
        let capabilities = self.presence_of(run)?.capabilities?;
        capabilities.extended_requests.then_some(true)
    }

    /// The file servers, for an agent that takes the member `file_servers`.
    fn file_servers_for(&self, run: &ActiveRun) -> Vec<String> {
        let capabilities = self.presence_of(run).and_then(|it| it.capabilities);
        let takes = capabilities.is_some_and(|known| known.file_servers);
        let server = self.deps.file_server.as_ref().filter(|_| takes);
        server.map(FileServer::url).into_iter().collect()
    }

    /// True if the agent of a run announces no extensions: a pxp-agent, or an agent behind a stock
    /// broker.
    fn is_stock(&self, run: &ActiveRun) -> bool {
        let presence = self.presence_of(run);
        presence.is_some_and(|it| it.capabilities.is_none())
    }

    /// The parameters for the agent of a run.
    fn params_for<'p>(
        &self,
        run: &ActiveRun,
        params: &'p RawValue,
        made: &'p OnceLock<Box<RawValue>>,
    ) -> &'p RawValue {
        let server = self.deps.file_server.as_ref();
        match server.filter(|_| self.is_stock(run)) {
            Some(server) => server.stock_params(params, made),
            None => params,
        }
    }

    /// A status query to the agent of a run.
    pub(super) fn build_query(&mut self, key: RunKey) -> Option<OutgoingMessage> {
        if !self.active_jobs.dispatched_mut(key)?.handed_over {
            return None;
        }
        let run = self.active_jobs.run(key)?;
        let query = TransactionId::random();
        let params = StatusParams {
            transaction_id: run.transaction.clone(),
        };
        let body = PxpMessageBody::BlockingRequest(PxpRequest {
            transaction_id: query.clone(),
            module: "status".to_owned(),
            action: "query".to_owned(),
            params: action::encode(&params),
            notify_outcome: None,
            extended: self.accepts_extended(run),
            file_servers: Vec::new(),
        });
        let message = self.message_about(run, body);
        self.active_jobs.record_query(key, query);
        self.deps.metrics.status_queries.inc();
        Some(OutgoingMessage::without_request(message))
    }

    /// A request to cancel a run's action; it is sent once the run's own request has been handed
    /// over.
    pub(super) fn build_cancel(&mut self, key: RunKey) -> Option<OutgoingMessage> {
        if !self.active_jobs.dispatched_mut(key)?.handed_over {
            return None;
        }
        let run = self.active_jobs.run(key)?;
        // Not `force`: the agent asks the processes to end before it kills them.
        let (transaction_id, force) = (run.transaction.clone(), false);
        if self.capabilities(key).is_some() {
            let body = PxpMessageBody::Cancel {
                transaction_id,
                force,
            };
            return Some(OutgoingMessage::without_request(
                self.message_about(run, body),
            ));
        }
        // Behind a stock pcp-broker, which forwards neither announcements nor types of ours.
        let id = TransactionId::random();
        let params = CancelParams {
            transaction_id,
            force,
        };
        let body = PxpMessageBody::BlockingRequest(PxpRequest {
            transaction_id: id.clone(),
            module: action::TUTTI_MODULE.to_owned(),
            action: action::CANCEL_ACTION.to_owned(),
            params: action::encode(&params),
            notify_outcome: None,
            extended: None,
            file_servers: Vec::new(),
        });
        let message = self.message_about(run, body);
        self.active_jobs.dispatched_mut(key)?.cancel = Some(id);
        Some(OutgoingMessage::without_request(message))
    }

    /// The acknowledgement that a run's outcome is durable.
    pub(super) fn run_acknowledgement(&self, key: RunKey) -> Option<OutgoingMessage> {
        let run = self.active_jobs.run(key)?;
        let body = PxpMessageBody::OutcomeAck {
            transaction_id: run.transaction.clone(),
        };
        Some(OutgoingMessage::without_request(
            self.message_about(run, body),
        ))
    }

    pub(super) fn build_acknowledgement(
        &self,
        certname: &Certname,
        transaction: TransactionId,
    ) -> OutgoingMessage {
        let body = PxpMessageBody::OutcomeAck {
            transaction_id: transaction,
        };
        OutgoingMessage::without_request(self.build_message(certname, body))
    }

    pub(super) fn build_message(&self, certname: &Certname, body: PxpMessageBody) -> PcpMessage {
        body.into_message(PcpUri::agent(certname), self.deps.fabric.address().clone())
    }
}

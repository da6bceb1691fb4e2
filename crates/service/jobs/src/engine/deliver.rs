//! Delivery of durable requests to the nodes.
//!
//! Invariants: a request is built here alone, from a run whose mark is durable; the run gets the
//! result of handing it to the fabric; and nothing about a run (query, credit, cancel) is sent
//! before its request is handed over, since it might overtake it.

use std::sync::OnceLock;
use std::time::Duration;

use fabric::SendError;
use futures_util::StreamExt;
use futures_util::stream;
use pcp::{Certname, Message, PcpUri};
use pxp::action::{self, CancelParams, StatusParams};
use pxp::{Body, Request, TransactionId};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::book::{Phase, Run};
use super::outgoing::{HandedOver, Outgoing};
use super::state::Engine;
use crate::defaults::SENDS;
use crate::file_server::FileServer;
use crate::flight::Flight;
use crate::keys::RunKey;
use crate::metrics::count;
use crate::over_ssh::Via;
use crate::stock_limits::refusal;
use crate::tally::Stop;
use crate::verdict::Verdict;

// === impl Engine ===

impl Engine {
    /// Hands messages to the brokers, in a task of their own.
    pub(super) fn send(&mut self, outgoing: Vec<Outgoing>) {
        if outgoing.is_empty() {
            return;
        }
        let fabric = self.parts.fabric.clone();
        self.sending.spawn(async move {
            let deliver = |outgoing: Outgoing| {
                let fabric = fabric.clone();
                async move {
                    let result = fabric.send(outgoing.message).await;
                    outgoing.request_of.map(|run| HandedOver { run, result })
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
    pub(super) fn delivered(&mut self, requests: Vec<HandedOver>) {
        let mut outgoing = Vec::new();
        for HandedOver { run, result } in requests {
            match result {
                Ok(()) => outgoing.extend(self.handed_over(run)),
                Err(error) => self.not_delivered(run, error),
            }
        }
        self.send(outgoing);
    }

    /// The messages that had to wait for the request.
    fn handed_over(&mut self, key: RunKey) -> Vec<Outgoing> {
        let Some(flying) = self.book.flying(key) else {
            return Vec::new();
        };
        flying.handed_over = true;
        let cancelling = flying.flight.cancelling().is_some();
        let cancel = if cancelling { self.cancel(key) } else { None };
        cancel.into_iter().chain(self.credit(key)).collect()
    }

    fn not_delivered(&mut self, key: RunKey, error: SendError) {
        let stopping = self.is_stopping(key);
        let Some(flying) = self.book.flying(key) else {
            return;
        };
        let resent = flying.flight.was_resent();
        match error {
            SendError::NotConnected(_) if !resent => self.give_up(key, &Verdict::NotConnected),
            SendError::NotConnected(_) | SendError::Busy(_) if stopping => {
                self.give_up(key, &self.not_started(key.job));
            }
            // The node answered a moment ago; it is awaited like any other that went away.
            SendError::NotConnected(_) => flying.flight.postpone(),
            SendError::Busy(_) => {
                if !flying.flight.busy() {
                    self.give_up(key, &Verdict::Busy);
                }
            }
            SendError::BadTarget(words) | SendError::Refused(words) => {
                self.give_up(key, &Verdict::Refused(words));
            }
        }
    }

    /// The request of a run whose mark is durable, unless the job was stopped meanwhile.
    pub(super) fn marked(&mut self, key: RunKey, ours: bool) -> Option<Outgoing> {
        count(&self.parts.metrics.runs_started);
        let job = self.book.jobs.get(&key.job)?;
        let Phase::Marking { spool_id } = job.runs[key.index].phase else {
            return None;
        };
        if job.tally.stopping() != Stop::No {
            self.give_up(key, &self.not_started(key.job));
            return None;
        }
        let (now, timeout) = (Instant::now(), job.timeout);
        let patience = &self.parts.patience;
        if !ours {
            tracing::error!(job = %job.number, "a run was marked by somebody else already; it is \
                asked about, not sent");
            let flight = Flight::recovered(now, Duration::ZERO, timeout, None, patience);
            self.book.take_off(key, flight);
            self.book.flying(key)?.handed_over = true;
            return None;
        }
        self.book
            .take_off(key, Flight::new(now, timeout, spool_id, patience));
        self.request(key)
    }

    /// The request again, after nothing of it has reached the node, unless the job was stopped
    /// meanwhile.
    pub(super) fn request_again(&mut self, key: RunKey) -> Option<Outgoing> {
        if self.is_stopping(key) {
            self.give_up(key, &self.not_started(key.job));
            return None;
        }
        self.request(key)
    }

    pub(super) fn is_stopping(&self, key: RunKey) -> bool {
        let job = self.book.jobs.get(&key.job);
        job.is_some_and(|job| job.tally.stopping() != Stop::No)
    }

    /// The request of a run in flight.
    pub(super) fn request(&mut self, key: RunKey) -> Option<Outgoing> {
        let job = self.book.jobs.get(&key.job)?;
        let run = job.runs.get(key.index)?;
        let Some(action) = &job.action else {
            self.give_up(key, &Verdict::Unreadable);
            return None;
        };
        let task = action.task.as_deref().filter(|_| run.as_task);
        let (module, name, params) = match task {
            Some(task) => ("task", "run", &*task.params),
            None => (&*action.module, &*action.action, &*action.params),
        };
        if run.via == Via::Agent && self.is_stock(run) {
            let refusal = action.stock.refusal.get_or_init(|| refusal(module, params));
            if let Some(words) = refusal.clone() {
                self.give_up(key, &Verdict::Refused(words));
                return None;
            }
        }
        let made = match task {
            Some(_) => &action.stock.task,
            None => &action.stock.action,
        };
        let body = Body::NonBlockingRequest(Request {
            transaction_id: run.transaction.clone(),
            module: module.to_owned(),
            action: name.to_owned(),
            params: match run.via {
                Via::Agent => RawValue::to_owned(self.params_for(run, params, made)),
                Via::Ssh => action.over_ssh.told(&run.certname, params),
            },
            notify_outcome: Some(true),
            extended: self.takes_extended(run),
            file_servers: self.file_servers_for(run),
        });
        let presence = self.presence_of(run);
        let message = self.message_about(run, body);
        if let (Some(presence), Some(flying)) = (presence, self.book.flying(key)) {
            let capabilities = presence.capabilities;
            flying
                .flight
                .sent_to(capabilities.and_then(|known| known.spool_id));
        }
        self.book.sent_as(key, message.id);
        Some(Outgoing {
            request_of: Some(key),
            message,
        })
    }

    /// `Some(true)` for an agent that takes the member `extended`; for others the member is left out.
    fn takes_extended(&self, run: &Run) -> Option<bool> {
        let capabilities = self.presence_of(run)?.capabilities?;
        capabilities.extended_requests.then_some(true)
    }

    /// The file servers, for an agent that takes the member `file_servers`.
    fn file_servers_for(&self, run: &Run) -> Vec<String> {
        let capabilities = self.presence_of(run).and_then(|it| it.capabilities);
        let takes = capabilities.is_some_and(|known| known.file_servers);
        let server = self.parts.file_server.as_ref().filter(|_| takes);
        server.map(FileServer::url).into_iter().collect()
    }

    /// True if the agent of a run announces no extensions: a pxp-agent, or an agent behind a stock
    /// broker.
    fn is_stock(&self, run: &Run) -> bool {
        let presence = self.presence_of(run);
        presence.is_some_and(|it| it.capabilities.is_none())
    }

    /// The parameters for the agent of a run.
    fn params_for<'p>(
        &self,
        run: &Run,
        params: &'p RawValue,
        made: &'p OnceLock<Box<RawValue>>,
    ) -> &'p RawValue {
        let server = self.parts.file_server.as_ref();
        match server.filter(|_| self.is_stock(run)) {
            Some(server) => server.for_stock(params, made),
            None => params,
        }
    }

    /// A status query to the agent of a run.
    pub(super) fn query(&mut self, key: RunKey) -> Option<Outgoing> {
        if !self.book.flying(key)?.handed_over {
            return None;
        }
        let run = self.book.run(key)?;
        let query = TransactionId::random();
        let params = StatusParams {
            transaction_id: run.transaction.clone(),
        };
        let body = Body::BlockingRequest(Request {
            transaction_id: query.clone(),
            module: "status".to_owned(),
            action: "query".to_owned(),
            params: action::encode(&params),
            notify_outcome: None,
            extended: self.takes_extended(run),
            file_servers: Vec::new(),
        });
        let message = self.message_about(run, body);
        self.book.asked_as(key, query);
        count(&self.parts.metrics.status_queries);
        Some(Outgoing::one(message))
    }

    /// A request to cancel a run's action; it is sent once the run's own request has been handed
    /// over.
    pub(super) fn cancel(&mut self, key: RunKey) -> Option<Outgoing> {
        if !self.book.flying(key)?.handed_over {
            return None;
        }
        let run = self.book.run(key)?;
        // Not `force`: the agent asks the processes to end before it kills them.
        let (transaction_id, force) = (run.transaction.clone(), false);
        if self.capabilities(key).is_some() {
            let body = Body::Cancel {
                transaction_id,
                force,
            };
            return Some(Outgoing::one(self.message_about(run, body)));
        }
        // Behind a stock pcp-broker, which forwards neither announcements nor types of ours.
        let id = TransactionId::random();
        let params = CancelParams {
            transaction_id,
            force,
        };
        let body = Body::BlockingRequest(Request {
            transaction_id: id.clone(),
            module: action::TUTTI_MODULE.to_owned(),
            action: action::CANCEL_ACTION.to_owned(),
            params: action::encode(&params),
            notify_outcome: None,
            extended: None,
            file_servers: Vec::new(),
        });
        let message = self.message_about(run, body);
        self.book.flying(key)?.cancel = Some(id);
        Some(Outgoing::one(message))
    }

    /// The acknowledgement that a run's outcome is durable.
    pub(super) fn acknowledgement(&self, key: RunKey) -> Option<Outgoing> {
        let run = self.book.run(key)?;
        let body = Body::OutcomeAck {
            transaction_id: run.transaction.clone(),
        };
        Some(Outgoing::one(self.message_about(run, body)))
    }

    pub(super) fn acknowledge(&self, certname: &Certname, transaction: TransactionId) -> Outgoing {
        let body = Body::OutcomeAck {
            transaction_id: transaction,
        };
        Outgoing::one(self.message(certname, body))
    }

    pub(super) fn message(&self, certname: &Certname, body: Body) -> Message {
        body.into_message(PcpUri::agent(certname), self.parts.fabric.address().clone())
    }
}

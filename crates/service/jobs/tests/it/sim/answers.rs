//! What simulated agents answer.
//!
//! Invariant: an action that an agent starts is counted once in the ledger, whatever the agent says of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fabric::{BrokerPort, FabricSendError};
use pcp::{Certname, PcpMessage, PcpUri};
use pxp::action::{self, ActionResult, StatusParams, StatusResult, TransactionStatus};
use pxp::{
    OutputPiece, ProcessStream, PxpMessageBody, PxpRequest, PxpResponse, RpcError, TransactionId,
};
use rand::RngExt;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{Agent, Entry, Inner, LeaseLie, Manner, lock};

// === impl Inner ===

impl Inner {
    pub(super) fn port(&self) -> Option<Arc<BrokerPort>> {
        lock(&self.port).clone()
    }

    pub(super) fn with<T>(&self, certname: &Certname, what: impl FnOnce(&mut Agent) -> T) -> T {
        what(lock(&self.agents).get_mut(certname).expect("a known agent"))
    }

    pub(super) fn manner(&self, certname: &Certname) -> Manner {
        self.with(certname, |agent| agent.manner.clone())
    }

    pub(super) fn happens(&self, percent: u32) -> bool {
        percent > 0 && lock(&self.chance).random_range(0..100) < percent
    }

    pub(super) fn deliver(self: &Arc<Self>, message: PcpMessage) -> Result<(), FabricSendError> {
        let target = message.target.clone().unwrap();
        let certname: Certname = target.common_name().parse().unwrap();
        if !self.with(&certname, |agent| agent.connected) {
            return Err(FabricSendError::NotConnected(certname));
        }
        let unread = self.with(&certname, |agent| match &mut agent.unread {
            Some(unread) => {
                unread.push(message.clone());
                true
            }
            None => false,
        });
        if unread {
            return Ok(());
        }
        let body = PxpMessageBody::decode(&message.message_type, message.data.as_deref()).unwrap();
        let manner = self.manner(&certname);
        if let PxpMessageBody::NonBlockingRequest(request) = body {
            return self.request(certname, &manner, request, &message);
        }
        if manner.mute {
            return Ok(());
        }
        match body {
            PxpMessageBody::BlockingRequest(request) => self.blocking(certname, &manner, request),
            PxpMessageBody::OutcomeAck { transaction_id } => {
                self.entry(&certname, &transaction_id, |entry| {
                    entry.acknowledged = true;
                })
            }
            PxpMessageBody::OutputCredit {
                transaction_id,
                until,
            } => {
                self.entry(&certname, &transaction_id, |entry| {
                    // Credits may overtake each other; the largest holds, as with agents.
                    entry
                        .credit
                        .send_modify(|granted| *granted = until.max(*granted));
                });
            }
            PxpMessageBody::Cancel { transaction_id, .. } if !manner.stubborn => {
                self.entry(&certname, &transaction_id, |entry| {
                    _ = entry.cancelled.send_replace(true)
                });
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn entry(
        &self,
        certname: &Certname,
        id: &TransactionId,
        what: impl FnOnce(&mut Entry),
    ) {
        self.with(certname, |agent| agent.spool.get_mut(id).map(what));
    }

    fn request(
        self: &Arc<Self>,
        certname: Certname,
        manner: &Manner,
        request: PxpRequest,
        message: &PcpMessage,
    ) -> Result<(), FabricSendError> {
        let busy = self.with(&certname, |agent| {
            agent.busy += 1;
            agent.busy <= manner.busy
        });
        if busy {
            return Err(FabricSendError::Busy(certname));
        }
        let transaction = request.transaction_id.clone();
        lock(&self.requests).push((certname.clone(), transaction.clone()));
        if manner.mute || self.happens(manner.loses_requests) {
            return Ok(());
        }
        if manner.not_connected_message {
            let error =
                PcpMessage::error("Not connected.", Some(message.id)).from(PcpUri::broker());
            let port = self.port().unwrap();
            self.runtime
                .spawn(async move { port.send_to_engine(certname, error).await });
            return Ok(());
        }
        let lacks = match (manner.lacks, request.action.as_str()) {
            (Some("run_with"), "run_with") => true,
            (lacks, _) => lacks == Some(request.module.as_str()),
        };
        if manner.refuses || lacks {
            let (module, action) = (&request.module, &request.action);
            let description = match action.as_str() {
                "run_with" => format!("unknown action '{action}' for module '{module}'"),
                _ => format!("unknown module: {module}"),
            };
            let error = RpcError {
                transaction_id: transaction,
                id: message.id,
                description,
            };
            self.later(certname, PxpMessageBody::Error(error));
            return Ok(());
        }
        let puppet = request.module == "pxp-module-puppet";
        let params: Value = serde_json::from_str(request.params.get()).unwrap();
        let what = format!("{} {}", request.module, request.action);
        lock(&self.seen_actions).push((what.clone(), params));
        lock(&self.seen_file_servers).extend(request.file_servers.iter().cloned());
        if puppet && manner.leases {
            let params: action::PuppetParams = action::decode(&request.params).unwrap();
            let held = self.with(&certname, |agent| match agent.is_superseded {
                true => None,
                false => agent.lease,
            });
            // Nodes outside of the order have no lease.
            if held.is_some() {
                assert_eq!(params.lease(), held, "{certname} runs without its lease");
                lock(&self.leased_runs).insert(certname.clone());
            }
        }
        if puppet {
            lock(&self.seen_puppet).push(action::decode(&request.params).unwrap());
        } else if what == "task run" {
            lock(&self.seen_params).push(action::decode(&request.params).unwrap());
        }
        let (known, cancelled) = self.with(&certname, |agent| {
            let known = agent.spool.contains_key(&transaction);
            let entry = agent
                .spool
                .entry(transaction.clone())
                .or_insert_with(Entry::new);
            entry.puppet = puppet;
            (known, entry.cancelled.subscribe())
        });
        self.later(
            certname.clone(),
            PxpMessageBody::ProvisionalResponse {
                transaction_id: transaction.clone(),
            },
        );
        if !known {
            *lock(&self.executions)
                .entry(transaction.clone())
                .or_default() += 1;
            self.runtime
                .spawn(Arc::clone(self).execute(certname, transaction, cancelled));
        }
        Ok(())
    }

    async fn execute(
        self: Arc<Self>,
        certname: Certname,
        transaction: TransactionId,
        mut cancelled: watch::Receiver<bool>,
    ) {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_running.fetch_max(running, Ordering::SeqCst);
        let manner = self.manner(&certname);
        let work = async {
            if !manner.writes.is_empty() {
                self.write(&certname, &transaction, &manner.writes).await;
            }
            if manner.held {
                self.go.subscribe().wait_for(|go| *go).await.unwrap();
            }
            if !manner.takes_ms.is_empty() {
                let ms = lock(&self.chance).random_range(manner.takes_ms.clone());
                tokio::time::sleep(Duration::from_millis(ms)).await;
            }
        };
        let ended = tokio::select! {
            () = work => manner.result.clone().unwrap_or_else(|| ActionResult {
                stdout: Some("done\n".to_owned()),
                ..ActionResult::default()
            }),
            Ok(_) = cancelled.wait_for(|cancelled| *cancelled) => ActionResult {
                exitcode: 143,
                signal: Some(15),
                cancelled: true,
                ..ActionResult::default()
            },
        };
        self.running.fetch_sub(1, Ordering::SeqCst);
        let kept = self.with(&certname, |agent| {
            agent
                .spool
                .get_mut(&transaction)
                .map(|entry| entry.outcome = Some(ended))
                .is_some()
        });
        if kept {
            self.tell_outcome(certname, transaction).await;
        }
    }

    /// Sends live output as far as there is leave.
    async fn write(&self, certname: &Certname, transaction: &TransactionId, bytes: &[u8]) {
        let mut credit = self.with(certname, |agent| {
            agent.spool[transaction].credit.subscribe()
        });
        let mut offset = 0;
        while offset < bytes.len() {
            let until = *credit
                .wait_for(|until| *until > offset as u64)
                .await
                .unwrap();
            let end = bytes.len().min(until as usize).min(offset + 4_096);
            let data = bytes::Bytes::copy_from_slice(&bytes[offset..end]);
            let output = OutputPiece {
                transaction_id: transaction.clone(),
                stream: ProcessStream::Stdout,
                offset: offset as u64,
                data,
            };
            offset = end;
            self.entry(certname, transaction, |entry| entry.sent = offset as u64);
            self.say(certname, PxpMessageBody::Output(output)).await;
        }
    }

    /// A Tutti agent says it until it is acknowledged, a stock one once.
    pub(super) async fn tell_outcome(
        self: Arc<Self>,
        certname: Certname,
        transaction: TransactionId,
    ) {
        let mut first = true;
        loop {
            let manner = self.manner(&certname);
            let entry = self.with(&certname, |agent| match agent.spool.get(&transaction) {
                Some(entry) if !entry.acknowledged || first => Some(entry.clone()),
                _ => None,
            });
            let Some(Entry {
                outcome: Some(outcome),
                puppet,
                ..
            }) = entry
            else {
                return;
            };
            let lost = self.happens(manner.loses_outcomes);
            if !manner.mute && !manner.untellable && !lost {
                let body = end_of(&manner, &transaction, &outcome, puppet);
                if self.happens(manner.doubles) {
                    self.say(&certname, body.clone()).await;
                }
                self.say(&certname, body).await;
            }
            if manner.stock {
                return;
            }
            first = false;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn blocking(self: &Arc<Self>, certname: Certname, manner: &Manner, request: PxpRequest) {
        let transaction_id = request.transaction_id.clone();
        if manner.untellable && request.module == "status" {
            return;
        }
        if let Some(words) = manner.status_errs {
            let error = RpcError {
                transaction_id,
                id: pcp::MessageId::random(),
                description: words.to_owned(),
            };
            return self.later(certname, PxpMessageBody::Error(error));
        }
        let results = match request.module.as_str() {
            "ping" => {
                serde_json::value::to_raw_value(&serde_json::json!({"request_hops": []})).unwrap()
            }
            action::TUTTI_MODULE if manner.stock => {
                let error = RpcError {
                    transaction_id,
                    id: pcp::MessageId::random(),
                    description: "unknown module: tutti".to_owned(),
                };
                return self.later(certname, PxpMessageBody::Error(error));
            }
            action::TUTTI_MODULE if request.action != action::CANCEL_ACTION => {
                self.lease_answer(&certname, manner, &request)
            }
            action::TUTTI_MODULE => {
                let params: action::CancelParams = action::decode(&request.params).unwrap();
                self.entry(&certname, &params.transaction_id, |entry| {
                    _ = entry.cancelled.send_replace(true)
                });
                action::encode(&json!({"cancelled": true}))
            }
            "status" => {
                let params: StatusParams = action::decode(&request.params).unwrap();
                action::encode(&self.status(&certname, manner, params.transaction_id))
            }
            other => panic!("unexpected module {other}"),
        };
        let is_of_lease =
            request.module == action::TUTTI_MODULE && request.action != action::CANCEL_ACTION;
        let speaker = match manner.lease_lie {
            Some(LeaseLie::OtherNode) if is_of_lease => self.other_node(&certname),
            _ => certname,
        };
        self.later(
            speaker,
            PxpMessageBody::BlockingResponse(PxpResponse {
                transaction_id,
                results,
            }),
        );
    }

    fn other_node(&self, certname: &Certname) -> Certname {
        let agents = lock(&self.agents);
        let others = agents
            .iter()
            .filter(|(name, agent)| *name != certname && agent.connected);
        others
            .map(|(name, _)| name.clone())
            .next()
            .expect("another agent")
    }

    fn status(&self, certname: &Certname, manner: &Manner, id: TransactionId) -> StatusResult {
        self.with(certname, |agent| {
            let mut status = match agent.spool.get(&id) {
                None => StatusResult::new(id, TransactionStatus::Unknown),
                Some(Entry { outcome: None, .. }) => {
                    StatusResult::new(id, TransactionStatus::Running)
                }
                Some(Entry {
                    outcome: Some(outcome),
                    puppet,
                    ..
                }) => {
                    let mut outcome = outcome.clone();
                    if let Some(words) = manner.errs {
                        outcome.stdout = Some(agents_error(words));
                        let mut status = StatusResult::finished(id.clone(), outcome);
                        status.status = TransactionStatus::Failure;
                        return status;
                    }
                    if *puppet {
                        outcome.stdout = Some(ran(manner, &outcome).to_string());
                    }
                    StatusResult::finished(id, outcome)
                }
            };
            status.spool_id = (!manner.stock).then_some(agent.spool_id);
            status
        })
    }

    pub(super) fn later(self: &Arc<Self>, certname: Certname, body: PxpMessageBody) {
        let inner = Arc::clone(self);
        self.runtime
            .spawn(async move { inner.say(&certname, body).await });
    }

    pub(super) async fn say(&self, certname: &Certname, body: PxpMessageBody) {
        let speaks = |agent: &mut Agent| agent.connected && agent.unread.is_none();
        let connected = self.with(certname, speaks);
        let (true, Some(port)) = (connected, self.port()) else {
            return;
        };
        let mut message = body.into_message(port.engine_address().clone(), PcpUri::agent(certname));
        message.has_replaced_bytes = self.manner(certname).replaced_bytes;
        port.send_to_engine(certname.clone(), message).await;
    }
}

/// The output in a status answer of an agent that could not run the task.
fn agents_error(words: &str) -> String {
    let kind = "puppetlabs.pxp-agent/execution-error";
    json!({"_error": {"kind": kind, "details": {}, "msg": words}}).to_string()
}

/// The module's words for a Puppet run that ended so.
fn ran(manner: &Manner, outcome: &ActionResult) -> Value {
    let mut said = manner.puppet.clone().unwrap_or_else(|| {
        json!({
            "kind": "apply", "time": "2026-11-21T20:00:00.000000000+00:00",
            "transaction_uuid": "5f5a1b2c-0000-4000-8000-000000000001", "status": "unchanged",
            "environment": "production", "metrics": {"total": 7}, "exitcode": 0, "version": 1,
        })
    });
    if outcome.cancelled {
        said["cancelled"] = true.into();
    }
    said
}

fn end_of(
    manner: &Manner,
    transaction: &TransactionId,
    outcome: &ActionResult,
    puppet: bool,
) -> PxpMessageBody {
    let transaction_id = transaction.clone();
    if let Some(words) = manner.errs {
        return PxpMessageBody::Error(RpcError {
            transaction_id,
            id: pcp::MessageId::random(),
            description: words.to_owned(),
        });
    }
    if manner.loses_track {
        return PxpMessageBody::Error(RpcError {
            transaction_id,
            id: pcp::MessageId::random(),
            description: "the outcome is not known: its supervisor is gone".to_owned(),
        });
    }
    PxpMessageBody::NonBlockingResponse(PxpResponse {
        transaction_id,
        results: match puppet {
            true => action::encode(&ran(manner, outcome)),
            false => action::encode(outcome),
        },
    })
}

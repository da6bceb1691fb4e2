//! One simulated agent. Main type: [`SimulatedAgent`].
//!
//! Invariant: it fulfils the contract of an agent (provisional response, one execution per
//! transaction id, outcome repeated until acknowledged, truthful status), and only its link is
//! faulty.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use pcp::{PcpMessage, PcpUri};
use pxp::{PxpMessageBody, PxpRequest, PxpResponse, TransactionId};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;

use super::Shared;
use super::faults::happens;
use super::identities::Identity;
use super::link::Link;

/// Maximum pause in milliseconds before an agent reconnects.
const RECONNECT_MS_MAX: u64 = 200;

#[derive(Debug)]
pub(crate) struct SimulatedAgent {
    identity: Identity,
    from: IpAddr,
    shared: Arc<Shared>,
    cut: Arc<Notify>,
    address: PcpUri,
    random: SmallRng,
    spool_id: Uuid,
    /// The state that a real agent has on disk.
    spool: HashMap<TransactionId, Entry>,
    /// Running actions, ordered by their end; all take equally long.
    running: VecDeque<(Instant, TransactionId)>,
}

#[derive(Debug)]
struct Entry {
    requester: PcpUri,
    outcome: Option<Box<RawValue>>,
    exit_code: i64,
    acknowledged: bool,
}

// === impl SimulatedAgent ===

impl SimulatedAgent {
    pub(crate) fn new(
        index: usize,
        identity: Identity,
        from: IpAddr,
        shared: Arc<Shared>,
        cut: Arc<Notify>,
    ) -> Self {
        let seed = shared.config.seed.wrapping_add(index as u64);
        let mut random = SmallRng::seed_from_u64(seed);
        let spool_id = uuid::Builder::from_random_bytes(random.random()).into_uuid();
        let address = PcpUri::agent(&identity.certname);
        Self {
            identity,
            from,
            shared,
            cut,
            address,
            random,
            spool_id,
            spool: HashMap::new(),
            running: VecDeque::new(),
        }
    }

    /// Connects, serves, and reconnects if the fleet is configured so.
    pub(crate) async fn run(mut self) {
        loop {
            if let Ok(link) = self.connect().await {
                self.shared.came();
                // The way in which the connection ended does not matter: faults are expected.
                let _ = Box::pin(self.serve(link)).await;
                self.shared.went();
            }
            if !self.shared.config.reconnect {
                return;
            }
            let pause = self.random.random_range(0..RECONNECT_MS_MAX);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    }

    async fn connect(&self) -> io::Result<Link> {
        let _permit = self
            .shared
            .handshakes
            .acquire()
            .await
            .map_err(io::Error::other)?;
        let config = &self.shared.config;
        let announced = pxp::AgentCapabilities {
            version: "simulated".to_owned(),
            live_output: false,
            acknowledged_results: true,
            cancel: false,
            facts: false,
            extended_requests: false,
            file_servers: false,
            leases: false,
            spool_id: Some(self.spool_id),
        }
        .to_string();
        let header = config
            .extensions
            .then_some((pxp::CAPABILITIES_HEADER, announced.as_str()));
        let tls = Arc::clone(&self.identity.tls);
        Box::pin(Link::open(config, self.from, tls, header)).await
    }

    async fn serve(&mut self, mut link: Link) -> io::Result<()> {
        self.send_again(&mut link).await?;
        let cut = Arc::clone(&self.cut);
        loop {
            let next_end = self.running.front().map(|(at, _)| *at);
            tokio::select! {
                biased;
                () = cut.notified() => return Ok(()),
                () = at(next_end) => self.end_action(&mut link).await?,
                message = link.next() => match message? {
                    Some(message) => self.receive(&mut link, message).await?,
                    None => return Ok(()),
                },
            }
        }
    }

    async fn receive(&mut self, link: &mut Link, message: PcpMessage) -> io::Result<()> {
        let Some(sender) = message.sender.clone() else {
            return Ok(());
        };
        match PxpMessageBody::decode(&message.message_type, message.data.as_deref()) {
            Ok(PxpMessageBody::NonBlockingRequest(request)) => {
                self.start(link, sender, request).await
            }
            Ok(PxpMessageBody::BlockingRequest(request)) => {
                self.answer(link, &sender, &request).await
            }
            Ok(PxpMessageBody::OutcomeAck { transaction_id }) => {
                if let Some(entry) = self.spool.get_mut(&transaction_id) {
                    entry.acknowledged = true;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn start(
        &mut self,
        link: &mut Link,
        requester: PcpUri,
        request: PxpRequest,
    ) -> io::Result<()> {
        let faults = self.shared.config.faults.clone();
        if happens(faults.kill, &mut self.random) {
            return Err(io::Error::other("killed by a fault"));
        }
        let transaction_id = request.transaction_id;
        let known = self.spool.contains_key(&transaction_id);
        if !known {
            self.shared
                .ledger
                .ran(&self.identity.certname, &transaction_id);
            let entry = Entry {
                requester: requester.clone(),
                outcome: None,
                exit_code: 0,
                acknowledged: false,
            };
            self.spool.insert(transaction_id.clone(), entry);
            self.running
                .push_back((Instant::now() + faults.action_time, transaction_id.clone()));
        }
        let outcome_first =
            faults.action_time.is_zero() && happens(faults.reorder, &mut self.random);
        if outcome_first {
            self.end_action(link).await?;
        }
        let provisional = PxpMessageBody::ProvisionalResponse {
            transaction_id: transaction_id.clone(),
        };
        self.send(link, &requester, provisional).await?;
        if known {
            self.send_outcome(link, &transaction_id).await?;
        } else if faults.action_time.is_zero() {
            self.end_action(link).await?;
        }
        Ok(())
    }

    async fn end_action(&mut self, link: &mut Link) -> io::Result<()> {
        let Some((_, transaction_id)) = self.running.pop_front() else {
            return Ok(());
        };
        let failed = happens(self.shared.config.faults.fail, &mut self.random);
        let exit_code = i64::from(failed);
        let output = &*self.shared.config.output;
        let results = to_raw_value(&json!({"exitcode": exit_code, "stdout": output}))?;
        if let Some(entry) = self.spool.get_mut(&transaction_id) {
            entry.exit_code = exit_code;
            entry.outcome = Some(results);
        }
        self.send_outcome(link, &transaction_id).await
    }

    async fn send_outcome(
        &mut self,
        link: &mut Link,
        transaction_id: &TransactionId,
    ) -> io::Result<()> {
        let Some(entry) = self.spool.get(transaction_id) else {
            return Ok(());
        };
        let Some(results) = entry.outcome.clone() else {
            return Ok(());
        };
        let requester = entry.requester.clone();
        let response = PxpResponse {
            transaction_id: transaction_id.clone(),
            results,
        };
        self.send(
            link,
            &requester,
            PxpMessageBody::NonBlockingResponse(response),
        )
        .await
    }

    /// Sends unacknowledged outcomes again, as a Tutti agent does on each new connection.
    async fn send_again(&mut self, link: &mut Link) -> io::Result<()> {
        if !self.shared.config.extensions {
            return Ok(());
        }
        let waiting: Vec<_> = self
            .spool
            .iter()
            .filter(|(_, entry)| entry.outcome.is_some() && !entry.acknowledged)
            .map(|(transaction_id, _)| transaction_id.clone())
            .collect();
        for transaction_id in waiting {
            self.send_outcome(link, &transaction_id).await?;
        }
        Ok(())
    }

    async fn answer(
        &mut self,
        link: &mut Link,
        requester: &PcpUri,
        request: &PxpRequest,
    ) -> io::Result<()> {
        let results = match request.module.as_str() {
            "ping" => json!({"request_hops": []}),
            "status" => self.status(request),
            _ => json!({"outcome": "simulated"}),
        };
        let results = to_raw_value(&results)?;
        let response = PxpResponse {
            transaction_id: request.transaction_id.clone(),
            results,
        };
        self.send(link, requester, PxpMessageBody::BlockingResponse(response))
            .await
    }

    fn status(&self, request: &PxpRequest) -> serde_json::Value {
        let params: serde_json::Value =
            serde_json::from_str(request.params.get()).unwrap_or_default();
        let asked = params["transaction_id"].as_str().unwrap_or_default();
        let entry = asked
            .parse::<TransactionId>()
            .ok()
            .and_then(|id| self.spool.get(&id));
        let mut status = match entry {
            None => json!({"transaction_id": asked, "status": "unknown"}),
            Some(Entry { outcome: None, .. }) => {
                json!({"transaction_id": asked, "status": "running"})
            }
            Some(entry) => {
                let word = if entry.exit_code == 0 {
                    "success"
                } else {
                    "failure"
                };
                json!({"transaction_id": asked, "status": word, "exitcode": entry.exit_code,
                       "stdout": &*self.shared.config.output})
            }
        };
        if self.shared.config.extensions {
            status["spool_id"] = json!(self.spool_id);
        }
        status
    }

    async fn send(&mut self, link: &mut Link, to: &PcpUri, body: PxpMessageBody) -> io::Result<()> {
        let faults = &self.shared.config.faults;
        if happens(faults.lose, &mut self.random) {
            return Ok(());
        }
        let message: PcpMessage = body.into_message(to.clone(), self.address.clone());
        link.send(&message).await?;
        if happens(faults.duplicate, &mut self.random) {
            link.send(&message).await?;
        }
        Ok(())
    }
}

/// Waits until a time; forever if it is `None`.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

//! The requests to the nodes of one job: [`LeaseHolding`].
//!
//! Invariant: a node whose lease was asked for is asked to release it when the job is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fabric::Fabric;
use futures_util::{StreamExt as _, stream};
use pcp::Certname;
use pxp::action::{
    self, HOLD_LEASE_ACTION, HoldLeaseParams, RELEASE_LEASE_ACTION, ReleaseLeaseParams,
    TUTTI_MODULE,
};
use serde_json::value::RawValue;
use store::JobNumber;
use tokio::time::Instant;
use uuid::Uuid;

use super::WantedLease;
use super::board::{LeaseBoard, LeaseFate};
use super::node_lease::{LeaseSummary, NO_LEASES, NodeLease};
use crate::blocking_requests::{BlockingRequests, NodeRequestError};
use crate::config::LeaseTimes;
use crate::defaults::{LEASE_ANSWER_BYTES, LEASE_POLL_MAX, LEASE_POLL_MIN, LEASE_REQUESTS};
use crate::returning_nodes::ReturningNodes;

/// The dependencies of a holding.
#[derive(Clone)]
pub(crate) struct LeaseServices {
    pub(crate) fabric: Fabric,
    pub(crate) requests: Arc<BlockingRequests>,
    pub(crate) returning: Arc<ReturningNodes>,
    pub(crate) times: LeaseTimes,
}

/// The requests of one job.
pub(crate) struct LeaseHolding {
    services: LeaseServices,
    board: Arc<LeaseBoard>,
    requests: LeaseRequests,
    /// Time of the first request.
    since: Instant,
    /// Begin of the last round with all nodes.
    renewed: Instant,
}

/// The parameters of a job's requests.
struct LeaseRequests {
    hold: Box<RawValue>,
    /// For a node in quarantine.
    keep: Box<RawValue>,
    release: Box<RawValue>,
    /// As `release`, and an earlier quarantine comes back.
    restore: Box<RawValue>,
}

/// How far the leases of a job are.
pub(super) enum LeaseProgress {
    /// Every node that can be held is held, or did not become free in time.
    Taken(LeaseSummary),
    /// Nodes are still waited for.
    Delayed(LeaseSummary),
    /// The job is over, and the leases are released.
    Released,
}

// === impl LeaseHolding ===

impl LeaseHolding {
    pub(crate) fn new(services: LeaseServices, job: JobNumber, wanted: &WantedLease) -> Self {
        let ttl_s = u32::try_from(services.times.ttl.as_secs()).unwrap_or(u32::MAX);
        let now = Instant::now();
        Self {
            services,
            board: Arc::new(LeaseBoard::new(job, wanted)),
            requests: LeaseRequests::new(job, wanted.lease, ttl_s),
            since: now,
            renewed: now,
        }
    }

    pub(super) fn board(&self) -> Arc<LeaseBoard> {
        Arc::clone(&self.board)
    }

    /// Takes the leases. Returns also if that takes long; a second call goes on.
    pub(super) async fn take(&mut self, is_first: bool) -> LeaseProgress {
        if is_first {
            self.since = Instant::now();
            self.renewed = self.since;
        }
        let mut pause = LEASE_POLL_MIN;
        let mut asked = match is_first {
            true => self.board.names(),
            false => self.open_nodes(),
        };
        loop {
            if !self.request(&asked).await {
                self.release().await;
                return LeaseProgress::Released;
            }
            let open = self.open_nodes();
            let waited = self.since.elapsed();
            if waited >= self.services.times.patience || open.is_empty() {
                return LeaseProgress::Taken(self.board.summary());
            }
            if is_first && waited >= self.services.times.note {
                return LeaseProgress::Delayed(self.board.summary());
            }
            asked = match self.renewed.elapsed() >= self.services.times.renewal {
                true => {
                    self.renewed = Instant::now();
                    self.board.names()
                }
                false => {
                    let mut asked = open;
                    asked.extend(self.board.take_urgent());
                    asked
                }
            };
            self.pause(pause).await;
            pause = (pause * 2).min(LEASE_POLL_MAX);
        }
    }

    /// Renews the leases until the job is over, and releases them then. Nodes that were not held are asked again.
    pub(super) async fn keep(&mut self) {
        loop {
            self.renewed = Instant::now();
            let nodes = self.board.names();
            if !self.request(&nodes).await || !self.await_renewal().await {
                return self.release().await;
            }
        }
    }

    /// Waits for the next renewal, and asks nodes meanwhile for which that is urgent. `false`: the job is over.
    async fn await_renewal(&mut self) -> bool {
        let next = self.renewed + self.services.times.renewal;
        loop {
            let urgent = self.board.take_urgent();
            if !self.request(&urgent).await {
                return false;
            }
            tokio::select! {
                biased;
                () = self.board.is_over().cancelled() => return false,
                () = self.board.changed() => {}
                () = tokio::time::sleep_until(next) => return true,
            }
        }
    }

    /// The nodes that may still be held soon.
    fn open_nodes(&self) -> Vec<Certname> {
        let now = Instant::now();
        self.board.select(|node, lease| match lease {
            NodeLease::Waiting(_) | NodeLease::Silent => true,
            NodeLease::Absent => self.services.returning.contains(node, now),
            NodeLease::Held | NodeLease::Refused(_) | NodeLease::Unsupported => false,
        })
    }

    /// Asks these nodes for their leases, a bounded number at once. `false`: the job is over.
    async fn request(&self, nodes: &[Certname]) -> bool {
        let kept = self.kept_nodes(nodes);
        let requests = nodes.iter().map(|node| {
            let params = match kept.contains_key(node) {
                true => &self.requests.keep,
                false => &self.requests.hold,
            };
            self.services.clone().hold(node.clone(), params.clone())
        });
        let answers = stream::iter(requests.collect::<Vec<_>>());
        let answers = answers.buffer_unordered(LEASE_REQUESTS).collect::<Vec<_>>();
        let answers = tokio::select! {
            biased;
            () = self.board.is_over().cancelled() => return false,
            answers = answers => answers,
        };
        let was_asked = |(node, lease): &&(Certname, NodeLease)| {
            let is_returning = kept.get(node);
            is_returning.is_some_and(|it| !*it || *lease != NodeLease::Absent)
        };
        let asked = answers.iter().filter(was_asked);
        let asked: Vec<Certname> = asked.map(|(node, _)| node.clone()).collect();
        self.board.record_answers(answers);
        self.board.record_keeps(&asked);
        true
    }

    /// Those of the nodes that are to stay in quarantine; `true` for one that is about to come back after a restart of the
    /// server, and is asked then.
    fn kept_nodes(&self, nodes: &[Certname]) -> BTreeMap<Certname, bool> {
        let now = Instant::now();
        let kept = nodes
            .iter()
            .filter(|node| self.board.fate(node) == LeaseFate::Kept);
        kept.map(|node| (node.clone(), self.services.returning.contains(node, now)))
            .collect()
    }

    /// Waits for the job of a later pass, which takes nodes, and releases the others. Without such a job the leases end by
    /// themselves.
    pub(super) async fn await_next_pass(&self) {
        tokio::select! {
            () = self.board.is_passed_on().cancelled() => {}
            () = tokio::time::sleep(self.services.times.ttl) => return,
        }
        let left = self.board.passed_on();
        self.board.end_passes();
        self.end(left.into_iter().collect()).await;
    }

    /// Asks the connected nodes once to release the lease, or to keep it in quarantine or for a later pass; the lease of any
    /// other one ends by itself.
    async fn release(&self) {
        self.end(self.board.names()).await;
    }

    async fn end(&self, nodes: Vec<Certname>) {
        let requests = nodes.into_iter().map(|node| {
            let (action, params) = match self.board.fate(&node) {
                LeaseFate::Kept => (HOLD_LEASE_ACTION, &self.requests.keep),
                LeaseFate::PassedOn => (HOLD_LEASE_ACTION, &self.requests.hold),
                LeaseFate::Ended => (RELEASE_LEASE_ACTION, &self.requests.release),
                LeaseFate::Restored => (RELEASE_LEASE_ACTION, &self.requests.restore),
            };
            self.services.clone().end(node, action, params.clone())
        });
        let answers = stream::iter(requests.collect::<Vec<_>>());
        let answers: Vec<bool> = answers.buffer_unordered(LEASE_REQUESTS).collect().await;
        let unconfirmed = answers.iter().filter(|is_done| !**is_done).count();
        if unconfirmed > 0 {
            tracing::info!(
                nodes = unconfirmed,
                "nodes did not confirm the end of their lease, which ends within {} s, or their quarantine",
                self.services.times.ttl.as_secs()
            );
        }
    }

    async fn pause(&self, duration: Duration) {
        tokio::select! {
            () = tokio::time::sleep(duration) => {}
            () = self.board.is_over().cancelled() => {}
        }
    }
}

// === impl LeaseRequests ===

impl LeaseRequests {
    fn new(job: JobNumber, lease: Uuid, ttl_s: u32) -> Self {
        let hold = |reason: &str, ttl_s| {
            action::encode(&HoldLeaseParams {
                lease,
                job: job.to_string(),
                reason: reason.to_owned(),
                ttl_s,
            })
        };
        let release = |restore| {
            action::encode(&ReleaseLeaseParams {
                lease: Some(lease),
                restore,
            })
        };
        Self {
            hold: hold("it runs Puppet on several nodes in order", Some(ttl_s)),
            keep: hold("its run did not succeed here", None),
            release: release(false),
            restore: release(true),
        }
    }
}

// === impl LeaseServices ===

impl LeaseServices {
    async fn hold(self, node: Certname, params: Box<RawValue>) -> (Certname, NodeLease) {
        let lease = match self.knows_leases(&node) {
            None => NodeLease::Absent,
            Some(false) => NodeLease::Unsupported,
            Some(true) => {
                let answer = self.send(&node, HOLD_LEASE_ACTION, params).await;
                NodeLease::from_answer(answer.and_then(|answer| {
                    let result = action::decode(&answer);
                    result.map_err(|error| NodeRequestError::Unreadable(error.to_string()))
                }))
            }
        };
        (node, lease)
    }

    /// `false`: a node that may have the lease did not confirm its end, or that it keeps it.
    async fn end(self, node: Certname, action: &'static str, params: Box<RawValue>) -> bool {
        match self.knows_leases(&node) {
            None | Some(false) => true,
            Some(true) => self.send(&node, action, params).await.is_ok(),
        }
    }

    /// `None` if the node is not connected.
    fn knows_leases(&self, node: &Certname) -> Option<bool> {
        let presence = self.fabric.presence(node)?;
        let capabilities = presence.capabilities.as_ref();
        Some(capabilities.is_some_and(|it| it.leases))
    }

    /// Asks a node's agent, if it knows leases.
    pub(super) async fn request(
        &self,
        node: &Certname,
        action: &str,
        params: Box<RawValue>,
    ) -> Result<Box<RawValue>, NodeRequestError> {
        match self.knows_leases(node) {
            Some(false) => Err(NodeRequestError::Refused(NO_LEASES.to_owned())),
            None | Some(true) => self.send(node, action, params).await,
        }
    }

    async fn send(
        &self,
        node: &Certname,
        action: &str,
        params: Box<RawValue>,
    ) -> Result<Box<RawValue>, NodeRequestError> {
        let request = (TUTTI_MODULE, action);
        let answer =
            self.requests
                .send_request(&self.fabric, node, request, params, self.times.answer);
        let answer = answer.await?;
        match answer.get().len() {
            0..=LEASE_ANSWER_BYTES => Ok(answer),
            _ => {
                let words = format!("it has more than {LEASE_ANSWER_BYTES} bytes");
                Err(NodeRequestError::Unreadable(words))
            }
        }
    }
}

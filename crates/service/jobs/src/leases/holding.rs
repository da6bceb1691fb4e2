//! The requests to the nodes of one job: [`LeaseHolding`].
//!
//! Invariant: a node whose lease was asked for is asked to release it when the job is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
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
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::node_lease::{LeaseSummary, NO_LEASES, NodeLease};
use crate::blocking_requests::{BlockingRequests, NodeRequestError};
use crate::config::LeaseTimes;
use crate::defaults::{LEASE_POLL_MAX, LEASE_POLL_MIN, LEASE_REQUESTS};
use crate::returning_nodes::ReturningNodes;

/// The dependencies of a holding.
#[derive(Clone)]
pub(crate) struct LeaseServices {
    pub(crate) fabric: Fabric,
    pub(crate) requests: Arc<BlockingRequests>,
    pub(crate) returning: Arc<ReturningNodes>,
    pub(crate) times: LeaseTimes,
}

/// The leases of the nodes of one job.
pub(crate) struct LeaseHolding {
    services: LeaseServices,
    lease: Uuid,
    nodes: BTreeMap<Certname, NodeLease>,
    names: Vec<Certname>,
    hold: Box<RawValue>,
    job: JobNumber,
    end: LeaseEnd,
}

/// The end of a job, for its holding.
#[derive(Clone, Debug, Default)]
pub(super) struct LeaseEnd {
    is_over: CancellationToken,
    /// Nodes that stay held after the job; set before the end.
    quarantined: Arc<OnceLock<BTreeSet<Certname>>>,
}

// === impl LeaseHolding ===

impl LeaseHolding {
    pub(crate) fn new(
        services: LeaseServices,
        job: JobNumber,
        lease: Uuid,
        nodes: Vec<Certname>,
    ) -> Self {
        let params = HoldLeaseParams {
            lease,
            job: job.to_string(),
            reason: "it runs Puppet on several nodes in order".to_owned(),
            ttl_s: Some(u32::try_from(services.times.ttl.as_secs()).unwrap_or(u32::MAX)),
        };
        let leases = nodes.iter().map(|node| (node.clone(), NodeLease::Absent));
        Self {
            services,
            lease,
            nodes: leases.collect(),
            names: nodes,
            hold: action::encode(&params),
            job,
            end: LeaseEnd::default(),
        }
    }

    pub(super) fn nodes(&self) -> &[Certname] {
        &self.names
    }

    /// The end of the job, to be set by its owner.
    pub(super) fn end(&self) -> LeaseEnd {
        self.end.clone()
    }

    /// Returns when every node that can be held is held, or does not become free in time; `None`: the job is over.
    pub(super) async fn take(&mut self) -> Option<LeaseSummary> {
        let since = Instant::now();
        let (mut renewed, mut pause) = (since, LEASE_POLL_MIN);
        let mut asked = self.names.clone();
        loop {
            if !self.request(&asked).await {
                self.release().await;
                return None;
            }
            let open = self.open_nodes();
            if since.elapsed() >= self.services.times.patience || open.is_empty() {
                return Some(LeaseSummary::of(self.nodes.iter()));
            }
            asked = match renewed.elapsed() >= self.services.times.renewal {
                true => {
                    renewed = Instant::now();
                    self.names.clone()
                }
                false => open,
            };
            self.pause(pause).await;
            pause = (pause * 2).min(LEASE_POLL_MAX);
        }
    }

    /// Renews the leases until the job is over, and releases them then. Nodes that were not held are asked again.
    pub(super) async fn keep(mut self) {
        loop {
            self.pause(self.services.times.renewal).await;
            let nodes = self.names.clone();
            if !self.request(&nodes).await {
                return self.release().await;
            }
        }
    }

    /// The nodes that may still be held soon.
    fn open_nodes(&self) -> Vec<Certname> {
        let now = Instant::now();
        let open = self.nodes.iter().filter(|(node, lease)| match lease {
            NodeLease::Waiting => true,
            NodeLease::Absent => self.services.returning.contains(node, now),
            NodeLease::Held | NodeLease::Refused(_) | NodeLease::Unsupported => false,
        });
        open.map(|(node, _)| node.clone()).collect()
    }

    /// Asks these nodes for their leases, a bounded number at once. `false`: the job is over.
    async fn request(&mut self, nodes: &[Certname]) -> bool {
        let requests = nodes.iter().map(|node| {
            let (services, hold) = (self.services.clone(), self.hold.clone());
            services.hold(node.clone(), hold)
        });
        let answers = stream::iter(requests.collect::<Vec<_>>());
        let answers = answers.buffer_unordered(LEASE_REQUESTS).collect();
        let answers: Vec<(Certname, NodeLease)> = tokio::select! {
            biased;
            () = self.end.is_over.cancelled() => return false,
            answers = answers => answers,
        };
        self.nodes.extend(answers);
        true
    }

    /// Asks the connected nodes once to release the lease, or to keep it in quarantine; the lease of any other one ends by
    /// itself.
    async fn release(&self) {
        let release = action::encode(&ReleaseLeaseParams {
            lease: Some(self.lease),
        });
        let job = self.job;
        let keep = action::encode(&HoldLeaseParams {
            lease: self.lease,
            job: job.to_string(),
            reason: "its run did not succeed here".to_owned(),
            ttl_s: None,
        });
        let quarantined = self.end.quarantined.get();
        let requests = self.names.iter().map(|node| {
            let (action, params) = match quarantined {
                Some(nodes) if nodes.contains(node) => (HOLD_LEASE_ACTION, &keep),
                _ => (RELEASE_LEASE_ACTION, &release),
            };
            let services = self.services.clone();
            services.end(node.clone(), action, params.clone())
        });
        let answers = stream::iter(requests.collect::<Vec<_>>());
        let answers: Vec<bool> = answers.buffer_unordered(LEASE_REQUESTS).collect().await;
        let unconfirmed = answers.iter().filter(|is_released| !**is_released).count();
        if unconfirmed > 0 {
            tracing::info!(
                nodes = unconfirmed,
                lease = %self.lease,
                "nodes did not confirm the end of their lease, which ends within {} s",
                self.services.times.ttl.as_secs()
            );
        }
    }

    async fn pause(&self, duration: Duration) {
        tokio::select! {
            () = tokio::time::sleep(duration) => {}
            () = self.end.is_over.cancelled() => {}
        }
    }
}

// === impl LeaseEnd ===

impl LeaseEnd {
    /// Ends the holding; these nodes stay held.
    pub(super) fn end(&self, quarantined: BTreeSet<Certname>) {
        // Only the first end counts.
        let _ = self.quarantined.set(quarantined);
        self.is_over.cancel();
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
        answer.await
    }
}

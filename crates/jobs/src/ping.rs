//! Blocking pings: is the agent there, and how far away.
//!
//! [`Pings`] knows who waits for which answer. The rule: an answer counts only from the node that
//! was asked, and nothing stays behind when the waiter is gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fabric::{Fabric, SendError};
use futures_util::StreamExt;
use futures_util::stream;
use pcp::{Certname, PcpUri};
use pxp::action::{self, PingParams};
use pxp::{Body, Request, TransactionId};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::defaults::PINGS;

/// What came of one ping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ping {
    /// The node.
    pub certname: Certname,
    /// The round trip, or why there was none.
    pub result: Result<Duration, PingError>,
}

/// Why a ping failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PingError {
    /// It could not be sent.
    #[error(transparent)]
    NotSent(#[from] SendError),
    /// The agent refused it.
    #[error("the agent refused the ping: {0}")]
    Refused(String),
    /// No answer in time.
    #[error(
        "no answer within {} ms; the agent is connected but does not answer (a pxp-agent that runs \
         a blocking action does not)", .0.as_millis()
    )]
    Timeout(Duration),
}

/// The pings under way.
#[derive(Debug, Default)]
pub(crate) struct Pings {
    waiting: Mutex<HashMap<TransactionId, Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    certname: Certname,
    answer: oneshot::Sender<Result<(), String>>,
}

/// Takes the waiter out when the ping ends, or is given up.
struct Registered<'a> {
    pings: &'a Pings,
    transaction: TransactionId,
}

// === impl Pings ===

impl Pings {
    /// Pings every node, a bounded number at once; in the order asked.
    pub(crate) async fn all(
        self: &Arc<Self>,
        fabric: &Fabric,
        clock: &dyn Clock,
        nodes: &[Certname],
        timeout: Duration,
    ) -> Vec<Ping> {
        let stamp = jiff::Timestamp::from_millisecond(clock.now_ms()).unwrap_or_default();
        let params = action::encode(&PingParams {
            sender_timestamp: Some(stamp.to_string()),
        });
        let ping = |certname: &Certname| {
            let (certname, params) = (certname.clone(), params.clone());
            async move {
                let result = self.one(fabric, &certname, params, timeout).await;
                Ping { certname, result }
            }
        };
        stream::iter(nodes.iter().map(ping))
            .buffered(PINGS)
            .collect()
            .await
    }

    async fn one(
        &self,
        fabric: &Fabric,
        certname: &Certname,
        params: Box<RawValue>,
        timeout: Duration,
    ) -> Result<Duration, PingError> {
        let transaction = TransactionId::random();
        let (answer, answered) = oneshot::channel();
        let waiter = Waiter {
            certname: certname.clone(),
            answer,
        };
        self.lock().insert(transaction.clone(), waiter);
        let _registered = Registered {
            pings: self,
            transaction: transaction.clone(),
        };
        let body = Body::BlockingRequest(Request {
            transaction_id: transaction,
            module: "ping".to_owned(),
            action: "ping".to_owned(),
            params,
            notify_outcome: None,
        });
        let message = body.into_message(PcpUri::agent(certname), fabric.address().clone());
        let started = Instant::now();
        fabric.send(message).await?;
        match tokio::time::timeout(timeout, answered).await {
            Ok(Ok(Ok(()))) => Ok(started.elapsed()),
            Ok(Ok(Err(words))) => Err(PingError::Refused(words)),
            Ok(Err(_)) | Err(_) => Err(PingError::Timeout(timeout)),
        }
    }

    /// An answer from `certname`; `false` when nobody waits for it.
    pub(crate) fn answered(
        &self,
        transaction: &TransactionId,
        certname: &Certname,
        answer: Result<(), String>,
    ) -> bool {
        let mut waiting = self.lock();
        if waiting
            .get(transaction)
            .is_none_or(|waiter| waiter.certname != *certname)
        {
            return false;
        }
        // The waiter may have given up just now.
        waiting
            .remove(transaction)
            .is_some_and(|waiter| waiter.answer.send(answer).is_ok())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TransactionId, Waiter>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.pings.lock().remove(&self.transaction);
    }
}

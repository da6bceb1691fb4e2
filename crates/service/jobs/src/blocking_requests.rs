//! Blocking requests with callers that wait for the answers: a ping, a node's facts.
//!
//! [`BlockingRequests`] maps each answer to its waiting caller. Invariant: an answer counts only from the node
//! that was asked, and nothing stays behind when the waiting caller is gone.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fabric::{Fabric, FabricSendError};
use pcp::{Certname, PcpUri};
use pxp::{PxpMessageBody, PxpRequest, TransactionId};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::verdict::clip;

/// Reason that a request was not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeRequestError {
    /// The request could not be sent.
    #[error(transparent)]
    NotSent(#[from] FabricSendError),
    /// The agent answered with an error. The requested action may have been carried out.
    #[error("the agent answered with an error: {0}")]
    Refused(String),
    /// No answer arrived before the timeout.
    #[error(
        "no answer within {} ms; the agent is connected but does not answer (a pxp-agent that runs \
         a blocking action does not)", .0.as_millis()
    )]
    Timeout(Duration),
    /// The answer is not valid JSON of the expected form.
    #[error("the agent's answer cannot be read: {0}")]
    Unreadable(String),
}

/// The requests under way.
#[derive(Debug, Default)]
pub(crate) struct BlockingRequests {
    waiting: Mutex<HashMap<TransactionId, PendingRequest>>,
}

#[derive(Debug)]
struct PendingRequest {
    certname: Certname,
    answer: oneshot::Sender<Result<Box<RawValue>, String>>,
}

/// Removes the waiting caller when the request ends, or is given up.
struct PendingRequestGuard<'a> {
    asks: &'a BlockingRequests,
    transaction: TransactionId,
}

// === impl NodeRequestError ===

impl NodeRequestError {
    /// The same with the agent's words in a bounded length.
    pub(crate) fn with_short_text(self) -> Self {
        match self {
            Self::Refused(words) => Self::Refused(clip(&words).to_owned()),
            Self::Unreadable(words) => Self::Unreadable(clip(&words).to_owned()),
            other => other,
        }
    }
}

// === impl BlockingRequests ===

impl BlockingRequests {
    /// Sends a blocking request and waits for its results.
    pub(crate) async fn send_request(
        &self,
        fabric: &Fabric,
        certname: &Certname,
        (module, action): (&str, &str),
        params: Box<RawValue>,
        timeout: Duration,
    ) -> Result<Box<RawValue>, NodeRequestError> {
        let transaction = TransactionId::random();
        let (answer, answered) = oneshot::channel();
        let waiter = PendingRequest {
            certname: certname.clone(),
            answer,
        };
        self.lock().insert(transaction.clone(), waiter);
        let _registered = PendingRequestGuard {
            asks: self,
            transaction: transaction.clone(),
        };
        let body = PxpMessageBody::BlockingRequest(PxpRequest {
            transaction_id: transaction,
            module: module.to_owned(),
            action: action.to_owned(),
            params,
            notify_outcome: None,
            extended: None,
            file_servers: Vec::new(),
        });
        let message = body.into_message(PcpUri::agent(certname), fabric.address().clone());
        fabric.send(message).await?;
        match tokio::time::timeout(timeout, answered).await {
            Ok(Ok(Ok(results))) => Ok(results),
            Ok(Ok(Err(words))) => Err(NodeRequestError::Refused(words)),
            Ok(Err(_)) | Err(_) => Err(NodeRequestError::Timeout(timeout)),
        }
    }

    /// Handles an answer from `certname`; `false` if no caller waits for it.
    pub(crate) fn deliver_answer(
        &self,
        transaction: &TransactionId,
        certname: &Certname,
        answer: Result<&RawValue, &str>,
    ) -> bool {
        let mut waiting = self.lock();
        if waiting
            .get(transaction)
            .is_none_or(|waiter| waiter.certname != *certname)
        {
            return false;
        }
        let answer = answer.map(ToOwned::to_owned).map_err(str::to_owned);
        // The caller may have given up just now.
        waiting
            .remove(transaction)
            .is_some_and(|waiter| waiter.answer.send(answer).is_ok())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TransactionId, PendingRequest>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PendingRequestGuard<'_> {
    fn drop(&mut self) {
        self.asks.lock().remove(&self.transaction);
    }
}

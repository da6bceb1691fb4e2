//! The state shared by all sessions, [`Router`], and the result of routing a message, [`Routed`].

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::assembly::Assembly;
use crate::authorization::Policy;
use crate::controllers::table::Controllers;
use crate::message_limits::MessageLimits;
use crate::metrics::Metrics;
use crate::sessions::Sessions;

#[derive(Debug)]
pub(crate) struct Router {
    pub(crate) sessions: Sessions,
    pub(crate) controllers: Controllers,
    pub(crate) policy: Policy,
    pub(crate) metrics: Metrics,
    pub(crate) limits: MessageLimits,
    pub(crate) assembly: Assembly,
    /// Time that a sender waits for space in the queue of its target.
    pub(crate) patience: Duration,
}

/// The result of routing a message.
pub(crate) enum Routed {
    /// The message is handled completely.
    Done,
    /// A queue is full. The broker does not read from the sender until this future completes.
    Waits(BoxFuture<'static, ()>),
}

//! What all sessions share: [`Router`], and what a message comes to: [`Routed`].

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
    /// How long a sender waits for room at its target.
    pub(crate) patience: Duration,
}

/// What became of a message.
pub(crate) enum Routed {
    /// All that there is to do is done.
    Done,
    /// Somebody has no room now. The sender is not read from until this is done.
    Waits(BoxFuture<'static, ()>),
}

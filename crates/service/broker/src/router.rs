//! The state that all sessions share, [`MessageRouter`], and the result of routing a message,
//! [`RoutingResult`].

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::assembly::MessageAssembly;
use crate::authorization::AuthorizationPolicy;
use crate::controllers::table::ControllerTable;
use crate::message_limits::MessageLimits;
use crate::metrics::BrokerMetrics;
use crate::sessions::SessionTable;

#[derive(Debug)]
pub(crate) struct MessageRouter {
    pub(crate) sessions: SessionTable,
    pub(crate) controllers: ControllerTable,
    pub(crate) policy: AuthorizationPolicy,
    pub(crate) metrics: BrokerMetrics,
    pub(crate) limits: MessageLimits,
    pub(crate) assembly: MessageAssembly,
    /// Time that a sender waits for space in the queue of its target.
    pub(crate) delivery_timeout: Duration,
}

/// The result of routing a message.
pub(crate) enum RoutingResult {
    /// The message is handled completely.
    Done,
    /// A queue is full. The broker does not read from the sender until this future completes.
    Waits(BoxFuture<'static, ()>),
}

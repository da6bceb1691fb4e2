//! The access log: one event per message under the tracing target `pcp_access`.
//!
//! Invariant: every event has the same separate fields (`outcome`, `remote`, `certname`, `sender`,
//! `message_type`, `id`, `target`), and outcomes have the names that operators of PCP brokers know.
//! Refusals go through [`BrokerSession::log_refusal`](crate::session::BrokerSession::log_refusal),
//! which bounds them.

use std::fmt;
use std::net::SocketAddr;

/// The result of the checks that a message passes before it is routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MessageOutcome {
    AuthorizationSuccess,
    AuthenticationFailure,
    AuthorizationFailure,
    MulticastUnsupported,
    DeserializationError,
}

impl MessageOutcome {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AuthorizationSuccess => "AUTHORIZATION_SUCCESS",
            Self::AuthenticationFailure => "AUTHENTICATION_FAILURE",
            Self::AuthorizationFailure => "AUTHORIZATION_FAILURE",
            Self::MulticastUnsupported => "MULTICAST_UNSUPPORTED",
            Self::DeserializationError => "DESERIALIZATION_ERROR",
        }
    }
}

impl fmt::Display for MessageOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The network address and certname that a message came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageOrigin<'a> {
    pub(crate) remote: SocketAddr,
    pub(crate) certname: &'a str,
}

/// Logs a message that could be decoded.
pub(crate) fn log_message(
    outcome: MessageOutcome,
    origin: MessageOrigin<'_>,
    message: &pcp::PcpMessage,
) {
    let text = |uri: &Option<pcp::PcpUri>| uri.as_ref().map(|uri| uri.as_str().to_owned());
    macro_rules! event {
        ($level:ident) => {
            tracing::$level!(
                target: "pcp_access",
                outcome = outcome.name(),
                remote = %origin.remote,
                certname = origin.certname,
                sender = text(&message.sender),
                message_type = message.message_type,
                id = message.id.as_str(),
                target = text(&message.target),
            )
        };
    }
    match outcome {
        MessageOutcome::AuthorizationSuccess => event!(info),
        _ => event!(warn),
    }
}

/// Logs a message that could not be decoded.
pub(crate) fn log_unreadable(origin: MessageOrigin<'_>, problem: &str) {
    tracing::warn!(
        target: "pcp_access",
        outcome = MessageOutcome::DeserializationError.name(),
        remote = %origin.remote,
        certname = origin.certname,
        problem,
    );
}

/// Logs that further refusals are not logged for a while.
pub(crate) fn log_suppression(origin: MessageOrigin<'_>) {
    tracing::warn!(
        target: "pcp_access",
        remote = %origin.remote,
        certname = origin.certname,
        "many refusals: more of this session within the minute are only counted"
    );
}

/// Logs how many refusals were not logged, if there are any.
pub(crate) fn log_suppressed_count(origin: MessageOrigin<'_>, left_out: u64) {
    if left_out > 0 {
        tracing::warn!(
            target: "pcp_access",
            remote = %origin.remote,
            certname = origin.certname,
            left_out,
            "refusals of this session were left out"
        );
    }
}

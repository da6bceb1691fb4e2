//! Detection that the agent slept: its process was stopped, or its machine suspended. Main type: [`SleepWatch`].
//!
//! While the agent is awake, its keepalive ends a connection that is silent for too long. So data that are read after a
//! longer silence arrived while it slept, and the callers of the requests in it have given up. They treat such a request as
//! one that was lost: it is sent again if the agent proves that it does not know it. Invariant: the silence is measured by
//! a clock that goes on while the machine is suspended.

use std::time::Duration;

use pcp::PcpMessage;
use pxp::action::{CANCEL_ACTION, RELEASE_LEASE_ACTION, TUTTI_MODULE};
use pxp::{PxpMessageBody, types};

/// The time at which a connection last received data.
#[derive(Debug)]
pub(crate) struct SleepWatch {
    longest_silence: Duration,
    /// Time of the last read, since boot.
    last_read: Duration,
}

// === impl SleepWatch ===

impl SleepWatch {
    /// Watches a connection that was established at `now`, since boot.
    pub(crate) fn new(longest_silence: Duration, now: Duration) -> Self {
        Self {
            longest_silence,
            last_read: now,
        }
    }

    /// Records that data were read. Returns the silence before, if the agent must have slept in it.
    pub(crate) fn record_read(&mut self, now: Duration) -> Option<Duration> {
        let silence = now.saturating_sub(self.last_read);
        self.last_read = now;
        (silence > self.longest_silence).then_some(silence)
    }
}

/// True for a message that must not be handled late: a request to start something, to hold a lease, or to answer. What ends
/// an action or a lease, or acknowledges an outcome, counts at any time.
pub(crate) fn is_void_after_sleep(message: &PcpMessage) -> bool {
    match message.message_type.as_str() {
        types::NON_BLOCKING_REQUEST => true,
        types::BLOCKING_REQUEST => !is_end(message),
        _ => false,
    }
}

fn is_end(message: &PcpMessage) -> bool {
    let body = PxpMessageBody::decode(&message.message_type, message.data.as_deref());
    let Ok(PxpMessageBody::BlockingRequest(request)) = body else {
        return false;
    };
    let is_end_action = [CANCEL_ACTION, RELEASE_LEASE_ACTION].contains(&request.action.as_str());
    request.module == TUTTI_MODULE && is_end_action
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn only_a_longer_silence_than_the_keepalive_allows_is_a_sleep() {
        let mut watch = SleepWatch::new(seconds(135), seconds(1_000));
        assert_eq!(watch.record_read(seconds(1_120)), None);
        assert_eq!(watch.record_read(seconds(1_255)), None);
        assert_eq!(watch.record_read(seconds(1_391)), Some(seconds(136)));
        assert_eq!(watch.record_read(seconds(1_392)), None);
        assert_eq!(watch.record_read(seconds(100_000)), Some(seconds(98_608)));
    }

    #[test]
    fn only_what_ends_something_counts_late() {
        let request = |message_type: &str, module: &str, action: &str| {
            let data = json!({
                "transaction_id": "1", "module": module, "action": action, "params": {},
            });
            PcpMessage::new(message_type, Some(pcp::types::encode(&data)))
        };
        let blocking = |module, action| request(types::BLOCKING_REQUEST, module, action);
        assert!(is_void_after_sleep(&request(
            types::NON_BLOCKING_REQUEST,
            "task",
            "run"
        )));
        for (module, action) in [
            ("ping", "ping"),
            ("status", "query"),
            ("tutti", "hold_lease"),
            ("task", "cancel"),
        ] {
            assert!(
                is_void_after_sleep(&blocking(module, action)),
                "{module} {action}"
            );
        }
        for action in ["cancel", "release_lease"] {
            assert!(!is_void_after_sleep(&blocking("tutti", action)), "{action}");
        }
        for kind in [types::CANCEL, types::OUTCOME_ACK, types::OUTPUT_CREDIT] {
            assert!(!is_void_after_sleep(&PcpMessage::new(kind, None)), "{kind}");
        }
        let unreadable = PcpMessage::new(types::BLOCKING_REQUEST, None);
        assert!(is_void_after_sleep(&unreadable));
    }
}

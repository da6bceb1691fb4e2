//! Size limits of messages by type: [`MessageLimits`].
//!
//! Invariant: only types with user content (parameters, output, reports) may be large; an unknown
//! type may be as large as the connection allows.

use pcp::types::{
    ASSOCIATE_REQUEST, ASSOCIATE_RESPONSE, ERROR_MESSAGE, INVENTORY_REQUEST, INVENTORY_UPDATE,
};

use crate::defaults::CONTROL_MESSAGE_BYTES;

/// Small types; all others are bounded by the limit of the connection.
const TABLE: &[(&str, usize)] = &[
    (ASSOCIATE_REQUEST, 16 * 1024),
    (ASSOCIATE_RESPONSE, 16 * 1024),
    // A description, not a dump.
    (ERROR_MESSAGE, CONTROL_MESSAGE_BYTES),
    (INVENTORY_REQUEST, CONTROL_MESSAGE_BYTES),
    (INVENTORY_UPDATE, CONTROL_MESSAGE_BYTES),
    ("http://puppetlabs.com/rpc_provisional_response", 64 * 1024),
    (
        "http://puppetlabs.com/rpc_error_message",
        CONTROL_MESSAGE_BYTES,
    ),
    ("urn:tutti:pxp:outcome_ack", 64 * 1024),
    ("urn:tutti:pxp:output_credit", 64 * 1024),
    ("urn:tutti:pxp:cancel", 64 * 1024),
    ("urn:tutti:pxp:output", CONTROL_MESSAGE_BYTES),
];

#[derive(Clone, Debug)]
pub(crate) struct MessageLimits {
    pub(crate) message_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Message of {bytes} bytes is too large for its type; the limit is {limit}.")]
pub(crate) struct MessageTooLarge {
    bytes: usize,
    limit: usize,
}

impl MessageLimits {
    pub(crate) fn check(&self, message_type: &str, bytes: usize) -> Result<(), MessageTooLarge> {
        let of_type = TABLE.iter().find(|(known, _)| *known == message_type);
        let limit = of_type.map_or(self.message_bytes, |(_, limit)| *limit);
        if bytes > limit {
            Err(MessageTooLarge { bytes, limit })
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_people_made_may_be_large() {
        let limits = MessageLimits {
            message_bytes: 64 << 20,
        };
        assert!(
            limits
                .check("http://puppetlabs.com/rpc_blocking_response", 60 << 20)
                .is_ok()
        );
        assert!(limits.check(ASSOCIATE_REQUEST, 17 * 1024).is_err());
        assert!(limits.check(INVENTORY_REQUEST, 2 << 20).is_err());
        assert!(limits.check("anything", (64 << 20) + 1).is_err());
    }
}

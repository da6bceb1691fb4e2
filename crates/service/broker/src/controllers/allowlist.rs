//! What controllers may send.

use pcp::types::INVENTORY_REQUEST;

/// What a controller may send unless the configuration says otherwise: what brokers of the field
/// let through, and Tutti's own extensions.
pub const DEFAULT_ALLOWLIST: &[&str] = &[
    INVENTORY_REQUEST,
    "http://puppetlabs.com/rpc_blocking_request",
    "http://puppetlabs.com/rpc_non_blocking_request",
    "urn:tutti:pxp:outcome_ack",
    "urn:tutti:pxp:output_credit",
    "urn:tutti:pxp:cancel",
    fabric::wire::PRESENCE_REQUEST,
];

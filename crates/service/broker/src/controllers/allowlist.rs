//! Default allowlist of the message types that controllers may send.

use pcp::types::INVENTORY_REQUEST;

/// The message types that a controller may send by default: those that existing PCP brokers
/// allow, and Tutti's own extensions.
pub const DEFAULT_ALLOWLIST: &[&str] = &[
    INVENTORY_REQUEST,
    "http://puppetlabs.com/rpc_blocking_request",
    "http://puppetlabs.com/rpc_non_blocking_request",
    "urn:tutti:pxp:outcome_ack",
    "urn:tutti:pxp:output_credit",
    "urn:tutti:pxp:cancel",
    fabric::wire::PRESENCE_REQUEST,
];

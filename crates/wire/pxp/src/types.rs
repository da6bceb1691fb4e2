//! Message types of PXP, and the names of its modules and actions.

/// Request to run an action and respond when it has ended.
pub const BLOCKING_REQUEST: &str = "http://puppetlabs.com/rpc_blocking_request";
/// Request to start an action. The agent responds at once, and again with the outcome if the
/// request sets `notify_outcome`.
pub const NON_BLOCKING_REQUEST: &str = "http://puppetlabs.com/rpc_non_blocking_request";
/// Response that a non-blocking request was accepted.
pub const PROVISIONAL_RESPONSE: &str = "http://puppetlabs.com/rpc_provisional_response";
/// Response with the outcome of a blocking request.
pub const BLOCKING_RESPONSE: &str = "http://puppetlabs.com/rpc_blocking_response";
/// Response with the outcome of a non-blocking request.
pub const NON_BLOCKING_RESPONSE: &str = "http://puppetlabs.com/rpc_non_blocking_response";
/// Error response: a request could not be carried out.
pub const RPC_ERROR: &str = "http://puppetlabs.com/rpc_error_message";

/// Extension, to the agent: an outcome is stored durably and need not be sent again.
pub const OUTCOME_ACK: &str = "urn:tutti:pxp:outcome_ack";
/// Extension, from the agent: a piece of a running action's output.
pub const OUTPUT: &str = "urn:tutti:pxp:output";
/// Extension, to the agent: the amount of output that it may send.
pub const OUTPUT_CREDIT: &str = "urn:tutti:pxp:output_credit";
/// Extension, to the agent: end a running action and everything it started.
pub const CANCEL: &str = "urn:tutti:pxp:cancel";

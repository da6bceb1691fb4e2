//! Message types of PXP, and the names of its modules and actions.

/// Run an action and answer when it is done.
pub const BLOCKING_REQUEST: &str = "http://puppetlabs.com/rpc_blocking_request";
/// Start an action; answered at once, and again with the outcome if asked for.
pub const NON_BLOCKING_REQUEST: &str = "http://puppetlabs.com/rpc_non_blocking_request";
/// A non-blocking request was taken.
pub const PROVISIONAL_RESPONSE: &str = "http://puppetlabs.com/rpc_provisional_response";
/// The outcome of a blocking request.
pub const BLOCKING_RESPONSE: &str = "http://puppetlabs.com/rpc_blocking_response";
/// The outcome of a non-blocking request.
pub const NON_BLOCKING_RESPONSE: &str = "http://puppetlabs.com/rpc_non_blocking_response";
/// A request could not be carried out.
pub const RPC_ERROR: &str = "http://puppetlabs.com/rpc_error_message";

/// Extension, to the agent: an outcome is stored durably, do not send it again.
pub const OUTCOME_ACK: &str = "urn:tutti:pxp:outcome_ack";
/// Extension, from the agent: a piece of a running action's output.
pub const OUTPUT: &str = "urn:tutti:pxp:output";
/// Extension, to the agent: how much output it may send.
pub const OUTPUT_CREDIT: &str = "urn:tutti:pxp:output_credit";
/// Extension, to the agent: end a running action and everything it started.
pub const CANCEL: &str = "urn:tutti:pxp:cancel";

//! Parameters and results of the actions of each module.
//!
//! Invariant: the parameters of `command`, `status`, `echo`, `ping` and `pxp-module-puppet` are
//! closed; those of `task`, `script` and `file` are open, as in pxp-agent, so that newer
//! orchestrators can add members. Results are open.

mod code_id;
mod file;
mod lease;
mod params;
mod puppet;
mod result;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

pub use code_id::{CodeId, CodeIdError};
pub use file::{FilePath, FilePathError, FileSpec, FileUri, Sha256, Sha256Error};
pub use lease::{
    HOLD_LEASE_ACTION, HoldLeaseParams, HoldLeaseResult, HoldLeaseState, RELEASE_LEASE_ACTION,
    ReleaseLeaseParams, SHOW_LEASE_ACTION, ShowLeaseParams, ShowLeaseResult, ShownLease,
    lease_variable,
};
pub use params::{
    CancelParams, CollectParams, CollectedFileItem, CollectedFiles, CommandParams, EchoParams,
    FileEntry, FileKind, FileParams, PingParams, PlaceParams, RunMetadata, RunWithParams,
    ScriptParams, StatusParams, TaskParams,
};
pub use puppet::{
    PuppetCause, PuppetErrorType, PuppetParams, PuppetRerun, PuppetResource, PuppetResourceStatus,
    PuppetResult, REPORTED_RERUNS, ResourcesOmitted,
};
pub use result::{ActionResult, StatusResult, TransactionStatus};

use crate::json;

/// The module of blocking requests about the agent's own actions.
pub const TUTTI_MODULE: &str = "tutti";
/// Its action with [`CancelParams`]; the result is `{"cancelled": bool}`, false if no such action
/// runs.
pub const CANCEL_ACTION: &str = "cancel";

/// The error for parameters or results that do not fit their schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ActionError(String);

/// Parses parameters or results as one of the types of this module.
pub fn decode<T: DeserializeOwned>(raw: &RawValue) -> Result<T, ActionError> {
    if !raw.get().starts_with('{') {
        return Err(ActionError("not an object".to_owned()));
    }
    serde_json::from_str(raw.get()).map_err(|error| ActionError(json::error_reason(&error)))
}

/// Serializes one of the types of this module as parameters or results.
pub fn encode<T: serde::Serialize>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("these types always serialise")
}

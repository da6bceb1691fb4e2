//! The extensions of PXP that an agent announces in a header of its WebSocket upgrade request.
//!
//! An agent sends [`AgentCapabilities`] to the broker, which passes them to the fabric. Invariant:
//! an extension is only used with an agent that announced it, and an unknown token is ignored, so
//! that old servers accept new agents.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::defaults::MAX_CAPABILITIES_BYTES;

/// Name of the header. Its value is a list such as
/// `version=0.1.0, live_output, acknowledged_results, cancel, facts, extended_requests,
/// file_servers, leases, spool_id=<uuid>`.
pub const CAPABILITIES_HEADER: &str = "Tutti-Pxp-Extensions";

/// The extensions that one agent supports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCapabilities {
    /// The agent's version; empty if it sent none.
    pub version: String,
    /// True if the agent sends output while an action runs.
    #[serde(default)]
    pub live_output: bool,
    /// True if the agent sends an outcome again until it is acknowledged.
    #[serde(default)]
    pub acknowledged_results: bool,
    /// True if the agent can end a running action.
    #[serde(default)]
    pub cancel: bool,
    /// True if the agent returns facts: module `facts`, action `collect`.
    #[serde(default)]
    pub facts: bool,
    /// True if the agent accepts the member `extended` in requests.
    #[serde(default)]
    pub extended_requests: bool,
    /// True if the agent accepts the member `file_servers` in requests.
    #[serde(default)]
    pub file_servers: bool,
    /// True if the agent holds leases: module `tutti`, action `hold_lease`.
    #[serde(default)]
    pub leases: bool,
    /// Id of the agent's spool. A new id means that the agent has lost all earlier runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spool_id: Option<Uuid>,
}

/// The error for a header value that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapabilitiesError {
    /// The value is longer than [`MAX_CAPABILITIES_BYTES`].
    #[error("the value has {0} bytes; the limit is {MAX_CAPABILITIES_BYTES}")]
    TooLong(usize),
    /// The value is not visible ASCII, so it could not be forwarded as a header nor be logged.
    #[error("the value is not printable ASCII")]
    NotAscii,
    /// The id of the spool is not a UUID.
    #[error("spool_id is not a UUID")]
    SpoolId,
}

impl fmt::Display for AgentCapabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version={}", self.version)?;
        let flags = [
            ("live_output", self.live_output),
            ("acknowledged_results", self.acknowledged_results),
            ("cancel", self.cancel),
            ("facts", self.facts),
            ("extended_requests", self.extended_requests),
            ("file_servers", self.file_servers),
            ("leases", self.leases),
        ];
        for (name, _) in flags.iter().filter(|(_, set)| *set) {
            write!(f, ", {name}")?;
        }
        match self.spool_id {
            Some(spool_id) => write!(f, ", spool_id={spool_id}"),
            None => Ok(()),
        }
    }
}

impl FromStr for AgentCapabilities {
    type Err = CapabilitiesError;

    fn from_str(text: &str) -> Result<Self, CapabilitiesError> {
        if text.len() > MAX_CAPABILITIES_BYTES {
            return Err(CapabilitiesError::TooLong(text.len()));
        }
        if text
            .bytes()
            .any(|byte| !matches!(byte, b' '..=b'~' | b'\t'))
        {
            return Err(CapabilitiesError::NotAscii);
        }
        let mut capabilities = Self::default();
        for token in text.split(',') {
            let (name, value) = token.split_once('=').unwrap_or((token, ""));
            let value = value.trim();
            match name.trim() {
                "version" => value.clone_into(&mut capabilities.version),
                "live_output" => capabilities.live_output = true,
                "acknowledged_results" => capabilities.acknowledged_results = true,
                "cancel" => capabilities.cancel = true,
                "facts" => capabilities.facts = true,
                "extended_requests" => capabilities.extended_requests = true,
                "file_servers" => capabilities.file_servers = true,
                "leases" => capabilities.leases = true,
                "spool_id" => {
                    let id = Uuid::try_parse(value).map_err(|_| CapabilitiesError::SpoolId)?;
                    capabilities.spool_id = Some(id);
                }
                _ => {}
            }
        }
        Ok(capabilities)
    }
}

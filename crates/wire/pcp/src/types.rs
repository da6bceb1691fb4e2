//! Message types of the PCP layer, by which brokers and clients describe their connections, and
//! their data.
//!
//! Invariant: schemas are closed; [`decode`] refuses an unknown key and names it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{MessageId, PcpUri};

/// Request of a v1 client for its association, which it already has; answered with
/// [`ASSOCIATE_RESPONSE`]. It has no data.
pub const ASSOCIATE_REQUEST: &str = "http://puppetlabs.com/associate_request";
/// Broker's answer to an associate request, with data [`AssociateResponse`].
pub const ASSOCIATE_RESPONSE: &str = "http://puppetlabs.com/associate_response";
/// Request for the list of connected clients, with data [`InventoryRequest`].
pub const INVENTORY_REQUEST: &str = "http://puppetlabs.com/inventory_request";
/// Broker's answer to an inventory request, with data [`InventoryResponse`].
pub const INVENTORY_RESPONSE: &str = "http://puppetlabs.com/inventory_response";
/// Broker's message about changed connections, with data [`InventoryUpdate`].
pub const INVENTORY_UPDATE: &str = "http://puppetlabs.com/inventory_update";
/// Error message. Its data is a bare string in v2 (and in a [`PcpMessage`](crate::PcpMessage)), and
/// an object of the string and the id of the message that caused the error in v1.
pub const ERROR_MESSAGE: &str = "http://puppetlabs.com/error_message";
/// Part of the v1 specification; no broker in the field sends it, but clients understand it.
pub const TTL_EXPIRED: &str = "http://puppetlabs.com/ttl_expired";

/// Longest description of a data error in characters; it may contain a key that a peer invented.
const MAX_REASON_CHARS: usize = 160;

/// Request for the connected clients, optionally with a subscription to changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InventoryRequest {
    /// Addresses to search for, with `*` for the common name, the type or both.
    pub query: Vec<PcpUri>,
    /// True to subscribe to changes. `false` and `None` both end an earlier subscription.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
}

/// Answer to an [`InventoryRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InventoryResponse {
    /// Addresses of the connected clients, sorted by their text.
    pub uris: Vec<PcpUri>,
}

/// The changes since the answer or the last update, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InventoryUpdate {
    /// Connections and disconnections. A client that connected and disconnected within one batch is
    /// listed twice.
    pub changes: Vec<InventoryChange>,
}

/// A client that connected or disconnected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InventoryChange {
    /// Address of the client.
    pub client: PcpUri,
    /// Direction of the change; `1` or `-1` on the wire.
    pub change: InventoryDirection,
}

/// The direction of an [`InventoryChange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub enum InventoryDirection {
    /// The client connected; `1` on the wire.
    Connected,
    /// The client disconnected; `-1` on the wire.
    Disconnected,
}

/// Result of the association of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssociateResponse {
    /// Id of the associate request.
    pub id: MessageId,
    /// True if the session is associated. After `false` the broker closes the session.
    pub success: bool,
    /// Reason for a refusal; `None` on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The data of [`TTL_EXPIRED`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TtlExpired {
    /// Id of the message that expired.
    pub id: MessageId,
}

/// The error for data that does not fit the message's type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageDataError {
    /// The message has no data.
    #[error("the message has no data")]
    Missing,
    /// The data does not fit the schema.
    #[error("the data does not fit: {0}")]
    Invalid(String),
}

/// Parses a message's data as one of the types above.
pub fn decode<T: DeserializeOwned>(data: Option<&RawValue>) -> Result<T, MessageDataError> {
    let raw = data.ok_or(MessageDataError::Missing)?;
    serde_json::from_str(raw.get()).map_err(|error| {
        let reason = decode_errors::DecodeError::from(error).to_string();
        MessageDataError::Invalid(reason.chars().take(MAX_REASON_CHARS).collect())
    })
}

/// Serializes one of the types above as a message's data.
pub fn encode<T: Serialize>(data: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(data).expect("these types always serialise")
}

impl TryFrom<i64> for InventoryDirection {
    type Error = &'static str;

    fn try_from(number: i64) -> Result<Self, &'static str> {
        match number {
            1 => Ok(Self::Connected),
            -1 => Ok(Self::Disconnected),
            _ => Err("a change is 1 or -1"),
        }
    }
}

impl From<InventoryDirection> for i64 {
    fn from(change: InventoryDirection) -> Self {
        match change {
            InventoryDirection::Connected => 1,
            InventoryDirection::Disconnected => -1,
        }
    }
}

//! What brokers and clients say about themselves: message types of the PCP layer, and their data.
//!
//! The rule: closed schemas; [`decode`] refuses a key that it does not know, and says which.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{MessageId, PcpUri};

/// A v1 client asks for what it already has; answered with [`ASSOCIATE_RESPONSE`]. No data.
pub const ASSOCIATE_REQUEST: &str = "http://puppetlabs.com/associate_request";
/// Data: [`AssociateResponse`].
pub const ASSOCIATE_RESPONSE: &str = "http://puppetlabs.com/associate_response";
/// Data: [`InventoryRequest`].
pub const INVENTORY_REQUEST: &str = "http://puppetlabs.com/inventory_request";
/// Data: [`InventoryResponse`].
pub const INVENTORY_RESPONSE: &str = "http://puppetlabs.com/inventory_response";
/// Data: [`InventoryUpdate`].
pub const INVENTORY_UPDATE: &str = "http://puppetlabs.com/inventory_update";
/// Data: a bare string in v2 (and in a [`Message`](crate::Message)), [`ErrorMessage`] in v1.
pub const ERROR_MESSAGE: &str = "http://puppetlabs.com/error_message";
/// Of the v1 specification; no broker in the field sends it, clients understand it.
pub const TTL_EXPIRED: &str = "http://puppetlabs.com/ttl_expired";
/// Of the specifications; never sent by any implementation.
pub const VERSION_ERROR: &str = "http://puppetlabs.com/version_error";
/// Of the v1 specification; never sent by any implementation.
pub const DESTINATION_REPORT: &str = "http://puppetlabs.com/destination_report";
/// Of the v2 specification; brokers send an [`ERROR_MESSAGE`] instead.
pub const UNAUTHORIZED: &str = "http://puppetlabs.com/unauthorized";

/// Longest description of a data error in characters; a key that a peer made up stands in it.
const MAX_REASON_CHARS: usize = 160;

/// Which clients are connected, and whether to be told of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InventoryRequest {
    /// Addresses, with `*` for the common name, the type or both.
    pub query: Vec<PcpUri>,
    /// `false` and absent both end an earlier subscription.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InventoryResponse {
    /// Sorted by their text.
    pub uris: Vec<PcpUri>,
}

/// What changed since the answer or the last update, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InventoryUpdate {
    /// A client that came and went within one batch is listed twice.
    pub changes: Vec<InventoryChange>,
}

/// One client came or went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InventoryChange {
    /// The client's address.
    pub client: PcpUri,
    /// `1` or `-1` on the wire.
    pub change: Change,
}

/// The direction of an [`InventoryChange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub enum Change {
    /// `1`
    Connected,
    /// `-1`
    Disconnected,
}

/// Whether a session is associated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssociateResponse {
    /// The request's id.
    pub id: MessageId,
    /// When `false`, the broker closes the session next.
    pub success: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The data of an [`ERROR_MESSAGE`] in v1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorMessage {
    /// The message that went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
    /// For people.
    pub description: String,
}

/// The data of [`TTL_EXPIRED`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TtlExpired {
    /// The message that expired.
    pub id: MessageId,
}

/// Why a message's data is not what its type says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// There is none.
    #[error("the message has no data")]
    Missing,
    /// It does not fit the schema.
    #[error("the data does not fit: {0}")]
    Invalid(String),
}

/// Reads a message's data as one of the types above.
pub fn decode<T: DeserializeOwned>(data: Option<&RawValue>) -> Result<T, DataError> {
    let raw = data.ok_or(DataError::Missing)?;
    serde_json::from_str(raw.get()).map_err(|error| {
        let reason = decode_errors::DecodeError::from(error).to_string();
        DataError::Invalid(reason.chars().take(MAX_REASON_CHARS).collect())
    })
}

/// One of the types above as a message's data.
pub fn encode<T: Serialize>(data: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(data).expect("these types always serialise")
}

impl TryFrom<i64> for Change {
    type Error = &'static str;

    fn try_from(number: i64) -> Result<Self, &'static str> {
        match number {
            1 => Ok(Self::Connected),
            -1 => Ok(Self::Disconnected),
            _ => Err("a change is 1 or -1"),
        }
    }
}

impl From<Change> for i64 {
    fn from(change: Change) -> Self {
        match change {
            Change::Connected => 1,
            Change::Disconnected => -1,
        }
    }
}

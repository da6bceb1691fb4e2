//! Connections to nodes without an agent: `/inventory/v1`, and `targets[]` of `POST command/task`.
//!
//! Invariant: `Debug` never shows a value that may hold secrets.

use std::fmt;

use partial_debug::partial_debug;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, Object, kinds, strict};

/// Body of `POST command/create-connection`.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateConnection {
    /// Certnames of the nodes that the connection is for.
    pub certnames: Vec<String>,
    /// Transport of the connection; only `ssh`.
    #[serde(rename = "type")]
    #[schema(example = "ssh")]
    pub kind: String,
    /// Settings of the connection: `user`, `port`, `hostname`, `connect-timeout`, `run-as`,
    /// `run-as-command`, `tmpdir`, `tty`, `replaces-agent`, `extensions`.
    #[schema(value_type = Object)]
    pub parameters: Guarded,
    /// Secret settings: `password`, `private-key-content`, `sudo-password`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub sensitive_parameters: Guarded,
    /// Action if a node already has a connection: `error` (the default) or `replace`.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub duplicates: Option<String>,
}

/// JSON value that may hold secrets.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Guarded(pub Value);

/// Reply to `POST command/create-connection`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectionCreated {
    /// UUID of the new connection.
    pub connection_id: String,
}

/// Body of `POST command/delete-connection`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteConnection {
    /// Certnames of the nodes whose connections are deleted.
    pub certnames: Vec<String>,
}

/// Filter of a query for connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionsQuery {
    /// Only connections of these nodes; absent: all connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certnames: Option<Vec<String>>,
    /// Include secrets; this needs a permission of its own.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub sensitive: bool,
    /// Keys of each connection to return, besides its id; absent: all keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extract: Option<Vec<String>>,
}

/// Reply to a query for connections.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConnectionList {
    /// Connections, sorted by id.
    pub items: Vec<ConnectionItem>,
}

/// Connection to nodes without an agent.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConnectionItem {
    /// UUID of the connection.
    pub connection_id: String,
    /// Certnames of the connection's nodes that match the query; absent if not extracted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certnames: Option<Vec<String>>,
    /// Transport, always `ssh`; absent if not extracted.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Settings without secrets; absent if not extracted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub parameters: Option<Object>,
    /// Secret settings; absent unless the query requested them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub sensitive_parameters: Option<Object>,
}

/// Keys that `extract` may name.
const EXTRACTED: [&str; 5] = [
    "connection_id",
    "certnames",
    "type",
    "parameters",
    "sensitive_parameters",
];

impl Guarded {
    /// Converts the value into an object; null becomes an empty one. The error shows no part of the
    /// value.
    ///
    /// # Errors
    /// A validation error that names `place`.
    pub fn into_object(self, place: &str) -> Result<Object, ApiError> {
        match self.0 {
            Value::Object(object) => Ok(object),
            Value::Null => Ok(Object::new()),
            _ => Err(ApiError::invalid(place, "an object is expected")),
        }
    }
}

impl ConnectionsQuery {
    /// Reads the query parameters `certname` (one), `sensitive` and `extract` (keys separated by
    /// commas).
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn from_parameters(mut given: Parameters) -> Result<Self, ApiError> {
        let flag = [("true", true), ("false", false)];
        let query = Self {
            certnames: given.text("certname").map(|name| vec![name]),
            sensitive: given.one_of("sensitive", &flag)?.unwrap_or_default(),
            extract: given
                .text("extract")
                .map(|keys| keys.split(',').map(str::to_owned).collect()),
        };
        given.finish()?;
        Ok(query)
    }

    /// Checks the limits that the types do not express.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        let mut keys = self.extract.iter().flatten();
        match keys.find(|key| !EXTRACTED.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let shown: String = key.chars().take(40).collect();
                let what = format!("{shown:?} is none of {}", EXTRACTED.join(", "));
                Err(ApiError::invalid("extract", what))
            }
        }
    }

    /// Returns true if `key` is to be returned.
    pub fn wants(&self, key: &str) -> bool {
        let extract = self.extract.as_ref();
        extract.is_none_or(|keys| keys.iter().any(|wanted| wanted == key))
    }
}

/// Checks that `kind` is a supported transport.
///
/// # Errors
/// `tutti/not-supported` for WinRM, a validation error for any other transport.
pub fn check_transport(place: &str, kind: &str) -> Result<(), ApiError> {
    match kind {
        "ssh" => Ok(()),
        "winrm" => {
            let msg = "WinRM is not supported; install tutti-agent on the node, or give it an SSH \
                       server";
            Err(ApiError::new(kinds::NOT_SUPPORTED, msg).with("path", place.into()))
        }
        _ => Err(ApiError::invalid(place, "only ssh is known here")),
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guarded(..)")
    }
}

partial_debug!(CreateConnection { certnames, kind });

partial_debug!(ConnectionItem {
    connection_id,
    certnames
});

impl fmt::Debug for ConnectionList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.items).finish()
    }
}

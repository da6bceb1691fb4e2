//! Nodes without an agent and how they are reached: `/inventory/v1`, and `targets[]` of
//! `POST command/task`.
//!
//! The rule: what may hold secrets is never shown by `Debug`.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, Object, kinds, strict};

/// `POST command/create-connection`.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateConnection {
    /// The nodes.
    pub certnames: Vec<String>,
    /// `ssh`.
    #[serde(rename = "type")]
    #[schema(example = "ssh")]
    pub kind: String,
    /// `user`, `port`, `hostname`, `connect-timeout`, `run-as`, `run-as-command`, `tmpdir`, `tty`,
    /// `replaces-agent`, `extensions`.
    #[schema(value_type = Object)]
    pub parameters: Guarded,
    /// `password`, `private-key-content`, `sudo-password`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub sensitive_parameters: Guarded,
    /// `error` (the default) or `replace`: what is done when a node has a connection already.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub duplicates: Option<String>,
}

/// Something that may hold secrets.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Guarded(pub Value);

/// The reply to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectionCreated {
    /// A UUID.
    pub connection_id: String,
}

/// `POST command/delete-connection`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteConnection {
    /// The nodes.
    pub certnames: Vec<String>,
}

/// Which connections are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionsQuery {
    /// Of these nodes; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certnames: Option<Vec<String>>,
    /// With secrets; needs a permission of its own.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub sensitive: bool,
    /// These keys of each connection alone; its id always comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extract: Option<Vec<String>>,
}

/// The reply to it.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConnectionList {
    /// By id.
    pub items: Vec<ConnectionItem>,
}

/// A connection.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConnectionItem {
    /// A UUID.
    pub connection_id: String,
    /// Its nodes; of those that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certnames: Option<Vec<String>>,
    /// `ssh`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub parameters: Option<Object>,
    /// The secrets, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub sensitive_parameters: Option<Object>,
}

/// Keys that can be extracted.
const EXTRACTED: [&str; 5] = [
    "connection_id",
    "certnames",
    "type",
    "parameters",
    "sensitive_parameters",
];

impl Guarded {
    /// An object; `None` is an empty one. The error shows nothing of it.
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
    /// From a URL: `certname` (one), `sensitive`, `extract` (keys with commas between them).
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

    /// What the types alone do not say.
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

    /// Whether a key is wanted.
    pub fn wants(&self, key: &str) -> bool {
        let extract = self.extract.as_ref();
        extract.is_none_or(|keys| keys.iter().any(|wanted| wanted == key))
    }
}

/// Whether nodes are reached by `kind` here.
///
/// # Errors
/// `tutti/not-supported` for WinRM, a validation error for what nobody knows.
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

impl fmt::Debug for CreateConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateConnection")
            .field("certnames", &self.certnames)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ConnectionItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionItem")
            .field("connection_id", &self.connection_id)
            .field("certnames", &self.certnames)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ConnectionList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.items).finish()
    }
}

//! `GET /orchestrator`: overview of the API.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Overview of the API: its version, collections and commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Root {
    /// Title, version and licence of the API.
    pub info: Info,
    /// Link to the status of the service.
    pub status: NamedLink,
    /// Links to the resources that can be listed.
    pub collections: Vec<NamedLink>,
    /// Links to the commands.
    pub commands: Vec<NamedLink>,
}

/// Title, version and licence of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Info {
    /// Title of the API.
    pub title: String,
    /// Purpose of the API.
    pub description: String,
    /// Caution for users of the API.
    pub warning: String,
    /// The version of the API.
    pub version: String,
    /// Licence of the API.
    pub license: License,
}

/// Licence with a link to its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct License {
    /// Name of the licence.
    pub name: String,
    /// URL of the licence's text.
    pub url: String,
}

/// Link to a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Link {
    /// Absolute URL of the resource.
    pub id: String,
}

/// Link to a resource, with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamedLink {
    /// Name of the resource.
    pub name: String,
    /// Absolute URL of the resource.
    pub id: String,
}

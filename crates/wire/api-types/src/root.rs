//! `GET /orchestrator`: what is here.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The document at the root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Root {
    /// About the API.
    pub info: Info,
    /// Where its status is.
    pub status: NamedLink,
    /// What can be listed.
    pub collections: Vec<NamedLink>,
    /// What can be done.
    pub commands: Vec<NamedLink>,
}

/// About the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Info {
    /// Its name.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// What to beware of.
    pub warning: String,
    /// The version of the API.
    pub version: String,
    /// The licence.
    pub license: License,
}

/// A licence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct License {
    /// Its name.
    pub name: String,
    /// Its text.
    pub url: String,
}

/// An absolute URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Link {
    /// The URL.
    pub id: String,
}

/// An absolute URL with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamedLink {
    /// The name.
    pub name: String,
    /// The URL.
    pub id: String,
}

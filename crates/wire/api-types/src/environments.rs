//! `GET environments` and the resources below it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::root::Link;

/// The environments that have code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentList {
    /// Environments, sorted by name.
    pub items: Vec<Environment>,
}

/// An environment with links to its resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Environment {
    /// The environment's absolute URL.
    pub id: String,
    /// Name of the environment.
    pub name: String,
    /// Link to the applications of the environment.
    pub applications: Link,
    /// Link to the application instances of the environment.
    pub instances: Link,
    /// Code version (code id); null if the environment is not versioned.
    #[serde(default)]
    #[schema(example = "urn:puppet:code-id:1:0123abcd;production")]
    pub code_id: Option<String>,
}

/// The applications of an environment: none, since there is no application orchestration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApplicationList {
    /// Always empty, since there is no application orchestration.
    #[schema(value_type = Vec<Object>)]
    pub items: Vec<Value>,
    /// Link to the application instances.
    pub instances: Link,
}

/// The instances of applications in an environment: none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstanceList {
    /// Always empty, since there is no application orchestration.
    #[schema(value_type = Vec<Object>)]
    pub items: Vec<Value>,
}

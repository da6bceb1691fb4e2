//! `GET environments` and what is below it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::root::Link;

/// The environments that have code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentList {
    /// By name.
    pub items: Vec<Environment>,
}

/// One environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Environment {
    /// The environment's absolute URL.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where its applications are.
    pub applications: Link,
    /// Where the instances of its applications are.
    pub instances: Link,
    /// The version of its code; null when it is not versioned.
    #[serde(default)]
    #[schema(example = "urn:puppet:code-id:1:0123abcd;production")]
    pub code_id: Option<String>,
}

/// The applications of an environment: none, since there is no application orchestration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApplicationList {
    /// Always empty.
    #[schema(value_type = Vec<Object>)]
    pub items: Vec<Value>,
    /// Where their instances are.
    pub instances: Link,
}

/// The instances of applications in an environment: none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstanceList {
    /// Always empty.
    #[schema(value_type = Vec<Object>)]
    pub items: Vec<Value>,
}

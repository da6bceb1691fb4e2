//! Environments and classes that node groups can refer to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Object, PreciseTimestamp};

/// Environment that a node group can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClassifierEnvironment {
    /// Name of the environment.
    pub name: String,
    /// True if the environment could be read: its classes from a puppetserver, or else its
    /// directory.
    pub sync_succeeded: bool,
}

/// Class that a node group can assign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassifierClass {
    /// Name of the class.
    pub name: String,
    /// Environment whose code declares the class.
    pub environment: String,
    /// Parameters with their defaults: a value, or the Puppet expression that yields one; null if
    /// there is no default.
    #[schema(value_type = Object)]
    pub parameters: Object,
}

/// Time at which the classes of all environments were last read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastClassUpdate {
    /// Time of the last complete update; null if there was none since the server started.
    pub last_update: Option<PreciseTimestamp>,
}

//! What groups can refer to: environments and classes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Object, PreciseTimestamp};

/// An environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClassifierEnvironment {
    /// Its name.
    pub name: String,
    /// Whether its classes could be read.
    pub sync_succeeded: bool,
}

/// A class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassifierClass {
    /// Its name.
    pub name: String,
    /// Whose code has it.
    pub environment: String,
    /// Parameters with their defaults.
    #[schema(value_type = Object)]
    pub parameters: Object,
}

/// When classes were last read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastClassUpdate {
    /// Null: never.
    pub last_update: Option<PreciseTimestamp>,
}

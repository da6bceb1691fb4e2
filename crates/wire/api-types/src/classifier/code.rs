//! What groups can refer to: environments and classes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Object, PreciseTimestamp};

/// An environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClassifierEnvironment {
    /// Its name.
    pub name: String,
    /// Whether it could be read: its classes where a puppetserver tells them, else its directory.
    pub sync_succeeded: bool,
}

/// A class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassifierClass {
    /// Its name.
    pub name: String,
    /// Whose code has it.
    pub environment: String,
    /// Parameters with their defaults: a value, or the text of code that gives one; null where
    /// there is none.
    #[schema(value_type = Object)]
    pub parameters: Object,
}

/// When the classes of all environments were last read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastClassUpdate {
    /// Null: not since the server was started.
    pub last_update: Option<PreciseTimestamp>,
}

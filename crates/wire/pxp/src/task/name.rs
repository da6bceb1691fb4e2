//! The name of a task: `module` or `module::task`.
//!
//! [`TaskName`] is a closed type because both parts become components of paths. Invariant:
//! `module::init` is the same task as `module` and is stored as `module`, so that a permission on
//! one cannot be evaded by using the other.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::defaults::MAX_TASK_NAME_BYTES;

const INIT: &str = "init";

/// A checked task name. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskName(Arc<str>);

/// The error for a text that is not a task name. The text is not quoted: it may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a task's name is module or module::task; both parts begin with a lower-case letter and \
     continue with lower-case letters, digits and underscores"
)]
pub struct TaskNameError;

impl TaskName {
    /// A name from its two parts, as they are in URLs.
    pub fn from_parts(module: &str, task: &str) -> Result<Self, TaskNameError> {
        format!("{module}::{task}").parse()
    }

    /// The whole name, as `module` or `module::task`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Name of the task's module.
    pub fn module(&self) -> &str {
        self.0
            .split_once("::")
            .map_or(&self.0, |(module, _)| module)
    }

    /// Name of the task within the module; `init` for a bare module name.
    pub fn task(&self) -> &str {
        self.0.split_once("::").map_or(INIT, |(_, task)| task)
    }
}

impl FromStr for TaskName {
    type Err = TaskNameError;

    fn from_str(text: &str) -> Result<Self, TaskNameError> {
        let (module, task) = text.split_once("::").unwrap_or((text, INIT));
        if text.len() > MAX_TASK_NAME_BYTES || !is_name(module) || !is_name(task) {
            return Err(TaskNameError);
        }
        Ok(Self(if task == INIT {
            module.into()
        } else {
            text.into()
        }))
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

impl AsRef<str> for TaskName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for TaskName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskName({})", self.0)
    }
}

impl Serialize for TaskName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TaskName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

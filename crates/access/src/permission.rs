//! What may be done: an action on a type of object, on one instance or another.

use std::fmt;

/// A right that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permission<'a> {
    /// For example `tasks`.
    pub object_type: &'a str,
    /// For example `run`.
    pub action: &'a str,
    /// On what.
    pub instance: Instance<'a>,
}

/// On which instance a right is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instance<'a> {
    /// On at least one: enough to reach a route.
    Any,
    /// On this one, for example a task's name.
    Named(&'a str),
}

/// The right is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{login} lacks the permission {permission}")]
pub struct Denied {
    /// Who asked.
    pub login: String,
    /// For what, as `tasks:run:package`.
    pub permission: String,
}

impl fmt::Display for Permission<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.object_type, self.action)?;
        match self.instance {
            Instance::Any => Ok(()),
            Instance::Named(name) => write!(f, ":{name}"),
        }
    }
}

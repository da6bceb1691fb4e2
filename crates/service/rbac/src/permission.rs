//! Permissions: an action on an instance of an object type. [`RequestedPermission`] is a permission
//! that a request requires, [`PermissionGrant`] a permission that a role has.

use std::fmt;

use crate::catalog;
use crate::code_instance::{CodeInstance, is_code_action};
use crate::defaults::INSTANCE_BYTES;

/// The instance that stands for all instances.
pub(crate) const ALL: &str = "*";

/// A permission that a request requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedPermission<'a> {
    /// Name of the object type, for example `tasks`.
    pub object_type: &'a str,
    /// Name of the action, for example `run`.
    pub action: &'a str,
    /// The instance of the object type that the request concerns.
    pub instance: PermissionInstance<'a>,
}

/// The instance that a request requires the permission for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionInstance<'a> {
    /// At least one instance, which is enough to reach a route.
    Any,
    /// This instance, for example the name of a task. `*` stands for all instances.
    Named(&'a str),
}

/// A permission of a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PermissionGrant {
    /// Name of the object type, for example `tasks`.
    pub object_type: String,
    /// Name of the action, for example `run`.
    pub action: String,
    /// `*`, or the id of an instance.
    pub instance: String,
}

/// The user lacks a permission.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{login} lacks the permission {permission}")]
pub struct PermissionDenied {
    /// Login of the user who lacks it.
    pub login: String,
    /// The missing permission, written as `tasks:run:package`.
    pub permission: String,
}

/// Reason why no role can have a permission.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The [catalog] does not list the permission.
    #[error("there is no permission {0}; GET /rbac-api/v1/types lists all")]
    Unknown(String),
    /// The action has no instances.
    #[error("{0} has no instances: the instance must be \"*\"")]
    NoInstances(String),
    /// The instance names a task or plan with an environment name that is not valid.
    #[error(
        "the instance of {0} is a name, or a name and an environment: package, package@staging, package@*"
    )]
    Code(String),
    /// The instance is empty, too long, or has control characters.
    #[error("the instance of {0} is empty, too long, or has control characters")]
    Instance(String),
}

impl<'a> RequestedPermission<'a> {
    /// `object_type:action` on this instance.
    pub fn on(object_type: &'a str, action: &'a str, instance: &'a str) -> Self {
        Self {
            object_type,
            action,
            instance: PermissionInstance::Named(instance),
        }
    }

    /// `object_type:action` on at least one instance.
    pub fn any(object_type: &'a str, action: &'a str) -> Self {
        Self {
            object_type,
            action,
            instance: PermissionInstance::Any,
        }
    }
}

impl fmt::Display for RequestedPermission<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.object_type, self.action)?;
        match self.instance {
            PermissionInstance::Any => Ok(()),
            PermissionInstance::Named(name) => write!(f, ":{name}"),
        }
    }
}

impl PermissionGrant {
    /// An unchecked permission. [`PermissionGrant::check`] validates it.
    pub fn new(
        object_type: impl Into<String>,
        action: impl Into<String>,
        instance: impl Into<String>,
    ) -> Self {
        Self {
            object_type: object_type.into(),
            action: action.into(),
            instance: instance.into(),
        }
    }

    /// Fails if the [catalog] does not list the permission, or if its instance is not valid.
    pub fn check(&self) -> Result<(), GrantError> {
        let named = || {
            let both = format!("{}:{}", self.object_type, self.action);
            both.chars().take(80).collect::<String>()
        };
        let action = catalog::find(&self.object_type, &self.action);
        let action = action.ok_or_else(|| GrantError::Unknown(named()))?;
        let instance = &self.instance;
        if instance.is_empty()
            || instance.len() > INSTANCE_BYTES
            || instance.chars().any(char::is_control)
        {
            return Err(GrantError::Instance(named()));
        }
        let is_of_code = is_code_action(&self.object_type, &self.action);
        if is_of_code && !CodeInstance::is_valid(instance) {
            return Err(GrantError::Code(named()));
        }
        if instance != ALL && !action.has_instances {
            return Err(GrantError::NoInstances(named()));
        }
        Ok(())
    }

    /// The permission in the form that a request requires it.
    pub(crate) fn as_permission(&self) -> RequestedPermission<'_> {
        RequestedPermission::on(&self.object_type, &self.action, &self.instance)
    }
}

impl fmt::Display for PermissionGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_permission().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_checked_against_the_catalogue() {
        for (grant, good) in [
            (PermissionGrant::new("tasks", "run", "package"), true),
            (PermissionGrant::new("tasks", "run", "*"), true),
            (
                PermissionGrant::new("tasks", "run", "package@staging"),
                true,
            ),
            (PermissionGrant::new("plans", "run", "*@*"), true),
            (PermissionGrant::new("tasks", "run", "package@"), false),
            (PermissionGrant::new("plans", "run", "@staging"), false),
            (PermissionGrant::new("orchestrator", "view", "*"), true),
            (PermissionGrant::new("orchestrator", "view", "1"), false),
            (PermissionGrant::new("*", "*", "*"), false),
            (PermissionGrant::new("tasks", "*", "*"), false),
            (PermissionGrant::new("tasks", "run", ""), false),
            (PermissionGrant::new("tasks", "run", "a\0b"), false),
            (
                PermissionGrant::new("tasks", "run", "x".repeat(2_000)),
                false,
            ),
            (
                PermissionGrant::new("tasks'; DROP TABLE users --", "run", "*"),
                false,
            ),
        ] {
            assert_eq!(grant.check().is_ok(), good, "{grant}");
        }
    }
}

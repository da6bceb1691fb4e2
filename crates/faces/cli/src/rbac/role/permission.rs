//! Permissions as text: `tasks:run:package`. Main functions: [`parse`], [`format`].

use api_types::rbac::PermissionSpec;

use crate::Result;
use crate::failure::usage;
use crate::terminal::escape_control;

/// The instance that stands for all instances.
const ALL: &str = "*";

/// Parses `TYPE:ACTION`, on every instance, or `TYPE:ACTION:INSTANCE`; an instance may contain
/// colons.
pub(super) fn parse(word: &str) -> Result<PermissionSpec> {
    let mut parts = word.splitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(kind), Some(action), instance) if !kind.is_empty() && !action.is_empty() => {
            Ok(PermissionSpec {
                object_type: kind.to_owned(),
                action: action.to_owned(),
                instance: instance.unwrap_or(ALL).to_owned(),
            })
        }
        _ => usage(format!(
            "`{}` is not a permission; write type:action or type:action:instance, as in \
             tasks:run:package (`tutti role permissions` lists them)",
            escape_control(word)
        )),
    }
}

pub(super) fn parse_all(words: &[String]) -> Result<Vec<PermissionSpec>> {
    words.iter().map(|word| parse(word)).collect()
}

/// Formats a permission as [`parse`] reads it.
pub(super) fn format(permission: &PermissionSpec) -> String {
    let PermissionSpec {
        object_type,
        action,
        instance,
    } = permission;
    escape_control(&match instance.as_str() {
        ALL => format!("{object_type}:{action}"),
        instance => format!("{object_type}:{action}:{instance}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_read() {
        for word in [
            "tasks:run",
            "tasks:run:package",
            "tasks:run:service::restart",
        ] {
            assert_eq!(format(&parse(word).unwrap()), word);
        }
        assert_eq!(parse("tasks:run").unwrap().instance, "*");
    }

    #[test]
    fn half_a_permission_is_none() {
        for word in ["", "tasks", "tasks:", ":run", "::"] {
            assert!(parse(word).is_err(), "{word}");
        }
    }
}

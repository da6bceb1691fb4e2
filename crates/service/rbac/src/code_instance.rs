//! Instances of `tasks:run` and `plans:run`: [`CodeInstance`], a name and the environment that the
//! code belongs to.
//!
//! With push access to a branch, a user can write the code of its environment; therefore a
//! permission to run code names the environment. Invariant: an instance without an environment
//! covers the environment of each node, and no other.

use crate::permission::ALL;

/// Separator of name and environment, which neither contains.
const SEPARATOR: char = '@';

/// `package`, `package@staging`, `package@*`; and `*` for every name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeInstance<'a> {
    pub(crate) name: &'a str,
    pub(crate) environment: CodeEnvironment<'a>,
}

/// The environment that code belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeEnvironment<'a> {
    /// The environment of each node.
    EachNode,
    /// This environment, on every node.
    Named(&'a str),
    /// Any environment, on every node.
    Any,
}

/// Nodes on which a permission lets the code of an environment run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeReach {
    /// Nodes in the environment of the code.
    OwnEnvironment,
    /// All nodes: the permission names the environment, or a setting allows it.
    EveryNode,
}

/// Environments to which an instance of `tasks:run` or `plans:run` without an environment applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnnamedEnvironmentScope {
    /// The environment of each node.
    #[default]
    EachNode,
    /// Any environment on every node, as in Puppet Enterprise.
    Any,
}

/// True if instances of this permission are [`CodeInstance`]s.
pub(crate) fn is_code_action(object_type: &str, action: &str) -> bool {
    matches!((object_type, action), ("tasks" | "plans", "run"))
}

// === impl CodeInstance ===

impl<'a> CodeInstance<'a> {
    /// Reads the instance of a granted permission.
    pub(crate) fn parse(text: &'a str) -> Self {
        let Some((name, environment)) = text.split_once(SEPARATOR) else {
            return Self {
                name: text,
                environment: CodeEnvironment::EachNode,
            };
        };
        let environment = match environment {
            ALL => CodeEnvironment::Any,
            named => CodeEnvironment::Named(named),
        };
        Self { name, environment }
    }

    /// True if a role may grant it: it has a name, and its environment is a valid environment name.
    pub(crate) fn is_valid(text: &str) -> bool {
        let instance = CodeInstance::parse(text);
        let is_sign = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let environment = match instance.environment {
            CodeEnvironment::Named(name) => !name.is_empty() && name.chars().all(is_sign),
            CodeEnvironment::EachNode | CodeEnvironment::Any => true,
        };
        !instance.name.is_empty() && environment
    }

    /// True if a holder of this instance also holds `other`.
    pub(crate) fn covers(&self, other: &CodeInstance<'_>) -> bool {
        let name = self.name == ALL || self.name == other.name;
        name && match self.environment {
            CodeEnvironment::Any => true,
            mine => mine == other.environment,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_covers_its_environment_and_no_other() {
        let covers =
            |has: &str, asked: &str| CodeInstance::parse(has).covers(&CodeInstance::parse(asked));
        for (has, asked) in [
            ("package", "package"),
            ("*", "package"),
            ("package@*", "package"),
            ("package@*", "package@staging"),
            ("*@*", "package@staging"),
            ("*@*", "*"),
            ("*@staging", "package@staging"),
            ("package@staging", "package@staging"),
        ] {
            assert!(covers(has, asked), "{has} {asked}");
        }
        for (has, asked) in [
            ("package", "service"),
            ("package", "package@staging"),
            ("*", "package@staging"),
            ("*", "*@*"),
            ("package@staging", "package"),
            ("package@staging", "package@production"),
            ("*@staging", "*"),
            ("package@*", "*@*"),
        ] {
            assert!(!covers(has, asked), "{has} {asked}");
        }
    }

    #[test]
    fn instances_that_can_be_given() {
        for good in [
            "*",
            "package",
            "a::b@staging",
            "*@*",
            "package@*",
            "*@feature_1",
        ] {
            assert!(CodeInstance::is_valid(good), "{good}");
        }
        for bad in [
            "@",
            "@staging",
            "package@",
            "package@a@b",
            "package@a-b",
            "a@b c",
        ] {
            assert!(!CodeInstance::is_valid(bad), "{bad}");
        }
    }
}

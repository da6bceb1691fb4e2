//! Conversion of a branch to an environment's name. Main function: [`branch_environment_name`].
//!
//! As in r10k, `strip_component` is removed, characters other than letters, digits and underscores
//! become underscores, and the prefix is prepended with an underscore. Invariant: whatever the
//! branch's name, the result is a single component of a path.

use std::borrow::Cow;

use environments::EnvironmentName;
use ruby_regex::SearchError;

use super::EnvironmentSource;

/// Treatment of branches with names that no environment can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InvalidBranches {
    /// Invalid characters become underscores.
    Correct,
    /// Invalid characters become underscores, with a warning.
    #[default]
    CorrectAndWarn,
    /// The branches are not environments, with an error.
    Error,
}

/// The reason that a branch is not an environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The settings refuse the name.
    #[error(
        "the branch {branch:?} of the source {source_name} cannot be an environment's name: letters, digits \
         and underscores; {corrected:?} would do"
    )]
    Invalid {
        /// Name of the branch.
        branch: String,
        /// Name of its source.
        source_name: String,
        /// A valid name for it.
        corrected: String,
    },
    /// `strip_component` cannot be evaluated.
    #[error("strip_component: {0}")]
    Strip(#[from] SearchError),
    /// Another branch has the same name as an environment.
    #[error(
        "the branch {branch:?} of the source {source_name} would be the environment {environment}, which the \
         branch {first:?} of {first_source} is already"
    )]
    Taken {
        /// Name of the environment.
        environment: EnvironmentName,
        /// Name of the branch.
        branch: String,
        /// Name of its source.
        source_name: String,
        /// The branch that has the name already.
        first: String,
        /// The source of that branch.
        first_source: String,
    },
}

/// The name from an entry of a list. As in r10k, invalid characters in it are not corrected.
pub(super) fn listed_environment_name(
    source: &EnvironmentSource,
    entry: &str,
) -> Option<EnvironmentName> {
    add_prefix(source, &strip_name(source, entry).ok()?)
        .parse()
        .ok()
}

pub(super) fn branch_environment_name(
    source: &EnvironmentSource,
    branch: &str,
) -> Result<EnvironmentName, NameError> {
    let short = strip_name(source, branch)?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let corrected: String = short
        .chars()
        .map(|c| if is_word(c) { c } else { '_' })
        .collect();
    let name = add_prefix(source, &corrected);
    let invalid = || NameError::Invalid {
        branch: branch.to_owned(),
        source_name: source.name.clone(),
        corrected: name.clone(),
    };
    if corrected != short {
        match source.invalid_branches {
            InvalidBranches::Correct => {}
            InvalidBranches::CorrectAndWarn => {
                tracing::warn!(
                    branch,
                    environment = name,
                    "the environment has a name of its own"
                );
            }
            InvalidBranches::Error => return Err(invalid()),
        }
    }
    name.parse().map_err(|_| invalid())
}

fn strip_name<'n>(source: &EnvironmentSource, name: &'n str) -> Result<Cow<'n, str>, SearchError> {
    match &source.strip_component {
        Some(strip) => strip.strip(name),
        None => Ok(name.into()),
    }
}

fn add_prefix(source: &EnvironmentSource, name: &str) -> String {
    match source.prefix.as_deref() {
        Some(prefix) if !prefix.is_empty() => format!("{prefix}_{name}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::BranchStrip;

    fn name(source: &EnvironmentSource, branch: &str) -> Option<String> {
        branch_environment_name(source, branch)
            .ok()
            .map(|name| name.to_string())
    }

    #[test]
    fn names_are_r10ks() {
        let plain = EnvironmentSource::new("main", "u");
        for (branch, expected) in [
            ("production", "production"),
            ("feature/ABC-123_fix", "feature_ABC_123_fix"),
            ("../../x", "______x"),
            ("ä", "_"),
        ] {
            assert_eq!(name(&plain, branch).as_deref(), Some(expected));
        }
        let prefixed = EnvironmentSource {
            prefix: Some("team".to_owned()),
            strip_component: BranchStrip::parse("env/").ok(),
            ..plain.clone()
        };
        assert_eq!(name(&prefixed, "env/prod").as_deref(), Some("team_prod"));
        let strict = EnvironmentSource {
            invalid_branches: InvalidBranches::Error,
            ..plain
        };
        assert_eq!(name(&strict, "a-b"), None);
        assert_eq!(name(&strict, "a_b").as_deref(), Some("a_b"));
        assert_eq!(name(&strict, &"a".repeat(300)), None);
    }
}

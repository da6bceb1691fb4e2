//! From a branch to an environment's name. Main function: [`environment`].
//!
//! As r10k does it: `strip_component` goes, what is no letter, digit or underscore becomes an underscore,
//! and the prefix comes before it with an underscore. The rule that must hold: whatever a branch is called,
//! the name is one part of a path.

use std::borrow::Cow;

use environments::EnvironmentName;
use ruby_regex::SearchError;

use super::Source;

/// What becomes of branches whose names no environment can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InvalidBranches {
    /// Other signs become underscores.
    Correct,
    /// The same, and it is told.
    #[default]
    CorrectAndWarn,
    /// They are no environments, and it is told.
    Error,
}

/// Why a branch is no environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The settings refuse it.
    #[error(
        "the branch {branch:?} of the source {source_name} cannot be an environment's name: letters, digits \
         and underscores; {corrected:?} would do"
    )]
    Invalid {
        /// Which.
        branch: String,
        /// Of which source.
        source_name: String,
        /// What it could be called.
        corrected: String,
    },
    /// Nobody can say what is left of it.
    #[error("strip_component: {0}")]
    Strip(#[from] SearchError),
    /// Another branch has the name.
    #[error(
        "the branch {branch:?} of the source {source_name} would be the environment {environment}, which the \
         branch {first:?} of {first_source} is already"
    )]
    Taken {
        /// The name.
        environment: EnvironmentName,
        /// Which.
        branch: String,
        /// Of which source.
        source_name: String,
        /// Whose it is.
        first: String,
        /// Of which source.
        first_source: String,
    },
}

/// Of an entry of a list: r10k puts no signs of such a name right, so neither is it done here.
pub(super) fn listed(source: &Source, entry: &str) -> Option<EnvironmentName> {
    prefixed(source, &stripped(source, entry).ok()?)
        .parse()
        .ok()
}

pub(super) fn environment(source: &Source, branch: &str) -> Result<EnvironmentName, NameError> {
    let short = stripped(source, branch)?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let corrected: String = short
        .chars()
        .map(|c| if is_word(c) { c } else { '_' })
        .collect();
    let name = prefixed(source, &corrected);
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

fn stripped<'n>(source: &Source, name: &'n str) -> Result<Cow<'n, str>, SearchError> {
    match &source.strip_component {
        Some(strip) => strip.of(name),
        None => Ok(name.into()),
    }
}

fn prefixed(source: &Source, name: &str) -> String {
    match source.prefix.as_deref() {
        Some(prefix) if !prefix.is_empty() => format!("{prefix}_{name}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::BranchStrip;

    fn name(source: &Source, branch: &str) -> Option<String> {
        environment(source, branch)
            .ok()
            .map(|name| name.to_string())
    }

    #[test]
    fn names_are_r10ks() {
        let plain = Source::new("main", "u");
        for (branch, expected) in [
            ("production", "production"),
            ("feature/ABC-123_fix", "feature_ABC_123_fix"),
            ("../../x", "______x"),
            ("ä", "_"),
        ] {
            assert_eq!(name(&plain, branch).as_deref(), Some(expected));
        }
        let prefixed = Source {
            prefix: Some("team".to_owned()),
            strip_component: BranchStrip::parse("env/").ok(),
            ..plain.clone()
        };
        assert_eq!(name(&prefixed, "env/prod").as_deref(), Some("team_prod"));
        let strict = Source {
            invalid_branches: InvalidBranches::Error,
            ..plain
        };
        assert_eq!(name(&strict, "a-b"), None);
        assert_eq!(name(&strict, "a_b").as_deref(), Some("a_b"));
        assert_eq!(name(&strict, &"a".repeat(300)), None);
    }
}

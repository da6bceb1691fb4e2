//! The name of a plan: `module`, or `module::plan` with any number of parts.
//!
//! [`PlanName`] is a closed type because its parts become components of paths.
//!
//! Invariant: `module::init` is the same plan as `module` and is stored as `module`, so that a
//! permission on one cannot be evaded by using the other.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::defaults::PLAN_NAME_BYTES;

const INIT: &str = "init";

/// A checked plan name. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanName(Arc<str>);

/// The error for a text that is not a plan name. The text is not quoted: it may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a plan's name is module or module::plan; every word begins with a lower-case letter and \
     continues with lower-case letters, digits and underscores"
)]
pub struct PlanNameError;

impl PlanName {
    /// The whole name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Name of the plan's module.
    pub fn module(&self) -> &str {
        self.0
            .split_once("::")
            .map_or(&self.0, |(module, _)| module)
    }

    /// Name of the plan within the module, such as `web::restart`; `init` for a bare module name.
    pub fn plan(&self) -> &str {
        self.0.split_once("::").map_or(INIT, |(_, plan)| plan)
    }

    /// Path of its file below the module's `plans/`, without extension.
    pub(crate) fn file_stem(&self) -> String {
        self.plan().replace("::", "/")
    }
}

impl FromStr for PlanName {
    type Err = PlanNameError;

    fn from_str(text: &str) -> Result<Self, PlanNameError> {
        if text.len() > PLAN_NAME_BYTES || !text.split("::").all(is_word) {
            return Err(PlanNameError);
        }
        let (module, plan) = text.split_once("::").unwrap_or((text, INIT));
        Ok(Self(if plan == INIT {
            module.into()
        } else {
            text.into()
        }))
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

impl fmt::Display for PlanName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PlanName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlanName({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_components_of_paths_and_init_is_the_module() {
        for (text, module, plan, stem) in [
            ("deploy", "deploy", "init", "init"),
            ("deploy::init", "deploy", "init", "init"),
            ("deploy::web_1", "deploy", "web_1", "web_1"),
            ("deploy::a::b", "deploy", "a::b", "a/b"),
        ] {
            let name: PlanName = text.parse().unwrap();
            assert_eq!((name.module(), name.plan()), (module, plan));
            assert_eq!(name.file_stem(), stem);
        }
        assert_eq!("a::init".parse::<PlanName>().unwrap().as_str(), "a");
        let long = "a".repeat(PLAN_NAME_BYTES + 1);
        for text in [
            "", "::", "a::", "::a", "A", "a::B", "a b", "../a", "a/b", "a\0", "a:b", "é", "1a",
            "_a", &long,
        ] {
            assert_eq!(text.parse::<PlanName>(), Err(PlanNameError), "{text:?}");
        }
    }
}

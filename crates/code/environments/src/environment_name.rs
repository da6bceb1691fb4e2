//! [`EnvironmentName`]: a closed type, because it becomes a directory's name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::defaults::ENVIRONMENT_NAME_BYTES;

/// The name of an environment: letters, digits and underscores. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnvironmentName(Arc<str>);

/// The error for a text that is not an environment name. The text is not quoted: it may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an environment's name has 1 to {ENVIRONMENT_NAME_BYTES} letters, digits and \
     underscores"
)]
pub struct EnvironmentNameError;

impl EnvironmentName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EnvironmentName {
    type Err = EnvironmentNameError;

    fn from_str(text: &str) -> Result<Self, EnvironmentNameError> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if text.is_empty() || text.len() > ENVIRONMENT_NAME_BYTES || !text.bytes().all(allowed) {
            return Err(EnvironmentNameError);
        }
        Ok(Self(text.into()))
    }
}

impl AsRef<str> for EnvironmentName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EnvironmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for EnvironmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnvironmentName({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_letters_digits_and_underscores() {
        for good in ["production", "a", "feature_ABC_12", "0"] {
            assert_eq!(good.parse::<EnvironmentName>().unwrap().as_str(), good);
        }
        let long = "a".repeat(ENVIRONMENT_NAME_BYTES + 1);
        for bad in [
            "", ".", "..", "a/b", "../x", "a-b", "a b", "a\0", "ä", "a\n", &long,
        ] {
            assert_eq!(
                bad.parse::<EnvironmentName>(),
                Err(EnvironmentNameError),
                "{bad:?}"
            );
        }
    }
}

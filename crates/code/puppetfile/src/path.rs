//! [`InnerPath`]: a path that stays inside of the directory that it is joined to.
//!
//! Invariant: it has no empty, `.` or `..` component, no NUL, and does not begin with `/`.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A relative path, such as `modules` or `site/profile`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InnerPath(Cow<'static, str>);

/// The error for a text that is not such a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InnerPathError {
    /// The path is the directory itself.
    #[error("it is empty")]
    Empty,
    /// The path begins with `/`.
    #[error("it is absolute; give it relative to the environment")]
    Absolute,
    /// The path has a component `..`.
    #[error("it leaves the environment")]
    Leaves,
    /// The path has a NUL.
    #[error("it has a NUL in it")]
    Nul,
}

impl FromStr for InnerPath {
    type Err = InnerPathError;

    fn from_str(text: &str) -> Result<Self, InnerPathError> {
        if text.contains('\0') {
            return Err(InnerPathError::Nul);
        }
        if text.starts_with('/') {
            return Err(InnerPathError::Absolute);
        }
        let parts: Vec<&str> = text
            .split('/')
            .filter(|part| !matches!(*part, "" | "."))
            .collect();
        if parts.contains(&"..") {
            return Err(InnerPathError::Leaves);
        }
        if parts.is_empty() {
            return Err(InnerPathError::Empty);
        }
        Ok(Self(parts.join("/").into()))
    }
}

impl InnerPath {
    /// The default directory of modules, `modules`.
    pub const MODULES: Self = Self(Cow::Borrowed("modules"));

    /// The path as text, with single slashes between its components.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<Path> for InnerPath {
    fn as_ref(&self) -> &Path {
        Path::new(&*self.0)
    }
}

impl fmt::Display for InnerPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for InnerPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InnerPath({})", self.0)
    }
}

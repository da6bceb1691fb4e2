//! [`InnerPath`]: a path that stays inside of the directory that it is joined to.
//!
//! The rule that must hold: it has no empty, `.` or `..` part, no NUL, and does not begin with `/`.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A relative path, such as `modules` or `site/profile`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InnerPath(Cow<'static, str>);

/// Why a text is no such path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InnerPathError {
    /// It names the directory itself.
    #[error("it is empty")]
    Empty,
    /// It begins with `/`.
    #[error("it is absolute; give it relative to the environment")]
    Absolute,
    /// It has a part `..`.
    #[error("it leaves the environment")]
    Leaves,
    /// It has a NUL.
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
    /// Where modules go if nothing else is said.
    pub const MODULES: Self = Self(Cow::Borrowed("modules"));

    /// The text, with single slashes between its parts.
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

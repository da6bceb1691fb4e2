//! Reasons for which a template is not rendered: [`NotNative`], [`NativeRubyError`] and, from the scope,
//! [`RubyScopeError`].

use std::any::Any;
use std::fmt;

/// Code that is not rendered natively. The template is one for Ruby.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct NotNative {
    /// The construct, or the failure that Ruby would report.
    pub reason: String,
    /// Line of the template, from 1.
    pub line: u32,
}

/// A template was not rendered.
#[derive(thiserror::Error)]
pub enum NativeRubyError {
    /// Ruby has to render it. Functions that it called so far are called again.
    #[error("{reason} ({} functions were called)", calls)]
    NotNative {
        reason: NotNative,
        /// Functions of the scope that were called before.
        calls: u32,
    },
    /// The scope failed.
    #[error("line {line}: the scope failed")]
    Scope { error: RubyScopeError, line: u32 },
}

impl fmt::Debug for NativeRubyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Failure of a scope, which ends the rendering: an error of the caller.
#[derive(Debug)]
pub struct RubyScopeError(pub Box<dyn Any + Send>);

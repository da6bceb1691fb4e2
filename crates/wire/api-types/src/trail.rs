//! Audit entries that requests leave: [`Trail`].

use crate::route::Method;

/// Audit entries that an allowed request leaves. A denied request always leaves one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trail {
    /// No entry: the request only reads.
    Nothing,
    /// An intent entry before the command runs, without which it does not run, and an entry with
    /// its result.
    Command,
    /// One entry, written before the token is sent.
    Login,
}

impl Trail {
    /// Returns the default for a route: every method except `GET` changes something.
    pub(crate) const fn of(method: Method) -> Self {
        match method {
            Method::Get => Self::Nothing,
            Method::Post | Method::Put | Method::Delete => Self::Command,
        }
    }
}

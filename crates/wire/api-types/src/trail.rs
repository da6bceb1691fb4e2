//! Which entries the audit gets of a route: [`Trail`].

use crate::route::Method;

/// Which entries a request that is allowed leaves. One that is refused leaves an entry anyhow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trail {
    /// None: it only asks.
    Nothing,
    /// One before it acts, without which it does not act, and one with its result.
    Command,
    /// One, before the token leaves the server.
    Login,
}

impl Trail {
    /// What a route leaves unless it says otherwise: whatever is not read changes something.
    pub(crate) const fn of(method: Method) -> Self {
        match method {
            Method::Get => Self::Nothing,
            Method::Post | Method::Put | Method::Delete => Self::Command,
        }
    }
}

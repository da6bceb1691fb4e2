//! Interpolation methods that a text may use: [`MethodUse`].

/// The use of methods such as `%{lookup('…')}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MethodUse {
    Allowed,
    /// Methods are refused, as in a configuration.
    Forbidden,
}

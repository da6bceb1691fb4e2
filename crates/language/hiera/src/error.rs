//! Errors of lookups: [`Error`]. A key without a value is not an error here.

/// An error of a lookup, with Puppet's message.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("Recursive lookup detected in [{stack}]")]
    Recursive { stack: String },
    #[error("lookups are nested deeper than {limit}: [{stack}]")]
    Nesting { limit: usize, stack: String },
    #[error("data refer to each other so often that one lookup has more than {limit} parts")]
    Parts { limit: usize },
    #[error("{0}")]
    Data(String),
    /// A mistake in an expression, to which no layer adds context.
    #[error("{0}")]
    Expression(&'static str),
    #[error("Unknown interpolation method '{0}'")]
    Method(String),
    /// Data refer to an undefined variable.
    #[error("Undefined variable '{0}'; ")]
    Undefined(String),
    /// A mistake in a `hiera.yaml`.
    #[error("{what} (file: {path})")]
    Config { what: String, path: String },
    /// An error of the host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A function was called with wrong arguments.
    #[error("{0}")]
    Raw(String),
    /// An error whose text stays unchanged: Puppet's lookup error.
    #[error(transparent)]
    Settled(Box<Error>),
}

impl Error {
    /// True if no prefix is added to its text when code performs a lookup.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(
            self,
            Self::Settled(_) | Self::Config { .. } | Self::Expression(_) | Self::Method(_)
        )
    }

    /// The error itself, without [`Settled`](Self::Settled) around it.
    #[must_use]
    pub fn kind(&self) -> &Self {
        match self {
            Self::Settled(inner) => inner,
            other => other,
        }
    }

    /// Marks an error that occurred during a lookup as settled.
    pub(crate) fn into_settled(self) -> Self {
        match self {
            Self::Settled(_) | Self::Undefined(_) | Self::Raw(_) => self,
            other => Self::Settled(Box::new(other)),
        }
    }

    /// A mistake of a lookup, wherever it occurs.
    pub(crate) fn lookup(text: impl Into<String>) -> Self {
        Self::data(text).into_settled()
    }

    pub(crate) fn data(text: impl Into<String>) -> Self {
        Self::Data(text.into())
    }
}

/// A failed request to a host. It contains the error of the host's implementation.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HostError(pub Box<dyn std::error::Error + 'static>);

/// The message of a call that does not match its function.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct WrongCall(String);

impl HostError {
    /// Creates the error of a call whose arguments do not match the function.
    pub fn wrong_call(text: impl Into<String>) -> Self {
        Self(WrongCall(text.into()).into())
    }

    pub(crate) fn is_wrong_call(&self) -> bool {
        self.0.is::<WrongCall>()
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }
}

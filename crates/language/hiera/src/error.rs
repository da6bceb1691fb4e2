//! Why a lookup fails: [`Error`]. That nothing was found is not an error here.

/// Messages are Puppet's.
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
    /// A mistake in an expression, which no layer says more about.
    #[error("{0}")]
    Expression(&'static str),
    #[error("Unknown interpolation method '{0}'")]
    Method(String),
    /// Data name a variable that is not there.
    #[error("Undefined variable '{0}'; ")]
    Undefined(String),
    /// A mistake in a `hiera.yaml`.
    #[error("{what} (file: {path})")]
    Config { what: String, path: String },
    /// What the host said.
    #[error(transparent)]
    Host(#[from] HostError),
    /// What a function was called wrongly with.
    #[error("{0}")]
    Raw(String),
    /// A text that stays as it is: what Puppet calls a lookup error.
    #[error(transparent)]
    Settled(Box<Error>),
}

impl Error {
    /// Whether nothing is put in front of its text where a program looked up.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(
            self,
            Self::Settled(_) | Self::Config { .. } | Self::Expression(_) | Self::Method(_)
        )
    }

    /// What it is, settled or not.
    #[must_use]
    pub fn kind(&self) -> &Self {
        match self {
            Self::Settled(inner) => inner,
            other => other,
        }
    }

    /// What has met it in the middle of a lookup.
    pub(crate) fn settled(self) -> Self {
        match self {
            Self::Settled(_) | Self::Undefined(_) | Self::Raw(_) => self,
            other => Self::Settled(Box::new(other)),
        }
    }

    /// A mistake of a lookup, wherever it is met.
    pub(crate) fn lookup(text: impl Into<String>) -> Self {
        Self::data(text).settled()
    }

    pub(crate) fn data(text: impl Into<String>) -> Self {
        Self::Data(text.into())
    }
}

/// A host could not do what it was asked for. Whoever wrote the host finds his error inside.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HostError(pub Box<dyn std::error::Error + 'static>);

/// The text of a call that did not fit its function.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct WrongCall(String);

impl HostError {
    /// A function could not be called with what it was given.
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

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
}

impl Error {
    pub(crate) fn data(text: impl Into<String>) -> Self {
        Self::Data(text.into())
    }
}

/// A host could not do what it was asked for. Whoever wrote the host finds his error inside.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HostError(pub Box<dyn std::error::Error + 'static>);

impl HostError {
    pub fn text(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }
}

//! Certnames that a server may have, in addition to the host name used to connect to it:
//! [`ServerCertnames`].
//!
//! Invariant: a subject alternative name is an address of the server, the common name its identity.
//! A node whose certificate has the server's host name among its alternative names is still that
//! node.

use std::fmt;

use rustls::{CertificateError, OtherError};

use crate::identity;

/// The certnames that a server's certificate may carry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ServerCertnames {
    /// The host name used to connect, in any case.
    #[default]
    Host,
    /// One of these names, compared byte by byte.
    Listed(Vec<String>),
    /// Any certname: only the host name is checked.
    Any,
}

/// The error for a server that is not the expected one.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("its certificate is that of {found}, not that of {expected}")]
pub struct UnexpectedCertname {
    found: String,
    expected: String,
}

// === impl ServerCertnames ===

impl ServerCertnames {
    /// Converts a list in a configuration: absent or empty means the host name, `*` any name.
    pub fn from_list(names: &[String]) -> Self {
        match names {
            [] => Self::Host,
            names if names.iter().any(|name| name == "*") => Self::Any,
            names => Self::Listed(names.to_vec()),
        }
    }

    /// Checks the verified leaf certificate (DER) of a server that was connected to as `host`.
    pub(super) fn check(&self, leaf: &[u8], host: &str) -> Result<(), UnexpectedCertname> {
        let found = identity::certname_of(leaf);
        let expected = match self {
            Self::Any => return Ok(()),
            Self::Host => host.strip_suffix('.').unwrap_or(host).to_owned(),
            Self::Listed(names) => names.join(" or "),
        };
        let is_expected = |certname: &String| match self {
            Self::Any => true,
            Self::Host => certname.eq_ignore_ascii_case(&expected),
            Self::Listed(names) => names.contains(certname),
        };
        match found {
            Ok(certname) if is_expected(&certname) => Ok(()),
            Ok(found) => Err(UnexpectedCertname { found, expected }),
            Err(error) => Err(UnexpectedCertname {
                found: format!("no single name ({error})"),
                expected,
            }),
        }
    }
}

// === impl UnexpectedCertname ===

impl UnexpectedCertname {
    /// This error as the cause of a failed handshake; `None` for other causes.
    pub fn from_handshake_error(error: &std::io::Error) -> Option<Self> {
        let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
        match error {
            rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(cause))) => {
                cause.downcast_ref::<Self>().cloned()
            }
            _ => None,
        }
    }
}

// rustls formats errors of unknown types with `Debug`.
impl fmt::Debug for UnexpectedCertname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

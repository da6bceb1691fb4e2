//! What an error of the HTTP client means: [`classify`].

use std::error::Error;
use std::io;
use std::time::Duration;

use crate::QueryError;

/// As an error of the inventory. `after` is how long was waited.
pub(super) fn classify(url: &str, error: reqwest::Error, after: Duration) -> QueryError {
    let url = url.to_owned();
    let error = error.without_url();
    if concerns_certificates(&error) {
        let cause = chain(&error);
        return QueryError::Certificate { url, cause };
    }
    if error.is_timeout() {
        return QueryError::Timeout { url, after };
    }
    if error.is_connect() || is_io(&error) {
        let cause = chain(&error);
        return QueryError::Unreachable { url, cause };
    }
    QueryError::Garbage {
        url,
        what: chain(&error),
    }
}

/// One side refused the other's certificate; no retry changes that.
fn concerns_certificates(error: &(dyn Error + 'static)) -> bool {
    use rustls::AlertDescription as Alert;
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return match tls {
            rustls::Error::InvalidCertificate(_)
            | rustls::Error::InvalidCertRevocationList(_)
            | rustls::Error::NoCertificatesPresented => true,
            rustls::Error::AlertReceived(alert) => matches!(
                alert,
                Alert::NoCertificate
                    | Alert::BadCertificate
                    | Alert::UnsupportedCertificate
                    | Alert::CertificateRevoked
                    | Alert::CertificateExpired
                    | Alert::CertificateUnknown
                    | Alert::UnknownCA
                    | Alert::AccessDenied
                    // A CA of the same name with another key.
                    | Alert::DecryptError
                    | Alert::CertificateRequired
            ),
            _ => false,
        };
    }
    inner(error).is_some_and(concerns_certificates)
}

fn is_io(error: &(dyn Error + 'static)) -> bool {
    error.is::<io::Error>() || inner(error).is_some_and(is_io)
}

/// The cause; an I/O error hides what it wraps from `source`.
fn inner<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// An error with its causes, which reqwest keeps apart.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let told = cause.to_string();
        if !text.contains(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        source = cause.source();
    }
    text
}

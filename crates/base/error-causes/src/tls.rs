//! Errors of TLS: [`describe`].

use rustls::{AlertDescription as Alert, Error};

use crate::certificate;
use crate::error::{ConnectionError, ConnectionErrorKind};

/// The cause in plain words.
pub(crate) fn describe(error: &Error) -> ConnectionError {
    use ConnectionErrorKind::{PeerCertificate, Tls};
    match error {
        Error::InvalidCertificate(cause) => {
            ConnectionError::new(PeerCertificate, certificate::describe(cause))
        }
        Error::InvalidCertRevocationList(_) => {
            let text = "the revocation list for the peer's certificate cannot be used";
            ConnectionError::new(PeerCertificate, text)
        }
        Error::NoCertificatesPresented => {
            ConnectionError::new(PeerCertificate, "the peer shows no certificate")
        }
        Error::AlertReceived(alert) => describe_alert(*alert),
        // The first bytes of a peer that answers in plain text are not a TLS record.
        Error::InvalidMessage(_) => ConnectionError::new(Tls, "the peer does not speak TLS"),
        Error::PeerIncompatible(_) => {
            ConnectionError::new(Tls, "the peer knows no common version or cipher of TLS")
        }
        other => ConnectionError::new(Tls, format!("TLS failed: {other}")),
    }
}

fn describe_alert(alert: Alert) -> ConnectionError {
    let of_certificate = match alert {
        Alert::CertificateRequired | Alert::NoCertificate => "the peer wants a client certificate",
        Alert::CertificateRevoked => "the peer says that this side's certificate is revoked",
        Alert::CertificateExpired => "the peer says that this side's certificate has expired",
        // A CA of the same name with another key appears as an invalid signature.
        Alert::UnknownCA | Alert::DecryptError => {
            "the peer does not know the authority of this side's certificate"
        }
        Alert::BadCertificate
        | Alert::UnsupportedCertificate
        | Alert::CertificateUnknown
        | Alert::AccessDenied => "the peer does not accept this side's certificate",
        other => {
            let text = format!("the peer ended the TLS handshake with the alert {other:?}");
            return ConnectionError::new(ConnectionErrorKind::Tls, text);
        }
    };
    ConnectionError::new(ConnectionErrorKind::OwnCertificate, of_certificate)
}

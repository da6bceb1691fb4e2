//! Causes deep in a chain of errors.

use std::error::Error;
use std::io;
use std::sync::Arc;

use error_causes::{ConnectionError, ConnectionErrorKind, chain};
use rustls::{AlertDescription, CertificateError, OtherError};
use rustls_pki_types::ServerName;

/// An error with a source and a text without information.
#[derive(Debug)]
struct Wrapper(Box<dyn Error + Send + Sync>);

impl std::fmt::Display for Wrapper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("something failed")
    }
}

impl Error for Wrapper {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// Kind and text of the error as an HTTP client returns it: in an I/O error inside two others.
fn described(error: rustls::Error) -> (ConnectionErrorKind, String) {
    let error = Wrapper(Box::new(Wrapper(Box::new(io::Error::other(error)))));
    let described = ConnectionError::from_error(&error);
    (described.kind(), described.to_string())
}

#[test]
fn every_certificate_that_is_not_accepted_has_words_of_its_own() {
    let presented = vec!["\"a.test\"".to_owned(), "\"b.test\"".to_owned()];
    let expected = ServerName::try_from("c.test").unwrap();
    for (cause, words) in [
        (CertificateError::Expired, "has expired"),
        (CertificateError::NotValidYet, "compare the clocks"),
        (CertificateError::Revoked, "is revoked"),
        (CertificateError::UnknownIssuer, "not trusted here"),
        (CertificateError::BadSignature, "not trusted here"),
        (
            CertificateError::NotValidForNameContext {
                expected,
                presented,
            },
            "is for a.test, b.test and not for c.test",
        ),
        (
            CertificateError::Other(OtherError(Arc::new(io::Error::other("words of a check")))),
            "words of a check",
        ),
    ] {
        let (kind, text) = described(rustls::Error::InvalidCertificate(cause));
        assert_eq!(kind, ConnectionErrorKind::PeerCertificate, "{text}");
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn an_alert_is_about_this_sides_certificate_or_about_tls() {
    let alert = |alert| described(rustls::Error::AlertReceived(alert));
    let (kind, text) = alert(AlertDescription::CertificateRequired);
    assert_eq!(kind, ConnectionErrorKind::OwnCertificate);
    assert_eq!(text, "the peer wants a client certificate");
    let (kind, text) = alert(AlertDescription::UnknownCA);
    assert_eq!(kind, ConnectionErrorKind::OwnCertificate);
    assert!(text.contains("authority of this side's"), "{text}");
    let (kind, text) = alert(AlertDescription::ProtocolVersion);
    assert_eq!(kind, ConnectionErrorKind::Tls);
    assert!(text.contains("ProtocolVersion"), "{text}");
}

#[test]
fn the_innermost_words_stand_where_nothing_is_known() {
    let error = Wrapper(Box::new(Wrapper("the innermost".into())));
    let described = ConnectionError::from_error(&error);
    assert_eq!(described.kind(), ConnectionErrorKind::Other);
    assert_eq!(described.to_string(), "the innermost");
}

#[test]
fn a_line_says_each_cause_once_and_a_connection_in_plain_words() {
    let deep = io::Error::other(rustls::Error::InvalidCertificate(CertificateError::Revoked));
    let error = Wrapper(Box::new(Wrapper(Box::new(deep))));
    let outer = io::Error::other(rustls::Error::InvalidCertificate(CertificateError::Revoked));
    assert!(chain(&error).starts_with("something failed: "));
    assert!(chain(&error).ends_with("the peer's certificate is revoked"));
    assert_eq!(chain(&error).matches("something failed").count(), 1);
    assert!(chain(&outer).ends_with("the peer's certificate is revoked"));
    let file = Wrapper(Box::new(io::Error::from(io::ErrorKind::NotFound)));
    assert_eq!(chain(&file), "something failed: entity not found");
}

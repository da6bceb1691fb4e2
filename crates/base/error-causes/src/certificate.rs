//! Certificates of peers that are refused: [`describe`].

use rustls::CertificateError as Cause;

/// A name without the type that the library writes around it: `DnsName("localhost")`.
fn plain_name(name: &str) -> &str {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

/// The reason of the refusal, in plain words.
pub(crate) fn describe(cause: &Cause) -> String {
    match cause {
        Cause::Expired | Cause::ExpiredContext { .. } => {
            "the peer's certificate has expired".into()
        }
        Cause::NotValidYet | Cause::NotValidYetContext { .. } => {
            "the peer's certificate is not valid yet: compare the clocks of both sides".into()
        }
        Cause::Revoked => "the peer's certificate is revoked".into(),
        // A CA of the same name with another key appears as an invalid signature.
        Cause::UnknownIssuer | Cause::BadSignature => {
            "the peer's certificate was issued by an authority that is not trusted here".into()
        }
        Cause::NotValidForName => "the peer's certificate is for another name".into(),
        Cause::NotValidForNameContext {
            expected,
            presented,
        } => {
            let expected = expected.to_str();
            let names = presented.iter().map(|name| plain_name(name));
            let names = names.collect::<Vec<_>>().join(", ");
            format!("the peer's certificate is for {names} and not for {expected}")
        }
        Cause::InvalidPurpose | Cause::InvalidPurposeContext { .. } => {
            "the peer's certificate is not meant for servers".into()
        }
        Cause::UnknownRevocationStatus => "no revocation list covers the peer's certificate".into(),
        Cause::ExpiredRevocationList | Cause::ExpiredRevocationListContext { .. } => {
            "the revocation list for the peer's certificate has expired".into()
        }
        // Checks of this project have messages of their own.
        Cause::Other(cause) => cause.to_string(),
        other => format!("the peer's certificate is not accepted ({other})"),
    }
}

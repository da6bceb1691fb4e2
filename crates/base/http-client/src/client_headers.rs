//! Headers in which a proxy tells a puppetserver the client of a request: [`ClientHeaders`].
//!
//! A puppetserver reads them if its `auth.conf` has `allow-header-cert-info: true`, and then no
//! certificate of the connection. Invariant: the name and the certificate are those of one verified
//! certificate, and no character of a name ends the name or begins another attribute.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pki::{LoadError, TlsFiles, certname_of, identity::IdentityError};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

const VERIFY: HeaderName = HeaderName::from_static("x-client-verify");
const DN: HeaderName = HeaderName::from_static("x-client-dn");
const CERT: HeaderName = HeaderName::from_static("x-client-cert");

/// Characters of a PEM file that are escaped; the others keep the header short.
const PEM_ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'/');

/// The headers for one client.
#[derive(Debug, Clone)]
pub struct ClientHeaders(HeaderMap);

/// Reason that a certificate cannot be named in headers.
#[derive(Debug, thiserror::Error)]
pub enum ClientHeadersError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] LoadError),
    /// The certificate has no usable name.
    #[error("the certificate names no client")]
    Name(#[from] IdentityError),
}

impl ClientHeaders {
    /// The headers for the holder of a verified certificate, with its common name.
    #[must_use]
    pub fn verified(certname: &str, der: &[u8]) -> Self {
        let mut dn = "CN=".to_owned();
        for byte in certname.bytes() {
            match byte {
                b'.' | b'-' | b'_' => dn.push(char::from(byte)),
                _ if byte.is_ascii_alphanumeric() => dn.push(char::from(byte)),
                // the form of RFC 2253 for any byte
                _ => {
                    let _ = write!(dn, "\\{byte:02x}");
                }
            }
        }
        let pem = pem::encode(&pem::Pem::new("CERTIFICATE", der));
        let cert = utf8_percent_encode(&pem, PEM_ESCAPED).to_string();
        let mut headers = HeaderMap::new();
        headers.insert(VERIFY, HeaderValue::from_static("SUCCESS"));
        for (name, text) in [(DN, dn), (CERT, cert)] {
            // the text is ASCII without control characters
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(name, value);
            }
        }
        Self(headers)
    }

    /// The headers for a client without a certificate.
    #[must_use]
    pub fn unverified() -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(VERIFY, HeaderValue::from_static("NONE"));
        Self(headers)
    }

    /// The headers for this server itself, whose certificate is in `files`.
    ///
    /// # Errors
    /// The certificate cannot be read, or has no common name.
    pub fn own(files: &TlsFiles) -> Result<Self, ClientHeadersError> {
        let der = files.own_certificate()?;
        Ok(Self::verified(&certname_of(&der)?, &der))
    }

    /// The headers as those of a request.
    #[must_use]
    pub fn into_headers(self) -> HeaderMap {
        self.0
    }
}

/// True for each header that a puppetserver, or a program in front of it, may take for one of these. A
/// client must never send them itself.
#[must_use]
pub fn is_client_header(name: &HeaderName) -> bool {
    name.as_str().replace('_', "-").starts_with("x-client-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
        headers.get(name).unwrap().to_str().unwrap()
    }

    #[test]
    fn names_are_escaped() {
        let headers = ClientHeaders::verified("web1.example.com", b"\0\xff\x3e").into_headers();
        assert_eq!(text(&headers, &DN), "CN=web1.example.com");
        assert_eq!(text(&headers, &VERIFY), "SUCCESS");
        let cert = text(&headers, &CERT);
        assert!(
            cert.starts_with("-----BEGIN%20CERTIFICATE-----%0"),
            "{cert}"
        );
        assert!(!cert.contains('+'), "{cert}");
        let headers = ClientHeaders::verified("a,CN=b+c é", b"x").into_headers();
        assert_eq!(text(&headers, &DN), r"CN=a\2cCN\3db\2bc\20\c3\a9");
    }

    #[test]
    fn headers_of_clients_are_recognized() {
        for name in [
            "x-client-dn",
            "X-Client-Verify",
            "x_client_cert",
            "x-client-anything",
        ] {
            assert!(is_client_header(&name.parse().unwrap()), "{name}");
        }
        assert!(!is_client_header(&"x-puppet-version".parse().unwrap()));
        assert_eq!(ClientHeaders::unverified().into_headers().len(), 1);
    }
}

//! HTTP requests of honest clients and attackers, as text: [`http_request`].

use anyhow::Result;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

/// An HTTP/1.1 request for a server named `localhost`.
pub(super) fn http_request(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> String {
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
}

/// A new node's certificate request for `certname`.
pub(super) fn submit_certificate_request(certname: &str, key: &KeyPair) -> Result<String> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, certname);
    let pem = params.serialize_request(key)?.pem()?;
    let path = format!("/puppet-ca/v1/certificate_request/{certname}");
    Ok(http_request(
        "PUT",
        &path,
        &[("Content-Type", "text/plain")],
        &pem,
    ))
}

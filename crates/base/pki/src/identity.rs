//! The certname that a certificate identifies, and Puppet's extensions of it: [`CertificateIdentity`].
//!
//! Invariant: the certname is the common name of the verified **leaf**, at any position in the
//! subject, and nothing else (never a subject alternative name, never another certificate of the
//! chain). A subject with two common names is refused, because two parsers could disagree about it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use x509_parser::der_parser::asn1_rs::Utf8String;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::X509Name;

use crate::puppet_extensions::puppet_extensions;

/// The extension by which puppetserver grants use of its CA API (`pp_cli_auth`); only the text
/// `true` grants it.
pub const PP_CLI_AUTH: &str = "1.3.6.1.4.1.34380.1.3.39";

/// The error for a certificate from which no certname can be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    #[error("not an X.509 certificate")]
    NotACertificate,
    #[error("the certificate's subject has no common name")]
    NoCommonName,
    #[error("the certificate's subject has more than one common name")]
    SeveralCommonNames,
    #[error("the common name of the certificate is not text")]
    NotText,
}

/// The certname of a leaf certificate, and its extensions for `$trusted['extensions']`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateIdentity {
    /// The common name of the subject, which is the only one.
    pub certname: String,
    /// Puppet's extensions, by short name, or by id where there is none.
    pub extensions: BTreeMap<String, String>,
}

/// The identity of a leaf certificate in DER, which is parsed once for both parts.
pub fn identity_of(leaf: &[u8]) -> Result<CertificateIdentity, IdentityError> {
    let certificate = parse(leaf)?;
    Ok(CertificateIdentity {
        certname: common_name(certificate.subject())?.to_owned(),
        extensions: puppet_extensions(&certificate),
    })
}

/// The certname of a leaf certificate in DER.
pub fn certname_of(leaf: &[u8]) -> Result<String, IdentityError> {
    let certificate = parse(leaf)?;
    common_name(certificate.subject()).map(str::to_owned)
}

/// The common name of a leaf certificate in DER, and its alternative names that are host names or
/// addresses.
pub fn names_of(leaf: &[u8]) -> Result<Vec<String>, IdentityError> {
    let certificate = parse(leaf)?;
    let mut names = vec![common_name(certificate.subject())?.to_owned()];
    if let Ok(Some(extension)) = certificate.subject_alternative_name() {
        let others = &extension.value.general_names;
        names.extend(others.iter().filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(octets) => address(octets).map(|it| it.to_string()),
            _ => None,
        }));
    }
    Ok(names)
}

pub(crate) fn address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from).ok();
    v4.or_else(|| <[u8; 16]>::try_from(octets).map(IpAddr::from).ok())
}

/// The text of a Puppet extension (a DER UTF8String) of a certificate, or `None` if the certificate
/// has no extension with this id.
pub fn extension_text(leaf: &[u8], oid: &str) -> Result<Option<String>, IdentityError> {
    let certificate = parse(leaf)?;
    let found = certificate
        .iter_extensions()
        .find(|extension| extension.oid.to_id_string() == oid);
    Ok(found.map(|extension| value_text(extension.value)))
}

/// True if the certificate has the extension `pp_cli_auth = true`.
pub fn may_administer_ca(leaf: &[u8]) -> bool {
    matches!(extension_text(leaf, PP_CLI_AUTH), Ok(Some(text)) if text == "true")
}

/// The single common name of a subject.
pub(crate) fn common_name<'a>(name: &X509Name<'a>) -> Result<&'a str, IdentityError> {
    let mut names = name.iter_common_name();
    let first = names.next().ok_or(IdentityError::NoCommonName)?;
    if names.next().is_some() {
        return Err(IdentityError::SeveralCommonNames);
    }
    match first.as_str() {
        Ok("") => Err(IdentityError::NoCommonName),
        Ok(text) => Ok(text),
        Err(_) => Err(IdentityError::NotText),
    }
}

/// The text of an extension value. Puppet writes UTF8String; other encodings, which some old
/// requests have, are used as raw text.
pub(crate) fn value_text(value: &[u8]) -> String {
    match Utf8String::from_der(value) {
        Ok(([], text)) => text.string(),
        _ => String::from_utf8_lossy(value).into_owned(),
    }
}

fn parse(leaf: &[u8]) -> Result<X509Certificate<'_>, IdentityError> {
    match X509Certificate::from_der(leaf) {
        Ok(([], certificate)) => Ok(certificate),
        _ => Err(IdentityError::NotACertificate),
    }
}

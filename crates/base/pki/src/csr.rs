//! Certificate requests (PKCS#10): [`generate`] for a node that needs a certificate,
//! [`CertificateRequest`] for the authority that parses one.
//!
//! Invariant: a [`CertificateRequest`] exists only for a request whose own signature is valid and
//! whose subject has exactly one common name.

pub use super::csr_error::CsrError;
use partial_debug::partial_debug;
use rcgen::{CertificateParams, DistinguishedName, DnType, SubjectPublicKeyInfo};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer;

use crate::ca::{AltName, CaError, GenerateOptions, leaf};
use crate::defaults::MAX_CSR_BYTES;
use crate::identity::{self};
use crate::key::{self, KeyType, PrivateKeyError};

/// Object ids of Puppet's own extensions; requests may contain extensions of this arc only.
const PUPPET_ARC: &str = "1.3.6.1.4.1.34380.1.";
/// Extensions that grant rights (`pp_authorization`, `pp_auth_role`, `pp_cli_auth`).
const AUTHORIZATION_ARC: &str = "1.3.6.1.4.1.34380.1.3.";
const SUBJECT_ALT_NAME: &str = "2.5.29.17";

/// A new key and a request for it.
pub struct KeyAndRequest {
    /// PKCS#8 PEM; write it with mode 0600.
    pub key_pem: String,
    /// The request as PEM, to be sent to the CA.
    pub request_pem: String,
}

partial_debug!(KeyAndRequest {});

/// Creates a key and the request that a node sends to its CA.
pub fn generate(certname: &str, key_type: KeyType) -> Result<KeyAndRequest, PrivateKeyError> {
    let key = key::generate(key_type)?;
    Ok(KeyAndRequest {
        request_pem: create_request(certname, &key)?,
        key_pem: key.serialize_pem(),
    })
}

/// Creates a key and a request with everything in these options, except the lifetime, which the
/// authority decides.
pub fn generate_with(certname: &str, options: &GenerateOptions) -> Result<KeyAndRequest, CaError> {
    let key = key::generate(options.key_type)?;
    let mut params = named(certname);
    params.subject_alt_names = leaf::san_types(&options.alt_names)?;
    if options.ca_administrator {
        params.custom_extensions.push(leaf::cli_auth());
    }
    let request = params.serialize_request(&key).map_err(CaError::Sign)?;
    Ok(KeyAndRequest {
        request_pem: request.pem().map_err(CaError::Sign)?,
        key_pem: key.serialize_pem(),
    })
}

/// Creates a request for an existing key.
pub fn create_request(certname: &str, key: &rcgen::KeyPair) -> Result<String, PrivateKeyError> {
    let request = named(certname)
        .serialize_request(key)
        .map_err(PrivateKeyError::Generate)?;
    request.pem().map_err(PrivateKeyError::Generate)
}

fn named(certname: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, certname);
    params
}

/// One extension that a request contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedExtension {
    /// Object id in dotted form.
    pub oid: String,
    /// Value in DER, as sent.
    pub value: Vec<u8>,
}

impl RequestedExtension {
    /// The value as text, as Puppet shows it.
    pub fn text(&self) -> String {
        identity::value_text(&self.value)
    }

    /// True if the extension grants rights and is therefore never signed without explicit consent.
    pub fn is_authorization(&self) -> bool {
        self.oid.starts_with(AUTHORIZATION_ARC)
    }
}

/// A parsed request with a valid signature.
#[derive(Debug, Clone)]
pub struct CertificateRequest {
    certname: String,
    pem: String,
    der: Vec<u8>,
    public_key: SubjectPublicKeyInfo,
    alt_names: Vec<String>,
    extensions: Vec<RequestedExtension>,
}

impl CertificateRequest {
    /// Parses a request in PEM and verifies that its sender holds the key.
    pub fn from_pem(bytes: &[u8]) -> Result<Self, CsrError> {
        if bytes.len() > MAX_CSR_BYTES {
            return Err(CsrError::TooLarge);
        }
        let block = pem::parse(bytes).map_err(|_| CsrError::NotPem)?;
        if !matches!(
            block.tag(),
            "CERTIFICATE REQUEST" | "NEW CERTIFICATE REQUEST"
        ) {
            return Err(CsrError::NotPem);
        }
        Self::from_der(block.into_contents())
    }

    fn from_der(der: Vec<u8>) -> Result<Self, CsrError> {
        let (rest, request) =
            X509CertificationRequest::from_der(&der).map_err(|_| CsrError::Malformed)?;
        if !rest.is_empty() {
            return Err(CsrError::Malformed);
        }
        let info = &request.certification_request_info;
        let public_key = SubjectPublicKeyInfo::from_der(info.subject_pki.raw)
            .map_err(|_| CsrError::UnsupportedKey)?;
        refuse_weak_key(info)?;
        request
            .verify_signature()
            .map_err(|_| CsrError::BadSignature)?;
        let certname = identity::common_name(&info.subject)?.to_owned();
        let (alt_names, extensions) = requested_extensions(&request)?;
        // Line endings as in files of OpenSSL and Ruby.
        let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
        let pem = pem::encode_config(&pem::Pem::new("CERTIFICATE REQUEST", der.clone()), config);
        Ok(Self {
            certname,
            pem,
            public_key,
            alt_names,
            extensions,
            der,
        })
    }

    /// The common name in the request; not checked as a path.
    pub fn certname(&self) -> &str {
        &self.certname
    }

    /// The request in canonical PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The request in DER; fingerprints are computed from it.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    pub(crate) fn public_key(&self) -> &SubjectPublicKeyInfo {
        &self.public_key
    }

    /// Subject alternative names in Puppet's notation: `DNS:web.example`, `IP:10.0.0.1`.
    pub fn alt_names(&self) -> &[String] {
        &self.alt_names
    }

    /// Puppet extensions that the request contains, in their order.
    pub fn extensions(&self) -> &[RequestedExtension] {
        &self.extensions
    }
}

fn refuse_weak_key(
    info: &x509_parser::certification_request::X509CertificationRequestInfo<'_>,
) -> Result<(), CsrError> {
    match info.subject_pki.parsed() {
        Ok(x509_parser::public_key::PublicKey::RSA(rsa)) if rsa.key_size() < 2048 => {
            Err(CsrError::WeakKey(rsa.key_size()))
        }
        Ok(_) => Ok(()),
        Err(_) => Err(CsrError::UnsupportedKey),
    }
}

type RequestedExtensions = (Vec<String>, Vec<RequestedExtension>);

fn requested_extensions(
    request: &X509CertificationRequest<'_>,
) -> Result<RequestedExtensions, CsrError> {
    let mut alt_names = Vec::new();
    let mut extensions = Vec::new();
    for attribute in request.certification_request_info.iter_attributes() {
        let ParsedCriAttribute::ExtensionRequest(asked) = attribute.parsed_attribute() else {
            // Other attributes (challenge password, auto-renewal) never become part of a
            // certificate.
            continue;
        };
        for extension in &asked.extensions {
            let oid = extension.oid.to_id_string();
            if oid == SUBJECT_ALT_NAME {
                let ParsedExtension::SubjectAlternativeName(san) = extension.parsed_extension()
                else {
                    return Err(CsrError::Malformed);
                };
                for name in &san.general_names {
                    alt_names.push(alt_name_text(name)?);
                }
            } else if oid.starts_with(PUPPET_ARC) && is_one_der_value(extension.value) {
                extensions.push(RequestedExtension {
                    oid,
                    value: extension.value.to_vec(),
                });
            } else {
                return Err(CsrError::ForbiddenExtension(oid));
            }
        }
    }
    Ok((alt_names, extensions))
}

fn alt_name_text(name: &GeneralName<'_>) -> Result<String, CsrError> {
    match name {
        GeneralName::DNSName(name) => {
            let text = format!("DNS:{name}");
            // A name that could never be signed is neither stored nor shown to the person who
            // signs.
            match text.parse::<AltName>() {
                Ok(_) => Ok(text),
                Err(_) => Err(CsrError::UnsupportedAltName),
            }
        }
        GeneralName::IPAddress(octets) => {
            if let Ok(v4) = <[u8; 4]>::try_from(*octets) {
                Ok(format!("IP:{}", std::net::Ipv4Addr::from(v4)))
            } else if let Ok(v6) = <[u8; 16]>::try_from(*octets) {
                Ok(format!("IP:{}", std::net::Ipv6Addr::from(v6)))
            } else {
                Err(CsrError::UnsupportedAltName)
            }
        }
        _ => Err(CsrError::UnsupportedAltName),
    }
}

/// True if the value is one whole DER object, which it must be because it is copied into the
/// certificate.
fn is_one_der_value(value: &[u8]) -> bool {
    matches!(x509_parser::der_parser::parse_der(value), Ok((rest, _)) if rest.is_empty())
}

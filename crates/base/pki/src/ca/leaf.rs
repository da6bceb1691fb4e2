//! The content of a certificate: [`UnsignedCertificate`], with the extensions that puppetserver
//! adds to the certificates of nodes.

use std::time::Duration;

use rcgen::{
    CertificateParams, CustomExtension, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyIdMethod, KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber,
    SubjectPublicKeyInfo,
};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::X509Certificate;
use x509_parser::time::ASN1Time;

use super::alt_name::{AltName, dns_name};
use super::error::CaError;
use super::issuer::CaIssuer;
use super::options::{CertificateUsage, GenerateOptions, SignOptions};
use crate::csr::{CertificateRequest, RequestedExtension};
use crate::defaults::{CERTIFICATE_LIFETIME, CLOCK_SKEW};
use crate::identity::{PP_CLI_AUTH, address};
use crate::key;
use crate::privileged::PrivilegedNames;
use crate::puppet_extensions::is_puppet_extension;

/// Netscape comment, which puppetserver writes into every certificate.
const NETSCAPE_COMMENT: [u64; 7] = [2, 16, 840, 1, 113_730, 1, 13];
const COMMENT: &str = "Puppet Server Internal Certificate";

/// A certificate that is to be signed.
pub(super) struct UnsignedCertificate {
    public_key: SubjectPublicKeyInfo,
    params: CertificateParams,
    lifetime: Duration,
}

/// A signed certificate.
pub(super) struct IssuedCertificate {
    pub(super) pem: String,
    pub(super) not_before_s: i64,
    pub(super) not_after_s: i64,
}

impl UnsignedCertificate {
    pub(super) fn from_request(
        request: &CertificateRequest,
        options: &SignOptions,
        privileged: &PrivilegedNames,
    ) -> Result<Self, CaError> {
        let certname = request.certname();
        refuse_unrequested(request, options, privileged)?;
        let alt_names = request.alt_names().iter().map(|name| name.parse());
        let alt_names: Vec<AltName> = alt_names.collect::<Result<_, _>>()?;
        let mut params = params(certname, &alt_names, request.public_key(), options.usage)?;
        for extension in request.extensions() {
            params
                .custom_extensions
                .push(custom(&extension.oid, extension.value.clone()));
        }
        let lifetime = options.lifetime.unwrap_or(CERTIFICATE_LIFETIME);
        Ok(Self {
            public_key: request.public_key().clone(),
            params,
            lifetime,
        })
    }

    /// The content of an existing certificate, with another lifetime.
    pub(super) fn from_certificate(
        certname: &str,
        certificate: &X509Certificate<'_>,
        lifetime: Duration,
    ) -> Result<Self, CaError> {
        let public_key =
            SubjectPublicKeyInfo::from_der(certificate.public_key().raw).map_err(CaError::Sign)?;
        let usage = match certificate.extended_key_usage() {
            Ok(Some(usage)) if !usage.value.server_auth => CertificateUsage::Client,
            _ => CertificateUsage::ServerAndClient,
        };
        let mut params = params(certname, &alt_names_of(certificate)?, &public_key, usage)?;
        for extension in certificate.extensions() {
            let oid = extension.oid.to_id_string();
            if is_puppet_extension(&oid) {
                let value = extension.value.to_vec();
                params.custom_extensions.push(custom(&oid, value));
            }
        }
        Ok(Self {
            public_key,
            params,
            lifetime,
        })
    }

    pub(super) fn from_key(
        certname: &str,
        key: &KeyPair,
        options: &GenerateOptions,
    ) -> Result<Self, CaError> {
        let public_key = SubjectPublicKeyInfo::from_der(&key.subject_public_key_info())
            .map_err(CaError::Sign)?;
        let usage = CertificateUsage::ServerAndClient;
        let mut params = params(certname, &options.alt_names, &public_key, usage)?;
        if options.ca_administrator {
            params.custom_extensions.push(cli_auth());
        }
        let lifetime = options.lifetime.unwrap_or(CERTIFICATE_LIFETIME);
        Ok(Self {
            public_key,
            params,
            lifetime,
        })
    }

    pub(super) fn sign(
        mut self,
        serial: u64,
        issuer: &CaIssuer,
    ) -> Result<IssuedCertificate, CaError> {
        let now_s = jiff::Timestamp::now().as_second();
        let not_before_s = now_s - whole_seconds(CLOCK_SKEW);
        let not_after_s = now_s + whole_seconds(self.lifetime);
        self.params.not_before = asn1_time(not_before_s)?.to_datetime();
        self.params.not_after = asn1_time(not_after_s)?.to_datetime();
        self.params.serial_number = Some(SerialNumber::from(serial));
        let certificate = self
            .params
            .signed_by(&self.public_key, issuer.signer())
            .map_err(CaError::Sign)?;
        Ok(IssuedCertificate {
            pem: certificate.pem(),
            not_before_s,
            not_after_s,
        })
    }
}

/// Alternative names of a certificate that are host names or addresses.
fn alt_names_of(certificate: &X509Certificate<'_>) -> Result<Vec<AltName>, CaError> {
    let names = match certificate.subject_alternative_name() {
        Ok(Some(extension)) => &extension.value.general_names,
        _ => return Ok(Vec::new()),
    };
    let names = names.iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(octets) => address(octets).map(|it| it.to_string()),
        _ => None,
    });
    names.map(|name| name.parse()).collect()
}

fn refuse_unrequested(
    request: &CertificateRequest,
    options: &SignOptions,
    privileged: &PrivilegedNames,
) -> Result<(), CaError> {
    let certname = request.certname().to_owned();
    if !options.allow_privileged_names
        && let Some(name) = privileged.find_privileged(&certname)
    {
        return Err(CaError::PrivilegedName {
            certname,
            origin: name.origin.clone(),
        });
    }
    // A request for its own name alone needs no permission for alternative names.
    let own = format!("DNS:{certname}");
    if !options.allow_alt_names && request.alt_names().iter().any(|name| *name != own) {
        return Err(CaError::AltNames {
            certname,
            names: request.alt_names().join(", "),
        });
    }
    let asks_for_rights = |extension: &&RequestedExtension| {
        extension.is_authorization() || privileged.find_extension_origin(&extension.oid).is_some()
    };
    let rights = request.extensions().iter().filter(asks_for_rights);
    let oids: Vec<&str> = rights.map(|extension| extension.oid.as_str()).collect();
    if !options.allow_authorization && !oids.is_empty() {
        return Err(CaError::Authorization {
            certname,
            oids: oids.join(", "),
        });
    }
    Ok(())
}

fn params(
    certname: &str,
    alt_names: &[AltName],
    public_key: &SubjectPublicKeyInfo,
    usage: CertificateUsage,
) -> Result<CertificateParams, CaError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, certname);
    params.subject_alt_names = subject_alt_names(certname, alt_names)?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    params.extended_key_usages = match usage {
        CertificateUsage::ServerAndClient => vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ],
        CertificateUsage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
    };
    params.use_authority_key_identifier_extension = true;
    params.key_identifier_method = KeyIdMethod::PreSpecified(key::identifier(public_key));
    params.custom_extensions = vec![CustomExtension::from_oid_content(
        &NETSCAPE_COMMENT,
        der_text(0x16, COMMENT),
    )];
    Ok(params)
}

/// Alternative names of a certificate. The certname itself comes first, as in puppetserver, because
/// clients look for host names here only. A certname that is not a host name is omitted.
fn subject_alt_names(certname: &str, alt_names: &[AltName]) -> Result<Vec<SanType>, CaError> {
    let own = dns_name(certname);
    let others = alt_names.iter().filter(|name| Some(*name) != own.as_ref());
    own.iter().chain(others).map(san_type).collect()
}

fn san_type(name: &AltName) -> Result<SanType, CaError> {
    match name {
        AltName::Ip(ip) => Ok(SanType::IpAddress(*ip)),
        AltName::Dns(dns) => dns
            .clone()
            .try_into()
            .map(SanType::DnsName)
            .map_err(|_| CaError::BadAltName(dns.clone())),
    }
}

/// Alternative names for a request; the authority adds the certname itself.
pub(crate) fn san_types(alt_names: &[AltName]) -> Result<Vec<SanType>, CaError> {
    alt_names.iter().map(san_type).collect()
}

/// The extension that permits its holder to administer the CA over HTTP.
pub(crate) fn cli_auth() -> CustomExtension {
    custom(PP_CLI_AUTH, der_text(0x0c, "true"))
}

fn custom(oid: &str, value: Vec<u8>) -> CustomExtension {
    let parts: Vec<u64> = oid
        .split('.')
        .filter_map(|part| part.parse().ok())
        .collect();
    CustomExtension::from_oid_content(&parts, value)
}

/// DER of a text shorter than 128 bytes: tag, length, bytes.
fn der_text(tag: u8, text: &'static str) -> Vec<u8> {
    let length = u8::try_from(text.len()).expect("a constant shorter than 128 bytes");
    [&[tag, length], text.as_bytes()].concat()
}

pub(super) fn whole_seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX / 4)
}

/// Converts seconds to the time type that rcgen requires and only x509-parser exports.
pub(super) fn asn1_time(seconds: i64) -> Result<ASN1Time, CaError> {
    ASN1Time::from_timestamp(seconds).map_err(|_| CaError::Sign(rcgen::Error::Time))
}

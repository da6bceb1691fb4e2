//! The certificate authority: `/puppet-ca/v1/certificate_status`, with puppetserver's shapes where it has one.
//!
//! Main types: [`CertificateStatus`], [`CertificateChange`]. The rule: no type holds a private key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, strict};

/// A certificate or a request, as puppetserver describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CertificateStatus {
    /// The certname.
    #[schema(example = "web1.example.com")]
    pub name: String,
    /// `requested`, `signed` or `revoked`.
    pub state: String,
    /// Alternative names that are host names, as `DNS:…`.
    pub dns_alt_names: Vec<String>,
    /// All alternative names, as `DNS:…` and `IP:…`.
    pub subject_alt_names: Vec<String>,
    /// Extensions that grant rights, by object id.
    pub authorization_extensions: BTreeMap<String, String>,
    /// The SHA-256 fingerprint.
    pub fingerprint: String,
    /// Fingerprints by the name of the digest.
    pub fingerprints: BTreeMap<String, String>,
    /// A number, or text if it needs more than 64 bits; absent for a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub serial_number: Option<Value>,
    /// Start of the certificate's lifetime, as puppetserver writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-11-21T09:55:17UTC")]
    pub not_before: Option<String>,
    /// End of the certificate's lifetime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after: Option<String>,
}

/// The reply to `GET certificate_statuses`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct CertificateStatuses(pub Vec<CertificateStatus>);

/// The state that a name is brought into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DesiredState {
    /// Sign the waiting request.
    Signed,
    /// Revoke every certificate of the name.
    Revoked,
}

/// `PUT certificate_status/{certname}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateChange {
    /// `signed` or `revoked`.
    pub desired_state: DesiredState,
    /// Lifetime of the certificate in seconds; absent: five years.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_ttl: Option<u64>,
    /// A request in PEM that is stored first; absent: the one that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_request: Option<String>,
    /// Sign alternative names that the request asks for. Administrators only.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub allow_alt_names: bool,
    /// Sign extensions that grant rights. Administrators only.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub allow_authorization_extensions: bool,
    /// Sign a name that grants rights. Administrators only.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub allow_privileged_names: bool,
}

/// The reply to it, and to `DELETE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CertificateChanged {
    /// The name.
    pub certname: String,
    /// `signed`, `revoked` or `cleaned`.
    pub state: String,
    /// The certificate in PEM, after it was signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Whether the revoked certificate is still of use, after a revocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revocation: Option<RevocationInForce>,
}

/// How far a revocation is in force. It is everywhere if all lists are empty and there is no `problem`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevocationInForce {
    /// Certificates that were not revoked before.
    pub newly_revoked: usize,
    /// Brokers that still held a session of the name when the wait ended.
    pub still_connected: Vec<String>,
    /// Brokers of this server that are not connected to it now and could not be asked.
    pub not_asked: Vec<String>,
    /// Reason for which this server still accepts the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The query of `GET certificate_statuses`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificatesQuery {
    /// Only names in this state.
    pub state: Option<String>,
}

// === impl CertificatesQuery ===

impl CertificatesQuery {
    /// Reads the query parameters.
    ///
    /// # Errors
    /// An unknown parameter.
    pub fn from_parameters(mut given: Parameters) -> Result<Self, ApiError> {
        let state = given.text("state");
        given.finish()?;
        Ok(Self { state })
    }
}

//! Certificate authority: `/puppet-ca/v1/certificate_status`, in puppetserver's format where it has
//! one.
//!
//! Main types: [`CertificateStatus`], [`CertificateChange`]. Invariant: no type holds a private
//! key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, strict};

/// A certificate or a request, as puppetserver describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CertificateStatus {
    /// Certname of the node.
    #[schema(example = "web1.example.com")]
    pub name: String,
    /// `requested`, `signed` or `revoked`.
    pub state: String,
    /// Alternative names that are host names, as `DNS:…`.
    pub dns_alt_names: Vec<String>,
    /// All alternative names, as `DNS:…` and `IP:…`.
    pub subject_alt_names: Vec<String>,
    /// Values of the authorization extensions, by object id.
    pub authorization_extensions: BTreeMap<String, String>,
    /// SHA-256 fingerprint of the certificate or request.
    pub fingerprint: String,
    /// Fingerprints by the name of the digest.
    pub fingerprints: BTreeMap<String, String>,
    /// Serial number: a number, or a string if it needs more than 64 bits; absent for a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub serial_number: Option<Value>,
    /// Start of the certificate's validity, in puppetserver's format; absent for a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-11-21T09:55:17UTC")]
    pub not_before: Option<String>,
    /// End of the certificate's validity, in puppetserver's format; absent for a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after: Option<String>,
}

/// The reply to `GET certificate_statuses`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct CertificateStatuses(pub Vec<CertificateStatus>);

/// State into which the certificate of a name is brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DesiredState {
    /// Sign the pending request.
    Signed,
    /// Revoke every certificate of the name.
    Revoked,
}

/// Body of `PUT certificate_status/{certname}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateChange {
    /// State to bring the certificate into: `signed` or `revoked`.
    pub desired_state: DesiredState,
    /// Validity of the certificate in seconds; absent: five years.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_ttl: Option<u64>,
    /// Request in PEM to store first; absent: the pending request is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_request: Option<String>,
    /// Sign the alternative names that the request contains. Administrators only.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub allow_alt_names: bool,
    /// Sign authorization extensions. Administrators only.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub allow_authorization_extensions: bool,
    /// Sign a certname that grants permissions. Administrators only.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub allow_privileged_names: bool,
}

/// Reply to `PUT` and `DELETE` of a certificate status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CertificateChanged {
    /// Certname of the certificate.
    pub certname: String,
    /// `signed`, `revoked` or `cleaned`.
    pub state: String,
    /// Certificate in PEM; absent unless it was just signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Progress of the revocation; absent if the certificate was signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revocation: Option<RevocationInForce>,
}

/// Progress of a revocation. It is in force everywhere if all lists are empty and `problem` is
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevocationInForce {
    /// Number of certificates that were not revoked before.
    pub newly_revoked: usize,
    /// Brokers that still held a session of the name when the wait ended.
    pub still_connected: Vec<String>,
    /// Brokers of this server that are not connected now and could not be queried.
    pub not_asked: Vec<String>,
    /// Reason for which this server still accepts the certificate; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The query of `GET certificate_statuses`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificatesQuery {
    /// Only names in this state; `None`: all names.
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

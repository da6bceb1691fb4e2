//! `POST sign` and `PUT clean`: many names at once, as sent by newer `puppetserver ca` programs.

use axum::Json;
use pki::CertificateAuthority;
use pki::ca::SignOptions;
use serde::{Deserialize, Serialize};

use super::audit_trail::{self, AuditRoute, CaOperation};
use super::body::WholeBody;
use super::failure::CaFailure;
use super::service::{CallerCaService, certname};
use crate::peer::PuppetApiCaller;

const SIGN: AuditRoute = "POST /puppet-ca/v1/sign";
const CLEAN: AuditRoute = "PUT /puppet-ca/v1/clean";

#[derive(Debug, Deserialize)]
struct CertnameList {
    certnames: Vec<String>,
}

/// Result of `sign` for each name.
#[derive(Debug, Default, Serialize)]
pub(super) struct BulkSignReply {
    signed: Vec<String>,
    #[serde(rename = "no-csr")]
    no_csr: Vec<String>,
    #[serde(rename = "signing-errors")]
    signing_errors: Vec<String>,
}

pub(super) async fn sign_all(
    CallerCaService(service): CallerCaService,
    caller: PuppetApiCaller,
    WholeBody(body): WholeBody,
) -> Result<Json<BulkSignReply>, CaFailure> {
    service.authorize(&caller, CaOperation::Sign, SIGN).await?;
    let mut outcome = BulkSignReply::default();
    for name in parse_names(&body)? {
        let certname = certname(&name)?;
        let act =
            CaOperation::Sign.audited_action(audit_trail::actor_of(&caller), SIGN, Some(&name));
        let sign = move |ca: &CertificateAuthority| match ca
            .sign(certname.as_str(), &SignOptions::default())
        {
            Ok(_) => Ok(true),
            Err(pki::CaError::NoRequest { .. }) => Ok(false),
            Err(error) => Err(error),
        };
        match service.command(act, sign).await {
            Ok(true) => outcome.signed.push(name),
            Ok(false) => outcome.no_csr.push(name),
            Err(failure) => {
                tracing::warn!(certname = name, why = failure.message(), "not signed");
                outcome.signing_errors.push(name);
            }
        }
    }
    Ok(Json(outcome))
}

pub(super) async fn clean_all(
    CallerCaService(service): CallerCaService,
    caller: PuppetApiCaller,
    WholeBody(body): WholeBody,
) -> Result<String, CaFailure> {
    service
        .authorize(&caller, CaOperation::Clean, CLEAN)
        .await?;
    let mut unknown = Vec::new();
    for name in parse_names(&body)? {
        let certname = certname(&name)?;
        let act =
            CaOperation::Clean.audited_action(audit_trail::actor_of(&caller), CLEAN, Some(&name));
        let clean = move |ca: &CertificateAuthority| ca.clean(certname.as_str());
        if !service.command(act, clean).await? {
            unknown.push(name);
        }
    }
    if unknown.is_empty() {
        return Ok("Successfully cleaned all certs.".to_owned());
    }
    Ok(format!(
        "The following certs do not exist and cannot be cleaned: {}",
        unknown.join(", ")
    ))
}

/// Parses the names; all are checked before the first is processed.
fn parse_names(body: &[u8]) -> Result<Vec<String>, CaFailure> {
    let names: CertnameList = decode_errors::json::object_from_slice(body)
        .map_err(|error| CaFailure::bad_request(format!("the body cannot be used: {error}")))?;
    names
        .certnames
        .iter()
        .try_for_each(|name| certname(name).map(drop))?;
    Ok(names.certnames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_cannot_be_read_is_told_in_plain_words() {
        for (body, part) in [
            ("", "the text ends where a value is needed"),
            ("{}", "the key \"certnames\" is missing"),
            ("[[\"a\"]]", "must be an object, not an array"),
            (
                "{\"certnames\": []}x",
                "remove what follows the end of the value",
            ),
            (
                r#"{"certnames": "a"}"#,
                "certnames: must be an array, not a string",
            ),
            (
                r#"{"certnames": ["a", {}]}"#,
                "certnames[1]: must be a string, not an object",
            ),
        ] {
            let message = parse_names(body.as_bytes()).unwrap_err().into_message();
            assert!(message.contains(part), "{message}");
            let wording = decode_errors::LIBRARY_WORDING;
            assert!(
                !wording.iter().any(|part| message.contains(part)),
                "{message}"
            );
        }
    }
}

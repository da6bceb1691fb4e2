//! Revokes certificates and waits until brokers apply it. Main functions: [`revoke`],
//! [`clean`].
//!
//! Invariant: a response without remaining brokers means that no connected broker holds a session
//! of the certname, and that this server rejects the certificate from now on.

use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;

use api_types::RevocationInForce;
use error_causes::chain;
use pcp::Certname;
use pki::{CaError, CertnamePrivilege, ServerTls};
use puppet_api::CaService;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio::time::{Instant, sleep_until};

use super::authority::ServerAuthority;
use super::refusal::{ca_work_error, server_authority};
use crate::SharedApiContext;
use crate::defaults::REVOCATION_LOOK;
use crate::failure::ApiFailure;

/// The result of the CA.
struct RevocationResult {
    /// Number of certificates that were not revoked before.
    count: usize,
    /// The current certificate of the certname.
    leaf: Option<CertificateDer<'static>>,
}

/// Revokes the certificates of a certname, and waits until they are rejected.
pub(super) async fn revoke(
    api: &SharedApiContext,
    service: &CaService,
    certname: &Certname,
) -> Result<RevocationInForce, ApiFailure> {
    let name = certname.clone();
    let revoked = service.run_blocking(move |ca| {
        let leaf = parse_certificate(ca.certificate(name.as_str())?);
        let count = ca.revoke(name.as_str())?;
        Ok(RevocationResult { count, leaf })
    });
    let revoked = revoked.await.map_err(|error| ca_work_error(&error))?;
    wait_for_brokers(api, certname, revoked).await
}

/// Revokes and deletes the certificates of a certname, and waits until they are rejected. `None` if
/// there is neither a request nor a certificate.
pub(super) async fn clean(
    api: &SharedApiContext,
    service: &CaService,
    certname: &Certname,
) -> Result<Option<RevocationInForce>, ApiFailure> {
    let name = certname.clone();
    let cleaned = service.run_blocking(move |ca| {
        let leaf = parse_certificate(ca.certificate(name.as_str())?);
        let count = match ca.revoke(name.as_str()) {
            Err(CaError::NoCertificate { .. }) => 0,
            revoked => revoked?,
        };
        let was_there = ca.clean(name.as_str())? || count > 0;
        Ok(was_there.then_some(RevocationResult { count, leaf }))
    });
    let cleaned = cleaned.await.map_err(|error| ca_work_error(&error))?;
    match cleaned {
        Some(revoked) => wait_for_brokers(api, certname, revoked).await.map(Some),
        None => Ok(None),
    }
}

fn parse_certificate(pem: Option<String>) -> Option<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(pem?.as_bytes()).ok()
}

/// Applies the new CRL in this process at once, and waits a limited time for the brokers.
async fn wait_for_brokers(
    api: &SharedApiContext,
    certname: &Certname,
    revoked: RevocationResult,
) -> Result<RevocationInForce, ApiFailure> {
    let ServerAuthority {
        tls,
        revocation_wait,
        ..
    } = server_authority(api)?;
    let problem = check_reload(tls, revoked.leaf).await;
    let deadline = Instant::now() + *revocation_wait;
    let mut holding = api.fabric.brokers_with_session(certname);
    // A CRL that this server does not use ends no session, so waiting is useless.
    while !holding.is_empty() && problem.is_none() && Instant::now() < deadline {
        sleep_until(Instant::now() + REVOCATION_LOOK).await;
        holding = api.fabric.brokers_with_session(certname);
    }
    Ok(RevocationInForce {
        newly_revoked: revoked.count,
        still_connected: holding.iter().map(ToString::to_string).collect(),
        not_asked: disconnected_brokers(api),
        problem,
    })
}

/// The reason for which this server still accepts the certificate; `None` if it rejects it.
async fn check_reload(
    tls: &Arc<ServerTls>,
    leaf: Option<CertificateDer<'static>>,
) -> Option<String> {
    let reloading = Arc::clone(tls);
    let reloaded = tokio::task::spawn_blocking(move || reloading.reload()).await;
    let error: Box<dyn Error + Send + Sync> = match reloaded {
        Ok(Ok(())) => {
            let is_refused = leaf.is_none_or(|leaf| tls.revocations().is_revoked(&leaf));
            return (!is_refused).then(|| {
                "the revocation list that this server uses (tls.crl) is not the authority's and does not have the \
                 certificate: copy ca_crl.pem there, or leave tls.crl out"
                    .to_owned()
            });
        }
        Ok(Err(error)) => error.into(),
        Err(panic) => panic.into(),
    };
    let cause = chain(&*error);
    Some(format!(
        "this server cannot read its TLS files and goes on with the old revocation list: {cause}"
    ))
}

/// Configured brokers that are not connected: they keep their sessions, and their state is unknown.
fn disconnected_brokers(api: &SharedApiContext) -> Vec<String> {
    let connected: HashSet<String> = api
        .fabric
        .brokers()
        .iter()
        .map(|broker| broker.common_name().to_owned())
        .collect();
    let names = &api.info.privileged_names;
    names
        .named_holders(CertnamePrivilege::RemoteBroker)
        .filter(|name| !connected.contains(*name))
        .map(str::to_owned)
        .collect()
}

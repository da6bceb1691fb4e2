//! What the CA's handlers share: [`CaService`].

use std::sync::Arc;

use pcp::Certname;
use pki::CaError;
use pki::CertificateAuthority;

use super::autosign::Autosign;
use super::failure::CaFailure;
use crate::peer::Caller;

/// The authority and the policy of its HTTP API.
#[derive(Debug, Clone)]
pub struct CaService {
    ca: CertificateAuthority,
    policy: Arc<Policy>,
}

#[derive(Debug)]
struct Policy {
    autosign: Autosign,
    administrators: Vec<Certname>,
    /// Lower case.
    reserved: Vec<String>,
}

impl CaService {
    /// `administrators` may use the API like holders of `pp_cli_auth`. Neither their names nor
    /// the `reserved` ones (the server, its brokers), in any case, are ever signed unasked:
    /// whoever got such a certificate first would be trusted.
    pub fn new(
        ca: CertificateAuthority,
        autosign: Autosign,
        administrators: Vec<Certname>,
        reserved: &[Certname],
    ) -> Self {
        let reserved = administrators.iter().chain(reserved);
        let reserved = reserved.map(|name| name.as_str().to_lowercase()).collect();
        Self {
            ca,
            policy: Arc::new(Policy {
                autosign,
                administrators,
                reserved,
            }),
        }
    }

    /// Whether a request for this name is signed without anybody's consent.
    pub(super) fn signs_unasked(&self, certname: &str) -> bool {
        if !self.policy.autosign.permits(certname) {
            return false;
        }
        let is_reserved = self.policy.reserved.contains(&certname.to_lowercase());
        if is_reserved {
            tracing::warn!(certname, "not signed automatically: the name has rights here");
        }
        !is_reserved
    }

    /// Refuses everybody but administrators.
    pub(super) fn authorize(&self, caller: &Caller) -> Result<(), CaFailure> {
        let Some(peer) = &caller.0.0 else {
            return Err(CaFailure::forbidden("a client certificate is required"));
        };
        let listed = self
            .policy
            .administrators
            .iter()
            .any(|name| name.as_str() == peer.certname);
        if listed || pki::identity::may_administer_ca(&peer.der) {
            return Ok(());
        }
        tracing::warn!(certname = peer.certname, "use of the CA API denied");
        let message = format!("{} may not administer the CA", peer.certname);
        Err(CaFailure::forbidden(message))
    }

    /// Runs `work` where it may block on the disk.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CertificateAuthority) -> Result<T, CaError> + Send + 'static,
    ) -> Result<T, CaFailure> {
        let ca = self.ca.clone();
        match tokio::task::spawn_blocking(move || work(&ca)).await {
            Ok(result) => result.map_err(CaFailure::from),
            Err(panic) => Err(CaFailure::internal(&panic)),
        }
    }
}

/// A name from a path, before anything is done with it.
pub(super) fn certname(text: &str) -> Result<Certname, CaFailure> {
    text.parse()
        .map_err(|error: pcp::CertnameError| CaFailure::bad_request(error.to_string()))
}

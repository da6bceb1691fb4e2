//! What the CA's handlers share: [`CaService`].

use std::sync::Arc;
use std::time::Duration;

use audit::{Act, Audit};
use pcp::Certname;
use pki::CaError;
use pki::CertificateAuthority;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::autosign::Autosign;
use super::failure::CaFailure;
use super::trail::{self, Deed, Route};
use crate::defaults::{CA_WAIT, CA_WORK_AT_ONCE};
use crate::peer::Caller;

/// The authority and the policy of its HTTP API.
#[derive(Debug, Clone)]
pub struct CaService {
    ca: CertificateAuthority,
    policy: Arc<Policy>,
    audit: Audit,
    /// Who has a permit may occupy a blocking thread.
    turns: Arc<Semaphore>,
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
    /// whoever got such a certificate first would be trusted. What is done is told to `audit`
    /// first; what that does not take is not done.
    pub fn new(
        ca: CertificateAuthority,
        autosign: Autosign,
        administrators: Vec<Certname>,
        reserved: &[Certname],
        audit: Audit,
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
            audit,
            turns: Arc::new(Semaphore::new(CA_WORK_AT_ONCE)),
        }
    }

    /// Whether a request for this name is signed without anybody's consent.
    pub(super) fn signs_unasked(&self, certname: &str) -> bool {
        if !self.policy.autosign.permits(certname) {
            return false;
        }
        let is_reserved = self.policy.reserved.contains(&certname.to_lowercase());
        if is_reserved {
            tracing::warn!(
                certname,
                "not signed automatically: the name has rights here"
            );
        }
        !is_reserved
    }

    /// Refuses everybody but administrators, and writes down who was refused.
    pub(super) async fn authorize(
        &self,
        caller: &Caller,
        deed: Deed,
        route: Route,
    ) -> Result<(), CaFailure> {
        let refused = match self.is_administrator(caller) {
            Ok(()) => return Ok(()),
            Err(refused) => refused,
        };
        // No certname: whoever is refused could name any.
        let act = deed.act(trail::actor(caller), route, None);
        self.audit.refused(&act, &trail::denied(&refused)).await;
        Err(refused)
    }

    fn is_administrator(&self, caller: &Caller) -> Result<(), CaFailure> {
        let Some(peer) = &caller.certificate.0 else {
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

    /// Does what `act` says, between its two entries: the first is durable before `work` begins,
    /// the second tells its result even if the client goes away meanwhile.
    pub(super) async fn command<T: Send + 'static>(
        &self,
        act: Act,
        work: impl FnOnce(&CertificateAuthority) -> Result<T, CaError> + Send + 'static,
    ) -> Result<T, CaFailure> {
        let intent = self.audit.intent(act).await;
        let intent = intent.map_err(|error| CaFailure::unaudited(&error))?;
        let runtime = Handle::current();
        let told = move |ca: &CertificateAuthority| {
            let done = work(ca).map_err(CaFailure::from);
            runtime.block_on(intent.finish(trail::outcome(&done)));
            Ok(done)
        };
        self.run(told).await?
    }

    /// Runs `work` where it may block on the disk, when its turn comes.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CertificateAuthority) -> Result<T, CaError> + Send + 'static,
    ) -> Result<T, CaFailure> {
        self.run_within(CA_WAIT, work).await
    }

    async fn run_within<T: Send + 'static>(
        &self,
        wait: Duration,
        work: impl FnOnce(&CertificateAuthority) -> Result<T, CaError> + Send + 'static,
    ) -> Result<T, CaFailure> {
        let turn = self.turns.clone().acquire_owned();
        let Ok(turn) = tokio::time::timeout(wait, turn).await else {
            return Err(CaFailure::busy());
        };
        let ca = self.ca.clone();
        let working = tokio::task::spawn_blocking(move || {
            // Kept by the work itself: a client that goes away does not stop it.
            let _turn = turn;
            work(&ca)
        });
        match working.await {
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

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use axum::response::IntoResponse as _;
    use pki::KeyType;
    use pki::ca::InitOptions;
    use tokio::sync::mpsc;

    use super::*;

    async fn service(autosign: Autosign) -> (tempfile::TempDir, CaService) {
        let dir = tempfile::tempdir().unwrap();
        let options = InitOptions {
            common_name: "Puppet CA: test".to_owned(),
            key_type: KeyType::EcP256,
        };
        let ca = CertificateAuthority::init(&dir.path().join("ca"), &options).unwrap();
        let names = |names: &[&str]| -> Vec<Certname> {
            names.iter().map(|name| name.parse().unwrap()).collect()
        };
        let reserved = names(&["Server.Example", "broker2.example"]);
        let store = store::StoreConfig::sqlite(dir.path().join("tutti.db"));
        let store = store::Store::open(&store).await.unwrap();
        let audit = Audit::open(store, audit::AuditConfig::default()).await;
        let service = CaService::new(ca, autosign, names(&["admin"]), &reserved, audit);
        (dir, service)
    }

    #[tokio::test]
    async fn names_with_rights_are_never_signed_unasked() {
        let (_dir, service) = service(Autosign::All).await;
        assert!(service.signs_unasked("web1.example"));
        for name in [
            "server.example",
            "SERVER.example",
            "broker2.example",
            "Admin",
        ] {
            assert!(!service.signs_unasked(name), "{name}");
        }
    }

    #[tokio::test]
    async fn work_waits_its_turn_and_not_for_ever() {
        let (_dir, service) = service(Autosign::Off).await;
        let (entered, mut entries) = mpsc::unbounded_channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let occupants: Vec<_> = (0..CA_WORK_AT_ONCE)
            .map(|_| {
                let (service, entered, wait) = (service.clone(), entered.clone(), wait.clone());
                tokio::spawn(async move {
                    let work = service.run(move |_| {
                        entered.send(()).unwrap();
                        wait.lock().unwrap().recv().unwrap();
                        Ok(())
                    });
                    work.await
                })
            })
            .collect();
        for _ in &occupants {
            entries.recv().await.unwrap();
        }
        let refused = service
            .run_within(Duration::from_millis(20), |_| Ok(()))
            .await;
        let status = refused.unwrap_err().into_response().status();
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        // A client that went away gives its turn back only with the end of its work.
        occupants[0].abort();
        let refused = service
            .run_within(Duration::from_millis(20), |_| Ok(()))
            .await;
        assert!(refused.is_err());
        for _ in &occupants {
            go.send(()).unwrap();
        }
        service.run(|_| Ok(())).await.unwrap();
    }
}

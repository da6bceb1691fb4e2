//! State shared by the CA's handlers: [`CaService`].

use std::convert::Infallible;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use audit::{Audit, AuditedAction};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use pcp::Certname;
use pki::ca::RequestSource;
use pki::{CaError, CertificateAuthority, CertnamePrivilege};
use tokio::runtime::Handle;

use super::audit_trail::{self, AuditRoute, CaOperation};
use super::autosign::{self, AutosignDecision, AutosignError, AutosignPolicy};
use super::failure::CaFailure;
use super::work_queue::CaWorkQueue;
use crate::defaults::{AUTOSIGN_PROGRAMS_AT_ONCE, CA_READS_AT_ONCE, CA_WAIT, CA_WORK_AT_ONCE};
use crate::peer::PuppetApiCaller;

/// The authority and the policy of its HTTP API.
#[derive(Debug, Clone)]
pub struct CaService {
    ca: CertificateAuthority,
    policy: Arc<SigningPolicy>,
    audit: Audit,
    /// Turns for work that may write, and waits for the disk and for the CA's lock.
    work_queue: CaWorkQueue,
    /// Turns for work that reads a file.
    reading_turns: CaWorkQueue,
    /// Turns for policy executables.
    program_turns: CaWorkQueue,
    /// The network of the clients that this clone serves.
    source: RequestSource,
}

/// The service, bound to the network of the caller.
pub(super) struct CallerCaService(pub(super) CaService);

/// The reason for which the authority could not do the work.
#[derive(Debug, thiserror::Error)]
pub enum CaWorkError {
    /// The turn of the caller's network did not come in time.
    #[error("the certificate authority is busy; try again later")]
    Busy,
    /// The work itself failed.
    #[error(transparent)]
    Ca(#[from] CaError),
    /// A bug of this server: the work panicked.
    #[error("the work of the certificate authority ended in a panic")]
    Panicked(#[from] tokio::task::JoinError),
}

#[derive(Debug)]
struct SigningPolicy {
    autosign: AutosignPolicy,
    /// Lifetime of renewed certificates; `None` if none are renewed.
    renewal: Option<Duration>,
}

/// The policy for names that are signed automatically.
pub(super) struct AutosignDecider {
    policy: Arc<SigningPolicy>,
}

impl AutosignDecider {
    /// Decides by the name alone; a name that grants rights is never signed. Blocks on the disk.
    pub(super) fn decide(&self, ca: &CertificateAuthority, certname: &str) -> AutosignDecision {
        let decision = self.policy.autosign.decide(certname);
        match ca.privileged_names().find_privileged(certname) {
            Some(name) if decision != AutosignDecision::Wait => {
                tracing::warn!(
                    certname,
                    "not signed automatically: the name grants rights ({})",
                    name.origin
                );
                AutosignDecision::Wait
            }
            _ => decision,
        }
    }
}

impl CaService {
    /// Creates the service. The privileged names of `ca` have the rights of holders of
    /// `pp_cli_auth`, and are never signed through the API; a policy that overlaps them is refused.
    /// Every action is recorded in `audit` first; without that entry it is not performed.
    pub fn new(
        ca: CertificateAuthority,
        autosign: AutosignPolicy,
        audit: Audit,
    ) -> Result<Self, AutosignError> {
        autosign.check(ca.privileged_names())?;
        Ok(Self {
            ca,
            policy: Arc::new(SigningPolicy {
                autosign,
                renewal: None,
            }),
            audit,
            work_queue: CaWorkQueue::new(CA_WORK_AT_ONCE),
            reading_turns: CaWorkQueue::new(CA_READS_AT_ONCE),
            program_turns: CaWorkQueue::new(AUTOSIGN_PROGRAMS_AT_ONCE),
            source: RequestSource::default(),
        })
    }

    /// Lets holders renew their certificates, which are valid for `lifetime` then. To be called before the
    /// service is cloned.
    #[must_use]
    pub fn with_renewal(self, lifetime: Option<Duration>) -> Self {
        let policy = SigningPolicy {
            autosign: self.policy.autosign.clone(),
            renewal: lifetime,
        };
        Self {
            policy: Arc::new(policy),
            ..self
        }
    }

    /// Lifetime of renewed certificates; `None` if none are renewed.
    pub(super) fn renewal_lifetime(&self) -> Option<Duration> {
        self.policy.renewal
    }

    /// The network that the caller is in.
    pub fn source(&self) -> RequestSource {
        self.source
    }

    /// The policy for names that are signed automatically.
    pub(super) fn autosign_names(&self) -> AutosignDecider {
        AutosignDecider {
            policy: Arc::clone(&self.policy),
        }
    }

    /// Waits for a turn of the caller's network; true if this policy executable signs the request.
    pub(super) async fn is_signed_by_policy(
        &self,
        program: &Path,
        certname: &Certname,
        request_pem: &str,
    ) -> Result<bool, CaFailure> {
        let turn = self.program_turns.acquire(self.source);
        let Ok(_turn) = tokio::time::timeout(CA_WAIT, turn).await else {
            return Err(CaFailure::busy_failure());
        };
        Ok(autosign::is_accepted(program, certname, request_pem).await)
    }

    /// Refuses all callers except administrators, and records refusals in the audit log.
    pub(super) async fn authorize(
        &self,
        caller: &PuppetApiCaller,
        deed: CaOperation,
        route: AuditRoute,
    ) -> Result<(), CaFailure> {
        let refused = match self.is_administrator(caller) {
            Ok(()) => return Ok(()),
            Err(refused) => refused,
        };
        // No certname: a refused caller could name any.
        let act = deed.audited_action(audit_trail::actor_of(caller), route, None);
        self.audit
            .record_refusal(&act, &audit_trail::denied_outcome(&refused))
            .await;
        Err(refused)
    }

    fn is_administrator(&self, caller: &PuppetApiCaller) -> Result<(), CaFailure> {
        let Some(peer) = &caller.certificate.0 else {
            return Err(CaFailure::forbidden("a client certificate is required"));
        };
        let names = self.ca.privileged_names();
        let listed = names.has_privilege(CertnamePrivilege::CaAdministrator, &peer.certname);
        if listed || pki::identity::may_administer_ca(&peer.der) {
            return Ok(());
        }
        tracing::warn!(certname = peer.certname, "use of the CA API denied");
        let message = format!("{} may not administer the CA", peer.certname);
        Err(CaFailure::forbidden(message))
    }

    /// Performs `act` between its two audit entries: the first is durable before `work` begins, the
    /// second records its result even if the client disconnects meanwhile.
    pub(super) async fn command<T: Send + 'static>(
        &self,
        act: AuditedAction,
        work: impl FnOnce(&CertificateAuthority) -> Result<T, CaError> + Send + 'static,
    ) -> Result<T, CaFailure> {
        let intent = self.audit.intent(act).await;
        let intent = intent.map_err(|error| CaFailure::unaudited_failure(&error))?;
        let runtime = Handle::current();
        let told = move |ca: &CertificateAuthority| {
            let done = work(ca).map_err(CaFailure::from);
            runtime.block_on(intent.finish(audit_trail::outcome_of(&done)));
            Ok(done)
        };
        self.run(told).await?
    }

    /// The same service for a caller at this address, whose network has its own turns.
    #[must_use]
    pub fn for_caller(&self, address: Option<IpAddr>) -> Self {
        Self {
            source: RequestSource::new(address),
            ..self.clone()
        }
    }

    /// Runs `work` on a thread that may block on the disk, when its turn comes. The caller is
    /// responsible for permissions and the audit.
    pub async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CertificateAuthority) -> Result<T, CaError> + Send + 'static,
    ) -> Result<T, CaWorkError> {
        self.run_within(&self.work_queue, CA_WAIT, work).await
    }

    /// Like [`Self::run_blocking`], for handlers of this crate.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CertificateAuthority) -> Result<T, CaError> + Send + 'static,
    ) -> Result<T, CaFailure> {
        Ok(self.run_blocking(work).await?)
    }

    /// Runs `work` that reads a file and never waits for the CA's lock, when its turn comes:
    /// writing requests do not delay it.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CertificateAuthority) -> Result<T, CaError> + Send + 'static,
    ) -> Result<T, CaFailure> {
        Ok(self.run_within(&self.reading_turns, CA_WAIT, work).await?)
    }

    async fn run_within<T: Send + 'static>(
        &self,
        turns: &CaWorkQueue,
        wait: Duration,
        work: impl FnOnce(&CertificateAuthority) -> Result<T, CaError> + Send + 'static,
    ) -> Result<T, CaWorkError> {
        let turn = turns.acquire(self.source);
        let Ok(turn) = tokio::time::timeout(wait, turn).await else {
            return Err(CaWorkError::Busy);
        };
        let ca = self.ca.clone();
        let working = tokio::task::spawn_blocking(move || {
            // Held by the work itself: a disconnected client does not stop it.
            let _turn = turn;
            work(&ca)
        });
        Ok(working.await??)
    }
}

impl FromRequestParts<CaService> for CallerCaService {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &CaService,
    ) -> Result<Self, Infallible> {
        let caller = PuppetApiCaller::from_request_parts(parts, service).await?;
        Ok(Self(service.for_caller(caller.address)))
    }
}

/// Parses a name from a path, before any other step.
pub(super) fn certname(text: &str) -> Result<Certname, CaFailure> {
    text.parse()
        .map_err(|error: pcp::CertnameError| CaFailure::bad_request(error.to_string()))
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use axum::response::IntoResponse as _;
    use pki::ca::InitOptions;
    use pki::{KeyType, NamePattern, PrivilegedNames};
    use tokio::sync::mpsc;

    use super::*;

    impl CaService {
        fn of_network(self, last: u8) -> Self {
            let source = RequestSource::new(Some([10, 0, 0, last].into()));
            Self { source, ..self }
        }
    }

    async fn service(autosign: AutosignPolicy) -> (tempfile::TempDir, CaService) {
        let dir = tempfile::tempdir().unwrap();
        let options = InitOptions {
            common_name: "Puppet CA: test".to_owned(),
            key_type: KeyType::EcP256,
        };
        let ca = CertificateAuthority::init(&dir.path().join("ca"), &options).unwrap();
        let mut names = PrivilegedNames::default();
        for (privilege, name) in [
            (CertnamePrivilege::Server, "Server.Example"),
            (CertnamePrivilege::RemoteBroker, "broker2.example"),
            (CertnamePrivilege::CaAdministrator, "admin"),
        ] {
            names.grant(privilege, "test", NamePattern::Exact(name.to_owned()));
        }
        let ca = ca.with_privileged_names(Arc::new(names));
        let store = store::StoreConfig::sqlite(dir.path().join("tutti.db"));
        let store = store::Store::open(&store).await.unwrap();
        let audit = Audit::open(store, audit::AuditConfig::default()).await;
        let service = CaService::new(ca, autosign, audit).unwrap();
        (dir, service)
    }

    #[tokio::test]
    async fn names_with_rights_are_never_signed_unasked() {
        let (_dir, service) = service(AutosignPolicy::All).await;
        let unasked = service.autosign_names();
        let decide = |name| unasked.decide(&service.ca, name);
        assert_eq!(decide("web1.example"), AutosignDecision::Sign);
        for name in [
            "server.example",
            "SERVER.example",
            "broker2.example",
            "Admin",
        ] {
            assert_eq!(decide(name), AutosignDecision::Wait, "{name}");
        }
    }

    #[tokio::test]
    async fn work_waits_its_turn_and_not_for_ever() {
        let (_dir, service) = service(AutosignPolicy::Off).await;
        let (entered, mut entries) = mpsc::unbounded_channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let occupants: Vec<_> = (1..)
            .take(CA_WORK_AT_ONCE)
            .map(|network| {
                let service = service.clone().of_network(network);
                let (entered, wait) = (entered.clone(), wait.clone());
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
            .run_within(&service.work_queue, Duration::from_millis(20), |_| Ok(()))
            .await;
        let refused = CaFailure::from(refused.unwrap_err());
        let status = refused.into_response().status();
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        // Reads do not wait for writes.
        let read = service.read(|ca| ca.ca_bundle());
        let read = tokio::time::timeout(Duration::from_secs(60), read).await;
        read.expect("an answer").unwrap();
        // The turn of a disconnected client is returned only at the end of its work.
        occupants[0].abort();
        let refused = service
            .run_within(&service.work_queue, Duration::from_millis(20), |_| Ok(()))
            .await;
        assert!(refused.is_err());
        for _ in &occupants {
            go.send(()).unwrap();
        }
        service.run(|_| Ok(())).await.unwrap();
    }
}

//! Association: decides if an upgraded connection becomes a session.
//!
//! The checks have the order of other brokers: running, certificate, limit, policy. Invariant: a
//! refused client receives a close frame, and no state of it is kept.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use admission::ConnectionStage;
use pcp::types::ASSOCIATE_REQUEST;
use pcp::{Certname, PcpUri, SERVER_TYPE};

use super::request::UpgradeRequest;
use super::{ConnectionOpening, OpeningError};
use crate::access_log::{self, MessageOutcome};
use crate::authorization::AuthorizationRequest;
use crate::server_messages::ASSOCIATION_REFUSED;
use crate::session::BrokerSession;
use crate::session::actor::SessionParts;
use crate::session::outbox::{SessionClose, SessionOutbox};
use crate::sessions::AssociateError;
use crate::tls::TlsSocket;

/// Close code for a session whose client connected again; Tutti's own.
const SUPERSEDED: u16 = 4001;
/// Close code for a missing certificate, the same as in other PCP brokers.
const NO_CERTIFICATE: u16 = 4003;
/// Close code for a state of the broker, the same as in other PCP brokers.
const UNAVAILABLE: u16 = ws::code::INTERNAL_ERROR;

pub(super) enum AssociationOutcome {
    Session(SessionParts),
    Refused(TlsSocket, SessionClose, &'static str),
}

/// Cause of a refused association; its text is sent in the close frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum AssociationRefusal {
    #[error("No client certificate.")]
    NoCertificate,
    #[error("The certificate's common name cannot be a certname.")]
    BadCertname,
    #[error("Association unsuccessful.")]
    Unsuccessful,
    #[error("A connection of this certname is waiting already.")]
    Duplicate,
    #[error(transparent)]
    Table(#[from] AssociateError),
}

pub(super) async fn associate(
    opening: &mut ConnectionOpening,
    mut socket: TlsSocket,
    mut upgrade: UpgradeRequest,
) -> Result<AssociationOutcome, OpeningError> {
    let session = match create_session(opening, &socket, &upgrade) {
        Ok(session) => session,
        Err(refusal) => return refuse(refusal, socket, &upgrade).await,
    };
    if let Err(refusal) = delay_superseding(opening, &session, &mut socket, &mut upgrade).await? {
        return refuse(refusal, socket, &upgrade).await;
    }
    let router = &opening.shared.router;
    // The session is added to the table before the answer, so that a client with an answer can be
    // reached.
    let associated = router.sessions.associate(&session);
    if let Err(error) = upgrade.accept(&mut socket).await {
        router.sessions.remove_session(&session);
        return Err(error.into());
    }
    let replaced = match associated {
        Ok(replaced) => replaced,
        Err(error) => {
            let refusal = AssociationRefusal::from(error);
            return Ok(AssociationOutcome::Refused(
                socket,
                refusal.to_session_close(),
                refusal.label(),
            ));
        }
    };
    if let Some(old) = replaced {
        router.metrics.superseded.inc();
        tracing::info!(client = %old.uri, old = %old.remote, new = %session.remote, "session superseded");
        old.outbox
            .close(SUPERSEDED, "Superseded by a newer connection.");
    }
    // The certificate may have been revoked after the handshake, before the watcher knew this
    // session.
    session
        .outbox
        .check_certificate(opening.shared.tls.revocations());
    router.metrics.opened.inc();
    router
        .metrics
        .connections
        .set(i64::try_from(router.sessions.len()).unwrap_or(i64::MAX));
    tracing::info!(client = %session.uri, remote = %session.remote, tls13 = socket.is_tls13(),
        version = ?session.version, "session associated");
    Ok(AssociationOutcome::Session(SessionParts {
        session,
        router: Arc::clone(router),
        socket,
        decoder: UpgradeRequest::decoder(opening.shared.config.limits.message_bytes),
        plain: upgrade.rest,
        idle_timeout: opening.shared.config.timeouts.idle,
    }))
}

async fn refuse(
    refusal: AssociationRefusal,
    mut socket: TlsSocket,
    upgrade: &UpgradeRequest,
) -> Result<AssociationOutcome, OpeningError> {
    upgrade.accept(&mut socket).await?;
    Ok(AssociationOutcome::Refused(
        socket,
        refusal.to_session_close(),
        refusal.label(),
    ))
}

fn create_session(
    opening: &ConnectionOpening,
    socket: &TlsSocket,
    upgrade: &UpgradeRequest,
) -> Result<Arc<BrokerSession>, AssociationRefusal> {
    let shared = &opening.shared;
    let leaf = socket
        .peer_leaf()
        .ok_or(AssociationRefusal::NoCertificate)?;
    let certname: Certname = pki::certname_of(leaf)
        .ok()
        .and_then(|name| name.parse().ok())
        .ok_or(AssociationRefusal::BadCertname)?;
    let uri = PcpUri::new(&certname, &upgrade.requested_path.client_type)
        .ok()
        .filter(|uri| uri.client_type() != SERVER_TYPE && !uri.is_wildcard())
        .ok_or(AssociationRefusal::Unsuccessful)?;
    let policy = &shared.router.policy;
    let session = BrokerSession {
        number: shared.next_number(),
        uri,
        certname,
        version: upgrade.requested_path.version,
        remote: opening.remote,
        capabilities: upgrade.capabilities.clone().map(Arc::new),
        extensions: policy.read_extensions(leaf).map(Box::new),
        outbox: SessionOutbox::new(shared.config.limits.outbox_bytes),
        refusals: Mutex::default(),
    };
    let target = PcpUri::broker();
    let request = AuthorizationRequest {
        sender: &session.uri,
        target: &target,
        message_type: ASSOCIATE_REQUEST,
    };
    if !policy.decide(session.to_client(), request).allowed {
        let message = pcp::PcpMessage::new(ASSOCIATE_REQUEST, None)
            .from(session.uri.clone())
            .to(target);
        shared
            .router
            .metrics
            .count_message(MessageOutcome::AuthorizationFailure);
        access_log::log_message(
            MessageOutcome::AuthorizationFailure,
            session.to_origin(),
            &message,
        );
        return Err(AssociationRefusal::Unsuccessful);
    }
    Ok(Arc::new(session))
}

/// Delays a certname that keeps superseding itself; its live session stays meanwhile. One
/// connection of it may wait; others are refused, and neither counted nor logged, since they can be
/// many.
async fn delay_superseding(
    opening: &mut ConnectionOpening,
    session: &BrokerSession,
    socket: &mut TlsSocket,
    upgrade: &mut UpgradeRequest,
) -> Result<Result<(), AssociationRefusal>, OpeningError> {
    let shared = &opening.shared;
    let Some(old) = shared.router.sessions.get(&session.uri) else {
        return Ok(Ok(()));
    };
    let Some(_seat) = shared.damped_certnames.enter(&session.certname) else {
        return Ok(Err(AssociationRefusal::Duplicate));
    };
    let damping = {
        let mut damper = shared.damper.lock().unwrap_or_else(PoisonError::into_inner);
        damper.record_superseding(&session.certname, Instant::now())
    };
    if damping.delay.is_zero() {
        return Ok(Ok(()));
    }
    shared.router.metrics.duplicate_certnames.inc();
    tracing::warn!(
        certname = %session.certname,
        first = %old.remote,
        second = %session.remote,
        times = damping.count,
        delay_ms = u64::try_from(damping.delay.as_millis()).unwrap_or(u64::MAX),
        "a certname keeps superseding itself; do two machines have the same certificate?"
    );
    // The client is authenticated now, and half-open slots are for unknown clients.
    opening.half_open = None;
    opening.admission.advance(ConnectionStage::Authenticated);
    // If the client gives up meanwhile, its next attempt may wait.
    match tokio::time::timeout(damping.delay, upgrade.wait_for_end(socket)).await {
        Err(_) => Ok(Ok(())),
        Ok(ended) => Err(ended),
    }
}

impl AssociationRefusal {
    fn to_session_close(&self) -> SessionClose {
        let code = match self {
            Self::NoCertificate => NO_CERTIFICATE,
            Self::BadCertname | Self::Unsuccessful => ASSOCIATION_REFUSED,
            Self::Duplicate | Self::Table(_) => UNAVAILABLE,
        };
        SessionClose {
            code,
            reason: self.to_string(),
        }
    }

    fn label(&self) -> &'static str {
        match self {
            Self::NoCertificate => "no_certificate",
            Self::BadCertname => "bad_certname",
            Self::Unsuccessful => "not_authorized",
            Self::Duplicate => "duplicate",
            Self::Table(AssociateError::Limit) => "limit",
            Self::Table(AssociateError::CertnameLimit) => "certname_limit",
            Self::Table(AssociateError::Stopping) => "stopping",
        }
    }
}

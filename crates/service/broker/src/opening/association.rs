//! Whether an upgraded connection becomes a session.
//!
//! The order is that of other brokers: running, certificate, limit, policy. The rule: a client
//! that is refused is told by a close frame, and nothing of it stays.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use admission::ConnectionStage;
use pcp::types::ASSOCIATE_REQUEST;
use pcp::{Certname, PcpUri, SERVER_TYPE};

use super::request::Upgrade;
use super::{Failed, Opening};
use crate::access_log::{self, Outcome};
use crate::authorization::Request;
use crate::server_messages::ASSOCIATION_REFUSED;
use crate::session::Session;
use crate::session::actor::Parts;
use crate::session::outbox::{Closing, Outbox};
use crate::sessions::AssociateError;
use crate::tls::TlsSocket;

/// Close code for a session whose client connected again; ours alone.
const SUPERSEDED: u16 = 4001;
/// Close code without a certificate, as in the field.
const NO_CERTIFICATE: u16 = 4003;
/// Close code for what is our own state, as in the field.
const UNAVAILABLE: u16 = 1011;

pub(super) enum Associated {
    Session(Parts),
    Refused(TlsSocket, Closing, &'static str),
}

/// Why not; the text goes into the close frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Refusal {
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
    opening: &mut Opening,
    mut socket: TlsSocket,
    mut upgrade: Upgrade,
) -> Result<Associated, Failed> {
    let session = match session(opening, &socket, &upgrade) {
        Ok(session) => session,
        Err(refusal) => return refuse(refusal, socket, &upgrade).await,
    };
    if let Err(refusal) = damp(opening, &session, &mut socket, &mut upgrade).await? {
        return refuse(refusal, socket, &upgrade).await;
    }
    let router = &opening.shared.router;
    // First the table, then the answer: a client that has heard it can be reached.
    let associated = router.sessions.associate(&session);
    if let Err(error) = upgrade.accept(&mut socket).await {
        router.sessions.leave(&session);
        return Err(error.into());
    }
    let replaced = match associated {
        Ok(replaced) => replaced,
        Err(error) => {
            let refusal = Refusal::from(error);
            return Ok(Associated::Refused(
                socket,
                refusal.closing(),
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
    // Revoked between the handshake and now: the watcher did not see this session yet.
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
    Ok(Associated::Session(Parts {
        session,
        router: Arc::clone(router),
        socket,
        decoder: Upgrade::decoder(opening.shared.config.limits.message_bytes),
        plain: upgrade.rest,
        idle_timeout: opening.shared.config.timeouts.idle,
    }))
}

async fn refuse(
    refusal: Refusal,
    mut socket: TlsSocket,
    upgrade: &Upgrade,
) -> Result<Associated, Failed> {
    upgrade.accept(&mut socket).await?;
    Ok(Associated::Refused(
        socket,
        refusal.closing(),
        refusal.label(),
    ))
}

fn session(
    opening: &Opening,
    socket: &TlsSocket,
    upgrade: &Upgrade,
) -> Result<Arc<Session>, Refusal> {
    let shared = &opening.shared;
    let leaf = socket.peer_leaf().ok_or(Refusal::NoCertificate)?;
    let certname: Certname = pki::certname_of(leaf)
        .ok()
        .and_then(|name| name.parse().ok())
        .ok_or(Refusal::BadCertname)?;
    let uri = PcpUri::new(&certname, &upgrade.wanted.client_type)
        .ok()
        .filter(|uri| uri.client_type() != SERVER_TYPE && !uri.is_wildcard())
        .ok_or(Refusal::Unsuccessful)?;
    let policy = &shared.router.policy;
    let session = Session {
        number: shared.next_number(),
        uri,
        certname,
        version: upgrade.wanted.version,
        remote: opening.remote,
        capabilities: upgrade.capabilities.clone().map(Arc::new),
        extensions: policy.extensions_of(leaf).map(Box::new),
        outbox: Outbox::new(shared.config.limits.outbox_bytes),
        refusals: Mutex::default(),
    };
    let target = PcpUri::broker();
    let request = Request {
        sender: &session.uri,
        target: &target,
        message_type: ASSOCIATE_REQUEST,
    };
    if !policy.decide(session.client(), request).allowed {
        let message = pcp::Message::new(ASSOCIATE_REQUEST, None)
            .from(session.uri.clone())
            .to(target);
        shared.router.metrics.message(Outcome::AuthorizationFailure);
        access_log::message(Outcome::AuthorizationFailure, session.origin(), &message);
        return Err(Refusal::Unsuccessful);
    }
    Ok(Arc::new(session))
}

/// Slows a certname down that keeps superseding itself; its living session stays meanwhile. One
/// connection of it may wait; the others are refused, and neither counted nor logged, since they
/// can be many.
async fn damp(
    opening: &mut Opening,
    session: &Session,
    socket: &mut TlsSocket,
    upgrade: &mut Upgrade,
) -> Result<Result<(), Refusal>, Failed> {
    let shared = &opening.shared;
    let Some(old) = shared.router.sessions.get(&session.uri) else {
        return Ok(Ok(()));
    };
    let Some(_seat) = shared.damped.enter(&session.certname) else {
        return Ok(Err(Refusal::Duplicate));
    };
    let damping = {
        let mut damper = shared.damper.lock().unwrap_or_else(PoisonError::into_inner);
        damper.superseding(&session.certname, Instant::now())
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
    // It is known now, and half-open places are for clients that are not yet.
    opening.half_open = None;
    opening.admission.advance(ConnectionStage::Authenticated);
    // A client that gives up meanwhile makes room for its next attempt.
    match tokio::time::timeout(damping.delay, upgrade.wait_for_end(socket)).await {
        Err(_) => Ok(Ok(())),
        Ok(ended) => Err(ended),
    }
}

impl Refusal {
    fn closing(&self) -> Closing {
        let code = match self {
            Self::NoCertificate => NO_CERTIFICATE,
            Self::BadCertname | Self::Unsuccessful => ASSOCIATION_REFUSED,
            Self::Duplicate | Self::Table(_) => UNAVAILABLE,
        };
        Closing {
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

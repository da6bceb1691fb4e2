//! Audit events of the CA: [`CaOperation`].
//!
//! Invariant: no certificate is signed, revoked or forgotten before its entry is durable, and a
//! refused request leaves an entry. No entry contains a key, a request or a certificate.

use audit::{AuditActor, AuditObject, AuditOutcome, AuditedAction};
use serde_json::json;

use super::failure::CaFailure;
use crate::peer::PuppetApiCaller;

/// An operation of the CA that a caller requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaOperation {
    ReadStatus,
    /// A change that was requested, before it is known if it signs or revokes.
    Change,
    Sign,
    Renew,
    Revoke,
    Clean,
    DeleteRequest,
}

/// The route by which an operation was requested.
pub(super) type AuditRoute = &'static str;

// === impl CaOperation ===

impl CaOperation {
    /// Name of the operation in audit entries.
    fn action(self) -> &'static str {
        match self {
            Self::ReadStatus => "certificate_status",
            Self::Change => "change_certificate_status",
            Self::Sign => "sign_certificate",
            Self::Renew => "renew_certificate",
            Self::Revoke => "revoke_certificate",
            Self::Clean => "clean_certificate",
            Self::DeleteRequest => "delete_certificate_request",
        }
    }

    /// The audited operation of an actor, on a certname if one was named.
    pub(super) fn audited_action(
        self,
        actor: AuditActor,
        route: AuditRoute,
        certname: Option<&str>,
    ) -> AuditedAction {
        AuditedAction {
            actor,
            service: "ca".to_owned(),
            action: self.action().to_owned(),
            object: certname.map_or_else(AuditObject::default, |name| {
                AuditObject::named("certificate", name)
            }),
            route: route.to_owned(),
            ..AuditedAction::default()
        }
    }

    /// An operation that the server performs by itself because of the configuration.
    pub(super) fn autosign_event(
        self,
        caller: &PuppetApiCaller,
        route: AuditRoute,
        certname: &str,
    ) -> AuditedAction {
        let mut actor = AuditActor::server();
        actor.address = caller.address;
        let mut act = self.audited_action(actor, route, Some(certname));
        act.details.insert("autosign".to_owned(), json!(true));
        act
    }
}

/// The caller, as far as it is known.
pub(super) fn actor_of(caller: &PuppetApiCaller) -> AuditActor {
    let actor = caller.certname().map(AuditActor::certificate);
    AuditActor {
        address: caller.address,
        ..actor.unwrap_or_default()
    }
}

/// The outcome of an operation. The text of a failure is not recorded: it may quote a request.
pub(super) fn outcome_of<T>(done: &Result<T, CaFailure>) -> AuditOutcome {
    match done {
        Ok(_) => AuditOutcome::default(),
        Err(failure) => AuditOutcome {
            status: Some(failure.status().as_u16()),
            error: Some(failure_kind(failure).to_owned()),
            ..AuditOutcome::default()
        },
    }
}

/// The outcome of a request that was refused before it was read.
pub(super) fn denied_outcome(failure: &CaFailure) -> AuditOutcome {
    AuditOutcome {
        status: Some(failure.status().as_u16()),
        denied: Some(String::new()),
        ..AuditOutcome::default()
    }
}

fn failure_kind(failure: &CaFailure) -> &'static str {
    match failure.status().as_u16() {
        404 => "unknown",
        409 => "conflict",
        503 => "unavailable",
        400..500 => "refused",
        _ => "failed",
    }
}

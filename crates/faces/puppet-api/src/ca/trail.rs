//! Audit events of the CA: [`Deed`].
//!
//! Invariant: no certificate is signed, revoked or forgotten before its entry is durable, and a
//! refused request leaves an entry. No entry contains a key, a request or a certificate.

use audit::{Act, Actor, Object, Outcome};
use serde_json::json;

use super::failure::CaFailure;
use crate::peer::Caller;

/// An operation of the CA that a caller requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Read,
    /// A change that was requested, before it is known if it signs or revokes.
    Change,
    Sign,
    Revoke,
    Clean,
    DeleteRequest,
}

/// The route by which an operation was requested.
pub(super) type Route = &'static str;

// === impl Deed ===

impl Deed {
    /// Name of the operation in audit entries.
    fn action(self) -> &'static str {
        match self {
            Self::Read => "certificate_status",
            Self::Change => "change_certificate_status",
            Self::Sign => "sign_certificate",
            Self::Revoke => "revoke_certificate",
            Self::Clean => "clean_certificate",
            Self::DeleteRequest => "delete_certificate_request",
        }
    }

    /// The audited operation of an actor, on a certname if one was named.
    pub(super) fn act(self, actor: Actor, route: Route, certname: Option<&str>) -> Act {
        Act {
            actor,
            service: "ca".to_owned(),
            action: self.action().to_owned(),
            object: certname
                .map_or_else(Object::default, |name| Object::named("certificate", name)),
            route: route.to_owned(),
            ..Act::default()
        }
    }

    /// An operation that the server performs by itself because of the configuration.
    pub(super) fn unasked(self, caller: &Caller, route: Route, certname: &str) -> Act {
        let mut actor = Actor::server();
        actor.address = caller.address;
        let mut act = self.act(actor, route, Some(certname));
        act.details.insert("autosign".to_owned(), json!(true));
        act
    }
}

/// The caller, as far as it is known.
pub(super) fn actor(caller: &Caller) -> Actor {
    let actor = caller.certname().map(Actor::certificate);
    Actor {
        address: caller.address,
        ..actor.unwrap_or_default()
    }
}

/// The outcome of an operation. The text of a failure is not recorded: it may quote a request.
pub(super) fn outcome<T>(done: &Result<T, CaFailure>) -> Outcome {
    match done {
        Ok(_) => Outcome::default(),
        Err(failure) => Outcome {
            status: Some(failure.status().as_u16()),
            error: Some(kind(failure).to_owned()),
            ..Outcome::default()
        },
    }
}

/// The outcome of a request that was refused before it was read.
pub(super) fn denied(failure: &CaFailure) -> Outcome {
    Outcome {
        status: Some(failure.status().as_u16()),
        denied: Some(String::new()),
        ..Outcome::default()
    }
}

fn kind(failure: &CaFailure) -> &'static str {
    match failure.status().as_u16() {
        404 => "unknown",
        409 => "conflict",
        503 => "unavailable",
        400..500 => "refused",
        _ => "failed",
    }
}

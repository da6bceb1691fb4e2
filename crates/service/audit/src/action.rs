//! The content of an audit event: actor, action, object and origin. Main type: [`AuditedAction`].
//!
//! Invariant: an act contains no secrets. Callers pass names and numbers, never the value of a
//! parameter, a password or a token; values that a client chose are truncated.

use std::net::IpAddr;

use serde_json::{Map, Value, json};
use store::NewAudit;

use crate::defaults::{DETAILS_BYTES, NAME_CHARS};

/// The user or program that performs an action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AuditActor {
    /// Kind of the actor.
    pub kind: ActorKind,
    /// UUID of a user, or a certname; may be empty.
    pub id: String,
    /// Login of a user, or a certname; may be empty.
    pub name: String,
    /// IP address of the client; `None` if unknown.
    pub address: Option<IpAddr>,
}

/// The kind of an actor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ActorKind {
    /// An unauthenticated client.
    #[default]
    Anonymous,
    /// A user with a token.
    User,
    /// A program with a certificate.
    Certificate,
    /// This server itself, for example a schedule.
    Server,
}

/// The object of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditObject {
    /// Type of the object: `job`, `role`, …; may be empty.
    pub kind: String,
    /// Id of the object.
    pub id: String,
    /// Name of the object, shown to users.
    pub name: String,
}

/// An action that is performed or was requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditedAction {
    /// The user or program that performs the action.
    pub actor: AuditActor,
    /// Name of the service: `orchestrator`, `rbac`, …
    pub service: String,
    /// Name of the action, for example `command_task`.
    pub action: String,
    /// The object of the action.
    pub object: AuditObject,
    /// Method and path, with placeholders for the variable parts as in the list of routes.
    pub route: String,
    /// The permission that the action requires; `None` if it requires none.
    pub permission: Option<String>,
    /// Further details, without secrets.
    pub details: Map<String, Value>,
}

/// The result of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditOutcome {
    /// HTTP status code; `None` if unknown.
    pub status: Option<u16>,
    /// Kind of the error; `None` without one.
    pub error: Option<String>,
    /// The missing permission, if the action was denied.
    pub denied: Option<String>,
    /// The created or changed object, if it became known only during the action.
    pub object: Option<AuditObject>,
    /// Duration of the action, in milliseconds.
    pub duration_ms: Option<u64>,
}

/// The phase of an action that an entry records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuditPhase {
    Intent,
    Result { of: i64 },
    Login,
    Denied,
    Event,
    Checkpoint,
}

// === impl AuditActor ===

impl AuditActor {
    /// The actor for actions of this server itself.
    pub fn server() -> Self {
        Self {
            kind: ActorKind::Server,
            name: "tutti".to_owned(),
            ..Self::default()
        }
    }

    /// The actor for the holder of a verified certificate.
    pub fn certificate(certname: &str) -> Self {
        Self {
            kind: ActorKind::Certificate,
            id: certname.to_owned(),
            name: certname.to_owned(),
            address: None,
        }
    }
}

impl ActorKind {
    /// The name of the kind in entries.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::User => "users",
            Self::Certificate => "certificates",
            Self::Server => "server",
        }
    }
}

// === impl AuditObject ===

impl AuditObject {
    /// An object whose name is its id.
    pub fn named(kind: &str, name: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            id: name.to_owned(),
            name: name.to_owned(),
        }
    }
}

// === impl AuditedAction ===

impl AuditedAction {
    /// The entry, without its position in the chain.
    pub(crate) fn to_entry(
        &self,
        phase: AuditPhase,
        outcome: &AuditOutcome,
        at_ms: i64,
    ) -> NewAudit {
        let object = outcome.object.as_ref().unwrap_or(&self.object);
        let denied = outcome.denied.is_some() || phase == AuditPhase::Denied;
        let permission = outcome.denied.as_ref().filter(|name| !name.is_empty());
        NewAudit {
            at_ms,
            phase: phase.as_str().to_owned(),
            intent: match phase {
                AuditPhase::Result { of } => Some(of),
                _ => None,
            },
            actor_type: self.actor.kind.as_str().to_owned(),
            actor_id: clip(&self.actor.id),
            actor_name: clip(&self.actor.name),
            address: self.actor.address.map(|address| address.to_string()),
            service: clip(&self.service),
            action: clip(&self.action),
            object_type: clip(&object.kind),
            object_id: clip(&object.id),
            object_name: clip(&object.name),
            route: clip(&self.route),
            decision: if denied { "denied" } else { "allowed" }.to_owned(),
            permission: permission
                .or(self.permission.as_ref())
                .map(|name| clip(name)),
            status: outcome.status.map(i64::from),
            times: 1,
            details: self.details_json(outcome),
        }
    }

    fn details_json(&self, outcome: &AuditOutcome) -> String {
        let mut details = self.details.clone();
        if let Some(kind) = &outcome.error {
            details.insert("error".to_owned(), json!(clip(kind)));
        }
        if let Some(duration_ms) = outcome.duration_ms {
            details.insert("duration_ms".to_owned(), json!(duration_ms));
        }
        let text = Value::Object(details).to_string();
        if text.len() <= DETAILS_BYTES {
            return text;
        }
        json!({ "left_out_bytes": text.len() }).to_string()
    }
}

// === impl AuditPhase ===

impl AuditPhase {
    fn as_str(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Result { .. } => "result",
            Self::Login => "login",
            Self::Denied => "denied",
            Self::Event => "event",
            Self::Checkpoint => "checkpoint",
        }
    }
}

/// The beginning of a text, with a mark if it was truncated.
pub(crate) fn clip(text: &str) -> String {
    match text.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_chose_is_clipped() {
        let mut act = AuditedAction::default();
        act.actor.name = "é".repeat(1_000_000);
        act.details
            .insert("x".to_owned(), json!("y".repeat(100_000)));
        let entry = act.to_entry(AuditPhase::Denied, &AuditOutcome::default(), 0);
        assert_eq!(entry.actor_name.chars().count(), NAME_CHARS + 1);
        assert_eq!(entry.details, r#"{"left_out_bytes":100008}"#);
        assert_eq!(entry.decision, "denied");
    }
}

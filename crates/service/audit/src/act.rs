//! What an entry tells: who did what to which thing, from where. Main type: [`Act`].
//!
//! The rule: nothing here is a secret. Whoever makes an act gives names and numbers, never the
//! value of a parameter, a password or a token; and what a client chose is clipped.

use std::net::IpAddr;

use serde_json::{Map, Value, json};
use store::NewAudit;

use crate::defaults::{DETAILS_BYTES, NAME_CHARS};

/// Who.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Actor {
    /// What kind.
    pub kind: ActorKind,
    /// A user's UUID or a certname; may be empty.
    pub id: String,
    /// A login or a certname; may be empty.
    pub name: String,
    /// From where, where known.
    pub address: Option<IpAddr>,
}

/// What kind of actor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ActorKind {
    /// Nobody who is known.
    #[default]
    Anonymous,
    /// Somebody with a token.
    User,
    /// A program with a certificate.
    Certificate,
    /// This server itself, for example a schedule.
    Server,
}

/// On which thing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// `job`, `role`, …; may be empty.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
}

/// Something that is done or was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Act {
    /// Who.
    pub actor: Actor,
    /// `orchestrator`, `rbac`, …
    pub service: String,
    /// For example `command_task`.
    pub action: String,
    /// On which thing.
    pub object: Object,
    /// Method and path, with the variable parts as they are in the list of routes.
    pub route: String,
    /// The permission that it takes.
    pub permission: Option<String>,
    /// More facts, without secrets.
    pub details: Map<String, Value>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The HTTP status; `None`: nobody knows.
    pub status: Option<u16>,
    /// The kind of the error.
    pub error: Option<String>,
    /// Which permission was missing; `Some`: it was denied.
    pub denied: Option<String>,
    /// What was made or changed, if that is known only now.
    pub object: Option<Object>,
    /// How long it took.
    pub duration_ms: Option<u64>,
}

/// Which part of the story an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Intent,
    Result { of: i64 },
    Login,
    Denied,
    Event,
    Checkpoint,
}

// === impl Actor ===

impl Actor {
    /// This server itself.
    pub fn server() -> Self {
        Self {
            kind: ActorKind::Server,
            name: "tutti".to_owned(),
            ..Self::default()
        }
    }

    /// The holder of a verified certificate.
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
    /// As it stands in entries.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::User => "users",
            Self::Certificate => "certificates",
            Self::Server => "server",
        }
    }
}

// === impl Object ===

impl Object {
    /// A thing whose name is its id.
    pub fn named(kind: &str, name: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            id: name.to_owned(),
            name: name.to_owned(),
        }
    }
}

// === impl Act ===

impl Act {
    /// The entry, less its place.
    pub(crate) fn entry(&self, phase: Phase, outcome: &Outcome, at_ms: i64) -> NewAudit {
        let object = outcome.object.as_ref().unwrap_or(&self.object);
        let denied = outcome.denied.is_some() || phase == Phase::Denied;
        let permission = outcome.denied.as_ref().filter(|name| !name.is_empty());
        NewAudit {
            at_ms,
            phase: phase.as_str().to_owned(),
            intent: match phase {
                Phase::Result { of } => Some(of),
                _ => None,
            },
            actor_type: self.actor.kind.as_str().to_owned(),
            actor_id: clipped(&self.actor.id),
            actor_name: clipped(&self.actor.name),
            address: self.actor.address.map(|address| address.to_string()),
            service: clipped(&self.service),
            action: clipped(&self.action),
            object_type: clipped(&object.kind),
            object_id: clipped(&object.id),
            object_name: clipped(&object.name),
            route: clipped(&self.route),
            decision: if denied { "denied" } else { "allowed" }.to_owned(),
            permission: permission
                .or(self.permission.as_ref())
                .map(|name| clipped(name)),
            status: outcome.status.map(i64::from),
            times: 1,
            details: self.details(outcome),
        }
    }

    fn details(&self, outcome: &Outcome) -> String {
        let mut details = self.details.clone();
        if let Some(kind) = &outcome.error {
            details.insert("error".to_owned(), json!(clipped(kind)));
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

// === impl Phase ===

impl Phase {
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

/// The beginning of a text, with a mark where something is missing.
pub(crate) fn clipped(text: &str) -> String {
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
        let mut act = Act::default();
        act.actor.name = "é".repeat(1_000_000);
        act.details
            .insert("x".to_owned(), json!("y".repeat(100_000)));
        let entry = act.entry(Phase::Denied, &Outcome::default(), 0);
        assert_eq!(entry.actor_name.chars().count(), NAME_CHARS + 1);
        assert_eq!(entry.details, r#"{"left_out_bytes":100008}"#);
        assert_eq!(entry.decision, "denied");
    }
}

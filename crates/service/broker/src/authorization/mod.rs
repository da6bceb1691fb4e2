//! Authorization of messages by sender, target and type, with rules in the format of
//! trapperkeeper-authorization.
//!
//! An [`AuthorizationPolicy`] is an ordered list of rules over a synthetic HTTP request, as
//! existing policies expect it: `POST /pcp-broker/send` with the query parameters `sender`,
//! `target` and `message_type`. Invariant: the first rule that matches decides, and a message that
//! no rule matches is denied.

mod client;
mod extensions;
mod load;
mod name;
mod privileged;
mod rule;
mod shipped;

pub use load::AuthorizationPolicyError;
pub use shipped::ShippedPolicy;

pub use client::{AuthorizationClient, AuthorizationRequest, CertificateExtensions};
use std::path::Path;

use rule::AuthorizationRule;

/// The authorization rules of a broker.
#[derive(Clone, Debug)]
pub struct AuthorizationPolicy {
    /// The rules in the order in which they are tried.
    rules: Vec<AuthorizationRule>,
}

/// The decision of a policy about one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthorizationDecision<'a> {
    /// True if the message may be routed.
    pub allowed: bool,
    /// The rule that decided; `None` when none matched.
    pub rule: Option<&'a str>,
}

impl AuthorizationPolicy {
    /// Reads a HOCON file with an `authorization` section.
    pub fn read_file(path: &Path) -> Result<Self, AuthorizationPolicyError> {
        load::load_file(path)
    }

    /// Reads HOCON text with an `authorization` section.
    pub fn parse(text: &str) -> Result<Self, AuthorizationPolicyError> {
        load::parse_text(text)
    }

    /// Decides if `client` may send `request`.
    pub fn decide(
        &self,
        client: AuthorizationClient<'_>,
        request: AuthorizationRequest<'_>,
    ) -> AuthorizationDecision<'_> {
        match self.rules.iter().find(|rule| rule.matches(request)) {
            Some(rule) => AuthorizationDecision {
                allowed: rule.allows(client),
                rule: Some(rule.name()),
            },
            None => AuthorizationDecision {
                allowed: false,
                rule: None,
            },
        }
    }

    /// The extensions of a certificate (DER) that the rules look at; `None` if no rule looks at
    /// extensions.
    pub fn read_extensions(&self, leaf: &[u8]) -> Option<CertificateExtensions> {
        let mut keys = self
            .rules
            .iter()
            .flat_map(AuthorizationRule::extension_keys)
            .peekable();
        keys.peek()?;
        Some(extensions::read_extensions(leaf, keys))
    }

    /// Rules that can never decide anything, with the reason; worth a warning at start.
    pub fn inert_rules(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.rules
            .iter()
            .filter_map(|rule| rule.inert_reason().map(|why| (rule.name(), why)))
    }
}

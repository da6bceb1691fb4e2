//! Who may send what to whom: rules in the form of trapperkeeper-authorization.
//!
//! A [`Policy`] is an ordered list of rules over a synthetic HTTP request, as existing policies
//! expect it: `POST /pcp-broker/send` with the query parameters `sender`, `target` and
//! `message_type`. The rule: the first rule that matches decides, and nothing that no rule
//! matches is allowed.

mod extensions;
mod load;
mod name;
mod privileged;
mod rule;
mod shipped;

pub use load::PolicyError;
pub use shipped::ShippedPolicy;

use std::collections::BTreeMap;
use std::path::Path;

use pcp::PcpUri;

use rule::Rule;

/// The rules of a broker.
#[derive(Clone, Debug)]
pub struct Policy {
    /// In the order in which they are tried.
    rules: Vec<Rule>,
}

/// Extensions of a client certificate by their short names (`pp_role`) or dotted ids.
pub type Extensions = BTreeMap<String, String>;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    /// From the verified certificate.
    pub certname: &'a str,
    /// Of the certificate; absent when no rule needs them.
    pub extensions: Option<&'a Extensions>,
}

/// A message that asks to be let through.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Authenticated.
    pub sender: &'a PcpUri,
    /// Never a wildcard.
    pub target: &'a PcpUri,
    /// As sent.
    pub message_type: &'a str,
}

/// What a policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    /// Whether the message may pass.
    pub allowed: bool,
    /// The rule that decided; `None` when none matched.
    pub rule: Option<&'a str>,
}

impl Policy {
    /// Reads a HOCON file with an `authorization` section.
    pub fn read_file(path: &Path) -> Result<Self, PolicyError> {
        load::file(path)
    }

    /// Reads HOCON text with an `authorization` section.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        load::text(text)
    }

    /// Whether `client` may send `request`.
    pub fn decide(&self, client: Client<'_>, request: Request<'_>) -> Decision<'_> {
        match self.rules.iter().find(|rule| rule.matches(request)) {
            Some(rule) => Decision {
                allowed: rule.allows(client),
                rule: Some(rule.name()),
            },
            None => Decision {
                allowed: false,
                rule: None,
            },
        }
    }

    /// The extensions of a certificate (DER) that the rules look at; `None`: at none.
    pub fn extensions_of(&self, leaf: &[u8]) -> Option<Extensions> {
        let mut keys = self.rules.iter().flat_map(Rule::extension_keys).peekable();
        keys.peek()?;
        Some(extensions::read(leaf, keys))
    }

    /// Rules that can never decide anything, with the reason; worth a warning at start.
    pub fn inert_rules(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.rules
            .iter()
            .filter_map(|rule| rule.inert().map(|why| (rule.name(), why)))
    }
}

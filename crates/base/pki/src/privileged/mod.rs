//! The names that grant rights to the holder of their certificate: [`PrivilegedNames`].
//!
//! Invariant: every right that follows from a certname is granted and looked up here, and nowhere
//! else. Therefore the authority knows every name that must not be signed without a person's
//! consent.

mod pattern;

use std::fmt;

pub use pattern::{NamePattern, NameRegex};

/// A right that a certname grants to the holder of its certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertnamePrivilege {
    /// Act as the server: its certname, and every name by which agents, users and brokers connect
    /// to it.
    Server,
    /// Act as another service that the server or its brokers connect to.
    Peer,
    /// Sign and revoke certificates over HTTP.
    CaAdministrator,
    /// Use the whole API without a token.
    Program,
    /// Read all code of all environments.
    Follower,
    /// Connect as a broker, and forward the messages of its agents.
    RemoteBroker,
    /// Send requests to agents, or read the inventory, through a broker.
    Controller,
}

/// A name or a name pattern, with a right.
#[derive(Debug, Clone)]
pub struct PrivilegedName {
    /// The name, or the names that match.
    pub pattern: NamePattern,
    /// The right of these names.
    pub privilege: CertnamePrivilege,
    /// The key of the configuration, or the rule, that grants the right; for messages.
    pub origin: String,
}

/// A certificate extension to which a rule grants rights.
#[derive(Debug, Clone)]
struct PrivilegedExtension {
    oid: String,
    origin: String,
}

/// All names and extensions that grant rights.
#[derive(Debug, Clone, Default)]
pub struct PrivilegedNames {
    names: Vec<PrivilegedName>,
    extensions: Vec<PrivilegedExtension>,
}

// === impl PrivilegedNames ===

impl PrivilegedNames {
    /// Grants a right to the names that match `pattern`.
    pub fn grant(&mut self, privilege: CertnamePrivilege, origin: &str, pattern: NamePattern) {
        self.names.push(PrivilegedName {
            pattern,
            privilege,
            origin: origin.to_owned(),
        });
    }

    /// Records that certificates with this extension (dotted object id) have rights.
    pub fn grant_extension(&mut self, origin: &str, oid: &str) {
        self.extensions.push(PrivilegedExtension {
            oid: oid.to_owned(),
            origin: origin.to_owned(),
        });
    }

    /// True if this certname has the right.
    pub fn has_privilege(&self, privilege: CertnamePrivilege, certname: &str) -> bool {
        self.names
            .iter()
            .any(|name| name.privilege == privilege && name.pattern.matches(certname))
    }

    /// The certnames that have the right and are listed individually, without those of patterns.
    pub fn named_holders(&self, privilege: CertnamePrivilege) -> impl Iterator<Item = &str> {
        let names = self.names.iter();
        names
            .filter(move |name| name.privilege == privilege)
            .filter_map(|name| match &name.pattern {
                NamePattern::Exact(certname) => Some(certname.as_str()),
                NamePattern::Any | NamePattern::Domain(_) | NamePattern::Regex(_) => None,
            })
    }

    /// The first right that this name has, in any spelling.
    pub fn find_privileged(&self, certname: &str) -> Option<&PrivilegedName> {
        self.names
            .iter()
            .find(|name| name.pattern.may_match(certname))
    }

    /// The first name with rights that may also match `pattern`.
    pub fn find_overlap(&self, pattern: &NamePattern) -> Option<&PrivilegedName> {
        self.names
            .iter()
            .find(|name| name.pattern.overlaps(pattern))
    }

    /// A right that every name has; `None` if rights are restricted to certain names.
    pub fn find_match_all(&self) -> Option<&PrivilegedName> {
        self.names
            .iter()
            .find(|name| matches!(name.pattern, NamePattern::Any))
    }

    /// The origin of the rights of certificates with this extension; `None` if they have none.
    pub fn find_extension_origin(&self, oid: &str) -> Option<&str> {
        self.extensions
            .iter()
            .find(|extension| extension.oid == oid)
            .map(|extension| extension.origin.as_str())
    }
}

// === impl PrivilegedName ===

/// Formatted as `tutti.example.com (certname)`.
impl fmt::Display for PrivilegedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.pattern, self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> PrivilegedNames {
        let mut names = PrivilegedNames::default();
        let exact = |name: &str| NamePattern::name_or_domain(name).unwrap();
        names.grant(
            CertnamePrivilege::Server,
            "certname",
            exact("tutti.example"),
        );
        names.grant(
            CertnamePrivilege::Program,
            "access.certificate_allowlist",
            exact("ops"),
        );
        names.grant(
            CertnamePrivilege::Follower,
            "code.followers",
            exact("*.compilers.example"),
        );
        names.grant_extension("broker.authorization", "1.3.6.1.4.1.34380.1.1.13");
        names
    }

    #[test]
    fn a_right_is_held_by_its_names_alone() {
        let names = names();
        assert!(names.has_privilege(CertnamePrivilege::Program, "ops"));
        assert!(!names.has_privilege(CertnamePrivilege::Program, "Ops"));
        assert!(!names.has_privilege(CertnamePrivilege::Program, "tutti.example"));
        assert!(names.has_privilege(CertnamePrivilege::Follower, "a.compilers.example"));
        let programs: Vec<_> = names.named_holders(CertnamePrivilege::Program).collect();
        assert_eq!(programs, ["ops"]);
        assert_eq!(names.named_holders(CertnamePrivilege::Follower).count(), 0);
        assert!(!names.has_privilege(CertnamePrivilege::Follower, "ops"));
    }

    #[test]
    fn every_name_with_a_right_is_found_in_any_spelling() {
        let names = names();
        for name in ["OPS", "ops", "Tutti.Example.", "x.Compilers.example"] {
            assert!(names.find_privileged(name).is_some(), "{name}");
        }
        assert!(names.find_privileged("web1.example").is_none());
        let overlap = NamePattern::name_or_domain("*.example").unwrap();
        assert_eq!(
            names.find_overlap(&overlap).unwrap().to_string(),
            "tutti.example (certname)"
        );
        let extension = names.find_extension_origin("1.3.6.1.4.1.34380.1.1.13");
        assert_eq!(extension, Some("broker.authorization"));
        assert_eq!(names.find_extension_origin("1.3.6.1.4.1.34380.1.1.1"), None);
    }

    #[test]
    fn a_right_of_every_name_is_told() {
        let mut names = names();
        assert!(names.find_match_all().is_none());
        names.grant(CertnamePrivilege::Controller, "a rule", NamePattern::Any);
        assert!(names.find_match_all().is_some());
    }
}

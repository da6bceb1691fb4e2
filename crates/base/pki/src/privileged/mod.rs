//! The names that grant rights to the holder of their certificate: [`PrivilegedNames`].
//!
//! The rule: a right that follows from a certname is given here and asked for here, and nowhere
//! else. Therefore the authority knows every name that must not be signed without a person's consent.

mod pattern;

use std::fmt;

pub use pattern::{NamePattern, NameRegex};

/// Right that a certname grants to the holder of its certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// Be taken for the server: its certname, and every name under which agents, people and
    /// brokers reach it.
    Server,
    /// Be taken for another service that the server or its brokers connect to.
    Peer,
    /// Sign and revoke certificates over HTTP.
    CaAdministrator,
    /// Use the whole API without a token.
    Program,
    /// Read all code of all environments.
    Follower,
    /// Connect as a broker, and pass on the messages of its agents.
    RemoteBroker,
    /// Give orders to agents, or read the inventory, through a broker.
    Orders,
}

/// A name, or a set of names, with a right.
#[derive(Debug, Clone)]
pub struct PrivilegedName {
    pub pattern: NamePattern,
    pub privilege: Privilege,
    /// The key of the configuration, or the rule, that gives the right; for messages.
    pub origin: String,
}

/// A certificate extension that a rule gives rights to.
#[derive(Debug, Clone)]
struct PrivilegedExtension {
    oid: String,
    origin: String,
}

/// All names, and extensions, that grant rights.
#[derive(Debug, Clone, Default)]
pub struct PrivilegedNames {
    names: Vec<PrivilegedName>,
    extensions: Vec<PrivilegedExtension>,
}

// === impl PrivilegedNames ===

impl PrivilegedNames {
    /// Gives the names that `pattern` means a right.
    pub fn grant(&mut self, privilege: Privilege, origin: &str, pattern: NamePattern) {
        self.names.push(PrivilegedName {
            pattern,
            privilege,
            origin: origin.to_owned(),
        });
    }

    /// Notes that certificates with this extension (dotted object id) have rights.
    pub fn grant_extension(&mut self, origin: &str, oid: &str) {
        self.extensions.push(PrivilegedExtension {
            oid: oid.to_owned(),
            origin: origin.to_owned(),
        });
    }

    /// True if this certname grants the right.
    pub fn holds(&self, privilege: Privilege, certname: &str) -> bool {
        self.names
            .iter()
            .any(|name| name.privilege == privilege && name.pattern.matches(certname))
    }

    /// The certnames that hold the right and are named one by one, without those of patterns.
    pub fn named_holders(&self, privilege: Privilege) -> impl Iterator<Item = &str> {
        let names = self.names.iter();
        names
            .filter(move |name| name.privilege == privilege)
            .filter_map(|name| match &name.pattern {
                NamePattern::Exact(certname) => Some(certname.as_str()),
                NamePattern::Any | NamePattern::Domain(_) | NamePattern::Regex(_) => None,
            })
    }

    /// The first right that this name, in any spelling, would have.
    pub fn of(&self, certname: &str) -> Option<&PrivilegedName> {
        self.names
            .iter()
            .find(|name| name.pattern.may_match(certname))
    }

    /// The first name with rights that `pattern` may mean as well.
    pub fn overlap(&self, pattern: &NamePattern) -> Option<&PrivilegedName> {
        self.names
            .iter()
            .find(|name| name.pattern.overlaps(pattern))
    }

    /// A right that every name has; `None` when rights are tied to certain names.
    pub fn of_every_name(&self) -> Option<&PrivilegedName> {
        self.names
            .iter()
            .find(|name| matches!(name.pattern, NamePattern::Any))
    }

    /// The rule that gives rights to certificates with this extension.
    pub fn of_extension(&self, oid: &str) -> Option<&str> {
        self.extensions
            .iter()
            .find(|extension| extension.oid == oid)
            .map(|extension| extension.origin.as_str())
    }
}

// === impl PrivilegedName ===

/// Shown as `tutti.example.com (certname)`.
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
        names.grant(Privilege::Server, "certname", exact("tutti.example"));
        names.grant(
            Privilege::Program,
            "access.certificate_allowlist",
            exact("ops"),
        );
        names.grant(
            Privilege::Follower,
            "code.followers",
            exact("*.compilers.example"),
        );
        names.grant_extension("broker.authorization", "1.3.6.1.4.1.34380.1.1.13");
        names
    }

    #[test]
    fn a_right_is_held_by_its_names_alone() {
        let names = names();
        assert!(names.holds(Privilege::Program, "ops"));
        assert!(!names.holds(Privilege::Program, "Ops"));
        assert!(!names.holds(Privilege::Program, "tutti.example"));
        assert!(names.holds(Privilege::Follower, "a.compilers.example"));
        let programs: Vec<_> = names.named_holders(Privilege::Program).collect();
        assert_eq!(programs, ["ops"]);
        assert_eq!(names.named_holders(Privilege::Follower).count(), 0);
        assert!(!names.holds(Privilege::Follower, "ops"));
    }

    #[test]
    fn every_name_with_a_right_is_found_in_any_spelling() {
        let names = names();
        for name in ["OPS", "ops", "Tutti.Example.", "x.Compilers.example"] {
            assert!(names.of(name).is_some(), "{name}");
        }
        assert!(names.of("web1.example").is_none());
        let overlap = NamePattern::name_or_domain("*.example").unwrap();
        assert_eq!(
            names.overlap(&overlap).unwrap().to_string(),
            "tutti.example (certname)"
        );
        let extension = names.of_extension("1.3.6.1.4.1.34380.1.1.13");
        assert_eq!(extension, Some("broker.authorization"));
        assert_eq!(names.of_extension("1.3.6.1.4.1.34380.1.1.1"), None);
    }

    #[test]
    fn a_right_of_every_name_is_told() {
        let mut names = names();
        assert!(names.of_every_name().is_none());
        names.grant(Privilege::Orders, "a rule", NamePattern::Any);
        assert!(names.of_every_name().is_some());
    }
}

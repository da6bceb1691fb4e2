//! Requests that are signed without an administrator's consent: [`AutosignPolicy`].
//!
//! Invariant: a name that grants rights is never signed in this way, nor is a request for
//! alternative names or rights, even if a list or a program names it.

mod list;
mod program;

use std::path::{Path, PathBuf};

use pki::{NamePattern, PrivilegedNames};

pub(super) use program::is_accepted;

/// The decision by the name alone, before the request is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AutosignDecision {
    /// The request waits for an administrator.
    Wait,
    /// The request is signed.
    Sign,
    /// This program decides.
    Ask(PathBuf),
}

/// Policy of automatic signing; off by default.
#[derive(Debug, Clone, Default)]
pub enum AutosignPolicy {
    /// No request is signed automatically.
    #[default]
    Off,
    /// Every name that grants no rights: for networks in which reaching the server is proof enough.
    All,
    /// Certnames, and domains such as `*.lab.example`.
    Names(Vec<NamePattern>),
    /// A file, as in Puppet's setting `autosign`: if it is executable, it is a program that
    /// decides, otherwise a list like `autosign.conf`. It is read for each request.
    File(PathBuf),
}

/// Reason for which `ca.autosign` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AutosignError {
    /// The text is not a valid pattern.
    #[error(
        "ca.autosign: the pattern {0:?} is not permitted: use a certname, or a domain such as \
         \"*.lab.example\", or \"true\" alone for every name, or the absolute path of an autosign.conf or of a \
         program alone; certnames are ASCII"
    )]
    Pattern(String),
    /// The pattern may match a name with rights.
    #[error(
        "ca.autosign: the pattern {pattern:?} overlaps {privileged}, whose holder has rights: any \
         client that asks first would get them; name the nodes, or a domain that has only nodes, and \
         sign {privileged} by hand"
    )]
    Overlap {
        /// The pattern of `ca.autosign`.
        pattern: String,
        /// The name, and the configuration key that gives it rights.
        privileged: String,
    },
    /// Every name has rights.
    #[error(
        "ca.autosign: nothing can be signed unasked, since {0} gives every certificate rights; narrow \
         that rule, or leave ca.autosign out"
    )]
    EveryName(String),
}

impl AutosignPolicy {
    /// Builds the policy from the configuration: no patterns mean off, `true` alone means all.
    pub fn from_patterns(patterns: &[String]) -> Result<Self, AutosignError> {
        match patterns {
            [] => Ok(Self::Off),
            [only] if only == "false" => Ok(Self::Off),
            [only] if only == "true" => Ok(Self::All),
            [only] if only.starts_with('/') => Ok(Self::File(only.into())),
            _ => {
                let read = |text: &String| {
                    pattern(text).ok_or_else(|| AutosignError::Pattern(text.clone()))
                };
                let patterns = patterns.iter().map(read);
                Ok(Self::Names(patterns.collect::<Result<_, _>>()?))
            }
        }
    }

    /// Refuses patterns that may match a name with rights. `true` matches no such name anyway.
    pub fn check(&self, privileged: &PrivilegedNames) -> Result<(), AutosignError> {
        let patterns = match self {
            Self::Off => return Ok(()),
            // Each name is compared when its request arrives.
            Self::All | Self::File(_) => &[][..],
            Self::Names(patterns) => patterns,
        };
        if let Some(every) = privileged.find_match_all() {
            return Err(AutosignError::EveryName(every.origin.clone()));
        }
        for pattern in patterns {
            if let Some(name) = privileged.find_overlap(pattern) {
                return Err(AutosignError::Overlap {
                    pattern: pattern.to_string(),
                    privileged: name.to_string(),
                });
            }
        }
        Ok(())
    }

    /// Decides by the name alone; blocks on the disk if a file is configured.
    pub(super) fn decide(&self, certname: &str) -> AutosignDecision {
        let is_listed = match self {
            Self::Off => false,
            Self::All => true,
            Self::Names(patterns) => patterns.iter().any(|pattern| pattern.matches(certname)),
            Self::File(path) => match is_program(path) {
                true => return AutosignDecision::Ask(path.clone()),
                false => list::is_listed(path, certname),
            },
        };
        match is_listed {
            true => AutosignDecision::Sign,
            false => AutosignDecision::Wait,
        }
    }
}

/// True if this user may execute the file, which is Puppet's criterion.
fn is_program(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Parses a pattern. `*` alone would sign everything, which only `true` may do. New certnames are
/// lower-case ASCII, so a pattern is too.
fn pattern(text: &str) -> Option<NamePattern> {
    let is_possible = text.is_ascii() && text != "true" && text != "false";
    let pattern = NamePattern::name_or_domain(&text.to_ascii_lowercase());
    pattern.filter(|_| is_possible)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn autosign(patterns: &[&str]) -> Result<AutosignPolicy, AutosignError> {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        AutosignPolicy::from_patterns(&patterns)
    }

    #[test]
    fn names_and_domains() {
        let some = autosign(&["db1", "*.lab.example"]).unwrap();
        for good in ["db1", "a.lab.example", "a.b.lab.example"] {
            assert!(some.decide(good) == AutosignDecision::Sign, "{good}");
        }
        for bad in [
            "db2",
            "lab.example",
            ".lab.example",
            "evillab.example",
            "a.lab.example.org",
        ] {
            assert!(some.decide(bad) != AutosignDecision::Sign, "{bad}");
        }
    }

    #[test]
    fn off_and_all() {
        assert!(autosign(&[]).unwrap().decide("a") != AutosignDecision::Sign);
        assert!(autosign(&["false"]).unwrap().decide("false") != AutosignDecision::Sign);
        assert!(autosign(&["true"]).unwrap().decide("a") == AutosignDecision::Sign);
    }

    #[test]
    fn patterns_that_say_too_much_are_refused() {
        for bad in [
            "",
            "*",
            "*.",
            "a*",
            "*.*.x",
            "../x",
            "w\u{e9}b",
            "*.\u{212a}.example",
        ] {
            assert!(autosign(&[bad, "b"]).is_err(), "{bad}");
        }
        assert!(autosign(&["true", "b"]).is_err());
    }

    fn privileged(names: &[&str]) -> PrivilegedNames {
        let mut privileged = PrivilegedNames::default();
        for name in names {
            let pattern = NamePattern::name_or_domain(name).unwrap();
            privileged.grant(
                pki::CertnamePrivilege::Program,
                "access.certificate_allowlist",
                pattern,
            );
        }
        privileged
    }

    #[test]
    fn a_pattern_that_overlaps_a_name_with_rights_is_refused() {
        let privileged = privileged(&["Ops.Example", "*.compilers.example"]);
        for bad in [
            "ops.example",
            "OPS.example",
            "*.example",
            "*.Example",
            "a.compilers.example",
            "*.a.compilers.example",
            "*.compilers.example",
        ] {
            let refused = autosign(&["web1", bad]).unwrap().check(&privileged);
            let message = refused.unwrap_err().to_string();
            assert!(message.contains("ca.autosign"), "{message}");
            assert!(
                message.contains("access.certificate_allowlist"),
                "{message}"
            );
        }
        for good in [
            "web1",
            "*.lab.other",
            "compilers.example",
            "ops.example.org",
        ] {
            autosign(&[good]).unwrap().check(&privileged).unwrap();
        }
        autosign(&["true"]).unwrap().check(&privileged).unwrap();
        autosign(&[]).unwrap().check(&privileged).unwrap();
    }

    #[test]
    fn nothing_is_signed_where_every_name_has_rights() {
        let mut privileged = PrivilegedNames::default();
        privileged.grant(
            pki::CertnamePrivilege::Controller,
            "the rule \"all\"",
            NamePattern::Any,
        );
        for patterns in [&["true"][..], &["web1"]] {
            let refused = autosign(patterns).unwrap().check(&privileged);
            assert!(matches!(refused, Err(AutosignError::EveryName(_))));
        }
        autosign(&[]).unwrap().check(&privileged).unwrap();
    }

    #[test]
    fn an_expression_beside_a_domain_cannot_be_decided_and_is_refused() {
        let mut privileged = PrivilegedNames::default();
        let expression = NamePattern::regex("^orch[0-9]").unwrap();
        privileged.grant(pki::CertnamePrivilege::Controller, "a rule", expression);
        let check = |text| autosign(&[text]).unwrap().check(&privileged);
        assert!(check("*.lab.example").is_err());
        assert!(check("orch1").is_err());
        check("web1").unwrap();
    }
}

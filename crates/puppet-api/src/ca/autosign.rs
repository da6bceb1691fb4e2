//! Which requests are signed without anybody's consent: [`Autosign`].
//!
//! The rule: only what a name alone can decide. Requests that ask for
//! alternative names or rights wait for a person whatever is configured.

/// Off by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Autosign {
    /// Nothing is signed unasked.
    #[default]
    Off,
    /// Every request: for networks where reaching the server is proof enough.
    All,
    /// Names, and domains such as `*.lab.example`, as in Puppet's `autosign.conf`.
    Names(Vec<String>),
}

/// A pattern that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the autosign pattern {0:?} is not permitted: use a certname, or a domain such as \
     \"*.lab.example\", or \"true\" alone for every name"
)]
pub struct AutosignError(String);

impl Autosign {
    /// From the configuration: no patterns mean off, `true` alone means all.
    pub fn from_patterns(patterns: &[String]) -> Result<Self, AutosignError> {
        match patterns {
            [] => Ok(Self::Off),
            [only] if only == "false" => Ok(Self::Off),
            [only] if only == "true" => Ok(Self::All),
            _ => match patterns.iter().find(|pattern| !is_permitted(pattern)) {
                Some(bad) => Err(AutosignError(bad.clone())),
                None => Ok(Self::Names(patterns.to_vec())),
            },
        }
    }

    /// Whether a request for this name is signed at once.
    pub fn permits(&self, certname: &str) -> bool {
        match self {
            Self::Off => false,
            Self::All => true,
            Self::Names(patterns) => patterns.iter().any(|pattern| matches(pattern, certname)),
        }
    }
}

/// `*` alone would sign everything, which only `true` may say.
fn is_permitted(pattern: &str) -> bool {
    let name = pattern.strip_prefix("*.").unwrap_or(pattern);
    !name.is_empty() && !name.contains(['*', '/']) && name != "true" && name != "false"
}

fn matches(pattern: &str, certname: &str) -> bool {
    match pattern.strip_prefix('*') {
        // The dot stays in the suffix, so `*.x` does not match `evilx`.
        Some(suffix) => certname.len() > suffix.len() && certname.ends_with(suffix),
        None => certname == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn autosign(patterns: &[&str]) -> Result<Autosign, AutosignError> {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        Autosign::from_patterns(&patterns)
    }

    #[test]
    fn names_and_domains() {
        let some = autosign(&["db1", "*.lab.example"]).unwrap();
        for good in ["db1", "a.lab.example", "a.b.lab.example"] {
            assert!(some.permits(good), "{good}");
        }
        for bad in [
            "db2",
            "lab.example",
            ".lab.example",
            "evillab.example",
            "a.lab.example.org",
        ] {
            assert!(!some.permits(bad), "{bad}");
        }
    }

    #[test]
    fn off_and_all() {
        assert!(!autosign(&[]).unwrap().permits("a"));
        assert!(!autosign(&["false"]).unwrap().permits("false"));
        assert!(autosign(&["true"]).unwrap().permits("a"));
    }

    #[test]
    fn patterns_that_say_too_much_are_refused() {
        for bad in ["", "*", "*.", "a*", "*.*.x", "../x"] {
            assert!(autosign(&[bad, "b"]).is_err(), "{bad}");
        }
        assert!(autosign(&["true", "b"]).is_err());
    }
}

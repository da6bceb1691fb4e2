//! One entry of an `allow` or `deny` list.
//!
//! The rule: text is compared as a whole and in its case, since `Web1` and `web1` can be two
//! certificates; only `/…/` is a regular expression, only a leading `*.`
//! stands for a domain.

use regex::Regex;

use super::{Client, Extensions};

#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// `*`
    Anyone,
    Name(NamePattern),
    /// All of these extensions have one of their values.
    Extensions(Vec<(String, Vec<String>)>),
}

#[derive(Clone, Debug)]
pub(super) enum NamePattern {
    Exact(String),
    /// `*.example.com`, kept as `.example.com`.
    Domain(String),
    /// `/^web\d+/`; finds anywhere unless it is anchored.
    Regex(Regex),
}

impl Entry {
    pub(super) fn fits(&self, client: Client<'_>) -> bool {
        match self {
            Self::Anyone => true,
            Self::Name(pattern) => pattern.fits(client.certname),
            Self::Extensions(wanted) => client
                .extensions
                .is_some_and(|extensions| has_all(extensions, wanted)),
        }
    }

    pub(super) fn extension_keys(&self) -> impl Iterator<Item = &str> {
        let wanted = match self {
            Self::Extensions(wanted) => wanted.as_slice(),
            _ => &[],
        };
        wanted.iter().map(|(key, _)| key.as_str())
    }
}

impl NamePattern {
    pub(super) fn parse(text: &str) -> Result<Self, regex::Error> {
        if let Some(inner) = text
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'))
        {
            return Ok(Self::Regex(Regex::new(inner)?));
        }
        match text.strip_prefix('*') {
            Some(domain) if domain.starts_with('.') => Ok(Self::Domain(domain.to_owned())),
            _ => Ok(Self::Exact(text.to_owned())),
        }
    }

    fn fits(&self, certname: &str) -> bool {
        match self {
            Self::Exact(name) => name == certname,
            Self::Domain(suffix) => certname.len() > suffix.len() && certname.ends_with(suffix),
            Self::Regex(regex) => regex.is_match(certname),
        }
    }
}

fn has_all(extensions: &Extensions, wanted: &[(String, Vec<String>)]) -> bool {
    wanted.iter().all(|(key, values)| {
        extensions
            .get(key)
            .is_some_and(|value| values.contains(value))
    })
}

//! Entries of `allow` and `deny` lists.
//!
//! Invariant: names are compared completely and with their case, since `Web1` and `web1` can be two
//! certificates; only `/…/` is a regular expression, and only a leading `*.` stands for a domain.

use pki::NamePattern;

use super::{AuthorizationClient, CertificateExtensions};

#[derive(Clone, Debug)]
pub(super) enum PolicySubject {
    /// `*`, every client.
    Anyone,
    Name(NamePattern),
    /// Clients whose certificate has one of the values for each of these extensions.
    Extensions(Vec<(String, Vec<String>)>),
}

impl PolicySubject {
    pub(super) fn matches_client(&self, client: AuthorizationClient<'_>) -> bool {
        match self {
            Self::Anyone => true,
            Self::Name(pattern) => pattern.matches(client.certname),
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

/// Parses a name, a domain such as `*.example.com`, or a regular expression such as `/^web\d+/`,
/// which matches any part of a name unless it is anchored.
pub(super) fn parse_pattern(text: &str) -> Result<NamePattern, regex::Error> {
    let expression = text.strip_prefix('/').and_then(|it| it.strip_suffix('/'));
    if let Some(expression) = expression {
        return NamePattern::regex(expression);
    }
    Ok(match text.strip_prefix('*') {
        Some(domain) if domain.starts_with('.') => NamePattern::Domain(domain.to_owned()),
        _ => NamePattern::Exact(text.to_owned()),
    })
}

fn has_all(extensions: &CertificateExtensions, wanted: &[(String, Vec<String>)]) -> bool {
    wanted.iter().all(|(key, values)| {
        extensions
            .get(key)
            .is_some_and(|value| values.contains(value))
    })
}

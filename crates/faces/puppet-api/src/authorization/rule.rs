//! One rule: the requests that it matches and the clients that it allows.

use https::VerifiedPeer;
use pki::NamePattern;
use regex::Regex;

use crate::query::QueryParams;

#[derive(Debug, Clone)]
pub(super) struct AuthorizationRule {
    pub(super) name: String,
    pub(super) sort_order: u16,
    pub(super) path: RulePath,
    /// HTTP methods in lower case; empty means any.
    pub(super) methods: Vec<String>,
    /// Parameters of the query, with the values of which one must be there.
    pub(super) params: Vec<(String, Vec<String>)>,
    pub(super) allow: Vec<RuleSubject>,
    pub(super) deny: Vec<RuleSubject>,
    pub(super) allow_unauthenticated: bool,
}

#[derive(Debug, Clone)]
pub(super) enum RulePath {
    /// Every path that begins with this text.
    Prefix(String),
    Regex(Regex),
}

/// An entry of `allow` or `deny`.
#[derive(Debug, Clone)]
pub(super) enum RuleSubject {
    /// `*`, every client with a certificate.
    Anyone,
    Name(NamePattern),
    /// A name with `$1` and so on, which stand for parts of the path.
    Captured(String),
    /// Clients whose certificate has one of the values for each of these extensions, by dotted ids.
    Extensions(Vec<(String, Vec<String>)>),
}

/// A request as rules see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RuleRequest<'r> {
    pub(super) method: &'r str,
    pub(super) path: &'r str,
    pub(super) params: &'r QueryParams,
    /// The verified certificate of the client; `None` if it has none.
    pub(super) certificate: Option<&'r VerifiedPeer>,
}

impl AuthorizationRule {
    /// The parts of the path that the rule's expression captures; `None` if the rule does not match.
    pub(super) fn match_request(&self, request: &RuleRequest<'_>) -> Option<Vec<String>> {
        let is_method = |method: &String| method.eq_ignore_ascii_case(request.method);
        if !self.methods.is_empty() && !self.methods.iter().any(is_method) {
            return None;
        }
        let has_param = |(name, values): &(String, Vec<String>)| {
            let mut given = request.params.all(name);
            given.any(|value| values.iter().any(|it| it == value))
        };
        if !self.params.iter().all(has_param) {
            return None;
        }
        match &self.path {
            RulePath::Prefix(prefix) => request.path.starts_with(prefix).then(Vec::new),
            RulePath::Regex(regex) => {
                let captures = regex.captures(request.path)?;
                let parts = captures.iter().skip(1);
                Some(
                    parts
                        .map(|part| part.map(|it| it.as_str().to_owned()).unwrap_or_default())
                        .collect(),
                )
            }
        }
    }

    /// True if the rule allows the client; `deny` has precedence over `allow`.
    pub(super) fn allows(&self, client: Option<&VerifiedPeer>, captures: &[String]) -> bool {
        if self.allow_unauthenticated {
            return true;
        }
        let Some(client) = client else {
            return false;
        };
        let is_denied = |entry: &RuleSubject| entry.may_match(client, captures);
        let is_allowed = |entry: &RuleSubject| entry.matches(client, captures);
        !self.deny.iter().any(is_denied) && self.allow.iter().any(is_allowed)
    }
}

impl RuleSubject {
    /// True if the entry may mean the client: names are compared in any spelling, and `*.example.com` means
    /// `example.com` too, as for puppetserver.
    fn may_match(&self, client: &VerifiedPeer, captures: &[String]) -> bool {
        match self {
            Self::Name(domain @ NamePattern::Domain(_)) => {
                // a name below the client's one is in the domain if the client is in it, or has its name
                domain.may_match(&format!("x.{}", client.certname))
            }
            Self::Name(pattern) => pattern.may_match(&client.certname),
            Self::Captured(text) => {
                substitute(text, captures).eq_ignore_ascii_case(&client.certname)
            }
            Self::Anyone | Self::Extensions(_) => self.matches(client, captures),
        }
    }

    fn matches(&self, client: &VerifiedPeer, captures: &[String]) -> bool {
        match self {
            Self::Anyone => true,
            Self::Name(pattern) => pattern.matches(&client.certname),
            // only as a whole name: a part of a path is never a pattern
            Self::Captured(text) => substitute(text, captures) == client.certname,
            Self::Extensions(wanted) => wanted.iter().all(|(id, values)| {
                let value = pki::identity::extension_text(&client.der, id);
                matches!(value, Ok(Some(value)) if values.contains(&value))
            }),
        }
    }
}

/// Replaces `$1` and so on; the file has been checked for numbers that do not exist.
fn substitute(text: &str, captures: &[String]) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        let digits = after.len()
            - after
                .trim_start_matches(|it: char| it.is_ascii_digit())
                .len();
        match after[..digits].parse::<usize>() {
            Ok(number) => {
                let part = number.checked_sub(1).and_then(|it| captures.get(it));
                result.push_str(part.map_or("", String::as_str));
            }
            Err(_) => result.push('$'),
        }
        rest = &after[digits..];
    }
    result.push_str(rest);
    result
}

//! URIs as Ruby's `URI` reads and prints them. Main type: [`Uri`].
//!
//! The rule that must hold: a part that is not there is `None`, not empty; the port of a known scheme is
//! always there, and printed only if it is another one.

use std::fmt;

use super::{Hash, Value};

/// A URI in its parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Uri {
    pub(crate) scheme: Option<String>,
    pub(crate) userinfo: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<i64>,
    pub(crate) path: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) fragment: Option<String>,
    pub(crate) opaque: Option<String>,
}

/// A text is not a URI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("bad URI(is not URI?): {0}")]
pub struct UriError(pub(crate) String);

const PORTS: [(&str, i64); 7] = [
    ("http", 80),
    ("https", 443),
    ("ftp", 21),
    ("ldap", 389),
    ("ldaps", 636),
    ("ws", 80),
    ("wss", 443),
];

impl Uri {
    /// Reads a URI or a relative reference.
    pub fn parse(text: &str) -> Result<Self, UriError> {
        let refused = || UriError(format!("\"{text}\""));
        if !text.bytes().all(is_allowed) || !escapes_are_whole(text) {
            return Err(refused());
        }
        let (rest, fragment) = split_last(text, '#');
        if rest.contains('#') || fragment.is_some_and(|part| part.contains('#')) {
            return Err(refused());
        }
        let (rest, query) = split_last(rest, '?');
        let (scheme, rest) = match rest.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme.to_lowercase()), rest),
            Some((first, _)) if !first.contains('/') => return Err(refused()),
            _ => (None, rest),
        };
        let mut uri = Self {
            fragment: fragment.map(str::to_owned),
            port: scheme.as_deref().and_then(default_port),
            ..Self::default()
        };
        if let Some(rest) = rest.strip_prefix("//") {
            let end = rest.find('/').unwrap_or(rest.len());
            uri.set_authority(&rest[..end]).ok_or_else(refused)?;
            uri.path = Some(rest[end..].to_owned());
            uri.query = query.map(str::to_owned);
        } else if scheme.is_some() && !rest.is_empty() && !rest.starts_with('/') {
            uri.opaque = Some(match query {
                Some(query) => format!("{rest}?{query}"),
                None => rest.to_owned(),
            });
        } else {
            uri.path = Some(rest.to_owned());
            uri.query = query.map(str::to_owned);
        }
        uri.scheme = scheme;
        if uri.is_ftp() {
            // the path is below the directory of the login
            uri.path = uri.path.map(|path| match path.strip_prefix('/') {
                Some(below) => below.to_owned(),
                None => path,
            });
        }
        Ok(uri)
    }

    fn is_ftp(&self) -> bool {
        self.scheme.as_deref() == Some("ftp")
    }

    fn set_authority(&mut self, authority: &str) -> Option<()> {
        let host = match authority.rsplit_once('@') {
            Some((userinfo, host)) => {
                self.userinfo = Some(userinfo.to_owned());
                host
            }
            None => authority,
        };
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (host, None),
        };
        let literal = host.starts_with('[') && host.ends_with(']');
        if !literal && host.contains(['[', ']', ':']) {
            return None;
        }
        if let Some(port) = port.filter(|port| !port.is_empty()) {
            self.port = Some(port.parse().ok().filter(|port| *port >= 0)?);
        }
        self.host = Some(host.to_owned());
        Some(())
    }

    /// A part of it by its name in the language.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<Value> {
        let text = |part: &Option<String>| part.as_deref().map_or(Value::Undef, Value::from);
        Some(match name {
            "scheme" => text(&self.scheme),
            "userinfo" => text(&self.userinfo),
            "host" => text(&self.host),
            "port" => self.port.map_or(Value::Undef, Value::Int),
            "path" => text(&self.path),
            "query" => text(&self.query),
            "fragment" => text(&self.fragment),
            "opaque" => text(&self.opaque),
            _ => return None,
        })
    }

    /// With what is equal written equally: small letters, `/` for no path.
    pub(crate) fn normalized(&self) -> Self {
        let mut uri = self.clone();
        if uri.host.is_some() && uri.path.as_deref() == Some("") {
            uri.path = Some("/".to_owned());
        }
        uri.host = uri.host.map(|host| host.to_lowercase());
        uri
    }

    /// The parts that its type names: what `type(URI('http://x'))` has in its brackets.
    pub(crate) fn type_parameters(&self) -> Option<Hash> {
        let mut parameters = Hash::new();
        let mut add = |name: &str, part: Option<&str>| {
            if let Some(part) = part {
                parameters.insert(name, part);
            }
        };
        let full = |part: &'_ Option<String>| part.clone().filter(|part| !part.is_empty());
        let host = full(&self.host).map(|host| host.to_lowercase());
        let usual = matches!(
            (self.scheme.as_deref(), self.port),
            (Some("http"), Some(80)) | (Some("https"), Some(443))
        );
        let port = self.port.filter(|_| !usual).map(|port| port.to_string());
        add("scheme", self.scheme.as_deref());
        add("userinfo", self.userinfo.as_deref());
        add("host", host.as_deref());
        add("port", port.as_deref());
        add("path", full(&self.path).as_deref());
        add("query", self.query.as_deref());
        add("fragment", self.fragment.as_deref());
        add("opaque", self.opaque.as_deref());
        (!parameters.is_empty()).then_some(parameters)
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = &self.scheme {
            write!(f, "{scheme}:")?;
        }
        if let Some(opaque) = &self.opaque {
            f.write_str(opaque)?;
        } else {
            if self.host.is_some() || matches!(self.scheme.as_deref(), Some("file" | "postgres")) {
                f.write_str("//")?;
            }
            if let Some(userinfo) = &self.userinfo {
                write!(f, "{userinfo}@")?;
            }
            f.write_str(self.host.as_deref().unwrap_or_default())?;
            let usual = self.scheme.as_deref().and_then(default_port);
            if let Some(port) = self.port.filter(|port| Some(*port) != usual) {
                write!(f, ":{port}")?;
            }
            if self.is_ftp() {
                f.write_str("/")?;
            }
            f.write_str(self.path.as_deref().unwrap_or_default())?;
            if let Some(query) = &self.query {
                write!(f, "?{query}")?;
            }
        }
        if let Some(fragment) = &self.fragment {
            write!(f, "#{fragment}")?;
        }
        Ok(())
    }
}

pub(crate) fn default_port(scheme: &str) -> Option<i64> {
    PORTS
        .iter()
        .find(|(known, _)| *known == scheme)
        .map(|(_, port)| *port)
}

fn split_last(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, behind)) => (before, Some(behind)),
        None => (text, None),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}

/// Whether two hexadecimal digits stand behind each `%`.
fn escapes_are_whole(text: &str) -> bool {
    text.split('%').skip(1).all(|behind| {
        let mut digits = behind.bytes();
        matches!((digits.next(), digits.next()),
            (Some(a), Some(b)) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
    })
}

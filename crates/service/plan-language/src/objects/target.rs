//! A node that plans act on. Main type: [`PlanTarget`].
//!
//! Invariant: two targets of the same name are equal, whatever their other attributes.

use std::any::Any;
use std::sync::Arc;

use pcore::{Hash, PuppetObject, Type, Value};

use super::unknown::UnknownResult;
use crate::types;

/// Attributes that only a target of another server's plan has.
const GIVEN: [&str; 8] = [
    "uri",
    "target_alias",
    "config",
    "vars",
    "facts",
    "features",
    "plugin_hooks",
    "resources",
];

/// A node, given by certname or by a URI such as `ssh://user@host:22`.
#[derive(Debug, Clone)]
pub(crate) struct PlanTarget {
    name: Arc<str>,
    uri: Arc<str>,
    parts: TargetUri,
    /// The attributes of a target of another server's plan; `None` for those of this server.
    given: Option<Arc<Hash>>,
    /// Set in a preview if it is unknown which target this is, or how many there are.
    unknown: Option<UnknownResult>,
}

/// The parts of a URI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TargetUri {
    protocol: Option<Arc<str>>,
    user: Option<Arc<str>>,
    password: Option<Arc<str>>,
    host: Arc<str>,
    port: Option<u16>,
}

impl PlanTarget {
    /// Creates a target from a certname or URI, which is also its name.
    pub(crate) fn new(uri: &str) -> Self {
        Self::named(uri, uri)
    }

    /// Creates a target with a name and a URI.
    pub(crate) fn named(name: &str, uri: &str) -> Self {
        Self {
            name: name.into(),
            uri: uri.into(),
            parts: TargetUri::of(uri),
            given: None,
            unknown: None,
        }
    }

    /// Creates a target of another server's plan from its attributes; `None` if they have neither a name nor a URI. What
    /// the URI lacks is read from the configuration of its transport.
    pub(crate) fn with_attributes(given: &Hash) -> Option<Self> {
        let text = |name: &str| given.get_str(name).and_then(Value::as_str);
        let uri = text("uri");
        let name = text("name").or(uri)?;
        let mut target = Self::named(name, uri.unwrap_or_default());
        let config = given.get_str("config").and_then(Value::as_hash);
        let transport = config.and_then(|config| config.get_str("transport")?.as_str());
        let connection = transport.and_then(|name| config?.get_str(name)?.as_hash());
        let parts = &mut target.parts;
        let entry =
            |name: &str| -> Option<Arc<str>> { Some(connection?.get_str(name)?.as_str()?.into()) };
        parts.protocol = parts.protocol.take().or_else(|| transport.map(Arc::from));
        parts.user = parts.user.take().or_else(|| entry("user"));
        parts.password = parts.password.take().or_else(|| entry("password"));
        if parts.host.is_empty() {
            parts.host = entry("host").unwrap_or_default();
        }
        parts.port = parts.port.or_else(|| match connection?.get_str("port")? {
            Value::Int(port) => u16::try_from(*port).ok(),
            _ => None,
        });
        target.given = Some(Arc::new(given.clone()));
        Some(target)
    }

    /// Creates a placeholder for the targets that an unknown result would name.
    pub(crate) fn of_unknown(unknown: &UnknownResult) -> Self {
        Self {
            unknown: Some(unknown.clone()),
            ..Self::new(&unknown.to_display_text())
        }
    }

    pub(crate) fn unknown(&self) -> Option<&UnknownResult> {
        self.unknown.as_ref()
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The name under which the server knows the node: the host of the URI.
    pub(crate) fn certname(&self) -> &str {
        &self.parts.host
    }

    /// The name without a password, for users, results and journals.
    pub(crate) fn safe_name(&self) -> String {
        let given = self.given.as_ref().and_then(|it| it.get_str("safe_name"));
        if let Some(given) = given.and_then(Value::as_str) {
            return given.to_owned();
        }
        match &self.parts.password {
            Some(password) => self.name.replace(&format!(":{password}@"), "@"),
            None => self.name.to_string(),
        }
    }

    fn transport(&self) -> &str {
        self.parts.protocol.as_deref().unwrap_or("pcp")
    }
}

impl TargetUri {
    fn of(uri: &str) -> Self {
        let (protocol, rest) = match uri.split_once("://") {
            Some((protocol, rest)) => (Some(protocol), rest),
            None => (None, uri),
        };
        let (login, host) = match rest.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, rest),
        };
        let host = match protocol {
            Some(_) => host.split(['/', '?']).next().unwrap_or(host),
            None => host,
        };
        let numbered = host
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let (host, port) = match numbered {
            // A host with several colons is an IPv6 address without a port.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
            _ => (host, None),
        };
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, "")))
        {
            Some((user, "")) => (Some(user), None),
            Some((user, password)) => (Some(user), Some(password)),
            None => (None, None),
        };
        Self {
            protocol: protocol.map(Arc::from),
            user: user.map(Arc::from),
            password: password.map(Arc::from),
            host: host.trim_matches(['[', ']']).into(),
            port,
        }
    }
}

impl PuppetObject for PlanTarget {
    fn object_type(&self) -> Type {
        types::target()
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        if let Some(unknown) = &self.unknown {
            return Some(Value::object(unknown.clone()));
        }
        let text = |text: &Option<Arc<str>>| text.clone().map_or(Value::Undef, Value::Str);
        if let Some(given) = &self.given
            && GIVEN.contains(&name)
        {
            return Some(given.get_str(name).cloned().unwrap_or_default());
        }
        Some(match name {
            "name" => Value::Str(self.name.clone()),
            "uri" => Value::Str(self.uri.clone()),
            "safe_name" => Value::from(self.safe_name().as_str()),
            "host" if self.given.is_some() && self.parts.host.is_empty() => Value::Undef,
            "host" => Value::Str(self.parts.host.clone()),
            "port" => self
                .parts
                .port
                .map_or(Value::Undef, |it| Value::Int(it.into())),
            "protocol" => text(&self.parts.protocol),
            "user" => text(&self.parts.user),
            "password" => text(&self.parts.password),
            "transport" => Value::from(self.transport()),
            "transport_config" => Value::hash(Hash::new()),
            _ => return None,
        })
    }

    fn equals(&self, other: &dyn PuppetObject) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| other.name == self.name)
    }

    fn hash_code(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        hasher.finish()
    }

    /// Empty, since the name may contain a password.
    fn init_hash(&self) -> Hash {
        Hash::new()
    }

    fn text(&self) -> Option<String> {
        Some(self.safe_name())
    }

    fn has_unknown(&self) -> bool {
        self.unknown.is_some()
    }

    fn is_of_host(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(uri: &str, name: &str) -> String {
        PlanTarget::new(uri).attribute(name).unwrap().to_string()
    }

    #[test]
    fn a_uri_says_how_a_node_is_reached() {
        let uri = "ssh://ann:s3cret@web1.example.com:2222/x";
        for (name, expected) in [
            ("name", uri),
            ("safe_name", "ssh://ann@web1.example.com:2222/x"),
            ("host", "web1.example.com"),
            ("port", "2222"),
            ("protocol", "ssh"),
            ("transport", "ssh"),
            ("user", "ann"),
            ("password", "s3cret"),
        ] {
            assert_eq!(shown(uri, name), expected, "{name}");
        }
        assert_eq!(
            PlanTarget::new(uri).text().unwrap(),
            "ssh://ann@web1.example.com:2222/x"
        );
        let told = crate::json::to_display_json(&Value::object(PlanTarget::new(uri)));
        assert_eq!(told, "ssh://ann@web1.example.com:2222/x");
        assert_eq!(PlanTarget::new("web1").certname(), "web1");
        assert_eq!(PlanTarget::new("pcp://web1").certname(), "web1");
        assert_eq!(PlanTarget::new("ssh://[::1]:22").certname(), "::1");
        assert_eq!(shown("web1", "transport"), "pcp");
        assert_eq!(
            PlanTarget::new("web1").attribute("port").unwrap(),
            Value::Undef
        );
        assert_eq!(PlanTarget::new("").certname(), "");
    }

    #[test]
    fn a_target_is_its_name() {
        let one = Value::object(PlanTarget::named("web1", "ssh://web1"));
        let same = Value::object(PlanTarget::new("web1"));
        assert_eq!(one, same);
        assert_ne!(one, Value::object(PlanTarget::new("web2")));
    }
}

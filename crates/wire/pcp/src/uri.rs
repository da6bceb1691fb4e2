//! Addresses: `pcp://<common name>/<client type>`.
//!
//! [`PcpUri`] owns its text, [`UriRef`] borrows it from a message. Invariant: exactly one slash
//! after the scheme, a client type that is not empty, no control characters; an empty common name
//! is legal because `pcp:///server` means "the broker that the client is connected to".

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Certname;
use crate::defaults::MAX_URI_BYTES;

/// The client type of every agent.
pub const AGENT_TYPE: &str = "agent";
/// The client type of brokers and of the services behind them; clients cannot use it.
pub const SERVER_TYPE: &str = "server";

const SCHEME: &str = "pcp://";
const BROKER: &str = "pcp:///server";
const WILDCARD: &str = "*";

/// An address that owns its text. Cheap to clone; ordered by its text, as inventories are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PcpUri(Arc<str>);

/// An address inside a decoded message; owned only if JSON escapes forced a copy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UriRef<'a>(Cow<'a, str>);

/// The error for a text that is not a PCP address. The text is not quoted: it may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PcpUriError {
    /// The text does not begin with `pcp://`.
    #[error("a PCP address begins with pcp://")]
    Scheme,
    /// The text has not exactly one slash after the scheme, or nothing after it.
    #[error("a PCP address has the form pcp://<common name>/<client type>")]
    Form,
    /// The text has this control character.
    #[error("a PCP address cannot contain the control character {0:?}")]
    ControlCharacter(char),
    /// The text is longer than [`MAX_URI_BYTES`]. Holds its length.
    #[error("a PCP address of {0} bytes is too long; the limit is {MAX_URI_BYTES}")]
    TooLong(usize),
}

// === impl PcpUri ===

impl PcpUri {
    /// An address of this common name and client type.
    pub fn new(common_name: impl AsRef<str>, client_type: &str) -> Result<Self, PcpUriError> {
        format!("{SCHEME}{}/{client_type}", common_name.as_ref()).parse()
    }

    /// The address of the agent on a node.
    pub fn agent(certname: &Certname) -> Self {
        Self(format!("{SCHEME}{certname}/{AGENT_TYPE}").into())
    }

    /// The address of the service on a host.
    pub fn server(certname: &Certname) -> Self {
        Self(format!("{SCHEME}{certname}/{SERVER_TYPE}").into())
    }

    /// `pcp:///server`: the broker that the client is connected to.
    pub fn broker() -> Self {
        Self(BROKER.into())
    }

    /// The whole address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The common name; empty in [`PcpUri::broker`]. A controller's is `host:port`.
    pub fn common_name(&self) -> &str {
        split(&self.0).0
    }

    /// The client type, such as [`AGENT_TYPE`].
    pub fn client_type(&self) -> &str {
        split(&self.0).1
    }

    /// True if this is `pcp:///server`.
    pub fn is_broker(&self) -> bool {
        &*self.0 == BROKER
    }

    /// True if the common name or the client type is `*`.
    pub fn is_wildcard(&self) -> bool {
        is_wildcard(&self.0)
    }

    /// True if `uri` equals this address or matches it as a wildcard. `*` counts only as a whole
    /// component.
    pub fn matches(&self, uri: &Self) -> bool {
        let ((cn, kind), (other_cn, other_kind)) = (split(&self.0), split(&uri.0));
        (cn == WILDCARD || cn == other_cn) && (kind == WILDCARD || kind == other_kind)
    }

    /// The borrowed form of the address.
    pub fn as_uri_ref(&self) -> UriRef<'_> {
        UriRef(Cow::Borrowed(&self.0))
    }
}

impl FromStr for PcpUri {
    type Err = PcpUriError;

    fn from_str(text: &str) -> Result<Self, PcpUriError> {
        check(text)?;
        Ok(Self(text.into()))
    }
}

impl AsRef<str> for PcpUri {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for PcpUri {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PcpUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for PcpUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PcpUri({})", self.0)
    }
}

impl Serialize for PcpUri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PcpUri {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

// === impl UriRef ===

impl<'a> UriRef<'a> {
    pub(crate) fn parse(text: Cow<'a, str>) -> Result<Self, PcpUriError> {
        check(&text)?;
        Ok(Self(text))
    }

    /// The whole address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The common name; empty in `pcp:///server`.
    pub fn common_name(&self) -> &str {
        split(&self.0).0
    }

    /// The client type, such as [`AGENT_TYPE`].
    pub fn client_type(&self) -> &str {
        split(&self.0).1
    }

    /// True if this is `pcp:///server`.
    pub fn is_broker(&self) -> bool {
        self.0 == BROKER
    }

    /// True if the common name or the client type is `*`.
    pub fn is_wildcard(&self) -> bool {
        is_wildcard(&self.0)
    }

    /// The same address, owned.
    pub fn to_uri(&self) -> PcpUri {
        PcpUri(self.0.as_ref().into())
    }
}

impl UriRef<'static> {
    /// `pcp:///server`: the broker that the client is connected to.
    pub const BROKER: Self = Self(Cow::Borrowed(BROKER));
}

impl<'a> From<&'a PcpUri> for UriRef<'a> {
    fn from(uri: &'a PcpUri) -> Self {
        uri.as_uri_ref()
    }
}

impl PartialEq<PcpUri> for UriRef<'_> {
    fn eq(&self, other: &PcpUri) -> bool {
        *self.0 == *other.0
    }
}

impl AsRef<str> for UriRef<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UriRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for UriRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UriRef({})", self.0)
    }
}

impl Serialize for UriRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

fn check(text: &str) -> Result<(), PcpUriError> {
    if text.len() > MAX_URI_BYTES {
        return Err(PcpUriError::TooLong(text.len()));
    }
    let rest = text.strip_prefix(SCHEME).ok_or(PcpUriError::Scheme)?;
    match rest.split_once('/') {
        Some((_, kind)) if !kind.is_empty() && !kind.contains('/') => {}
        _ => return Err(PcpUriError::Form),
    }
    match rest.chars().find(|c| c.is_control()) {
        Some(control) => Err(PcpUriError::ControlCharacter(control)),
        None => Ok(()),
    }
}

/// Common name and client type of a checked text.
fn split(text: &str) -> (&str, &str) {
    text[SCHEME.len()..]
        .split_once('/')
        .expect("checked when it was made")
}

fn is_wildcard(text: &str) -> bool {
    let (common_name, client_type) = split(text);
    common_name == WILDCARD || client_type == WILDCARD
}

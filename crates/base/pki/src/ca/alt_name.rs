//! Subject alternative names, as written by users and in requests: [`AltName`].

use std::net::IpAddr;
use std::str::FromStr;

use super::error::CaError;

/// A subject alternative name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AltName {
    Dns(String),
    Ip(IpAddr),
}

/// Accepts `web.example`, `10.0.0.1`, and Puppet's `DNS:…` and `IP:…`.
impl FromStr for AltName {
    type Err = CaError;

    fn from_str(text: &str) -> Result<Self, CaError> {
        let bad = || CaError::BadAltName(text.to_owned());
        let (name, must_be_ip) = match (text.strip_prefix("IP:"), text.strip_prefix("DNS:")) {
            (Some(ip), _) => (ip, true),
            (None, Some(dns)) => return dns_name(dns).ok_or_else(bad),
            (None, None) => (text, false),
        };
        match name.parse() {
            Ok(ip) => Ok(Self::Ip(ip)),
            Err(_) if must_be_ip => Err(bad()),
            Err(_) => dns_name(name).ok_or_else(bad),
        }
    }
}

pub(super) fn dns_name(name: &str) -> Option<AltName> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*');
    (!name.is_empty() && name.chars().all(fits)).then(|| AltName::Dns(name.to_owned()))
}

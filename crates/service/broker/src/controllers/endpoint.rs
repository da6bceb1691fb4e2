//! Address of a controller from the configuration: [`ControllerEndpoint`].

use std::str::FromStr;

use pcp::PcpUri;
use rustls_pki_types::ServerName;

/// Address of a configured controller.
#[derive(Clone, Debug)]
pub(crate) struct ControllerEndpoint {
    pub(super) host: String,
    pub(super) port: u16,
    /// `host:port` as configured; the name of the controller.
    pub(super) authority: String,
    /// Path of the URI with the appended `/server`.
    pub(super) path: String,
    /// PCP address of the controller, `pcp://host:port/server`.
    pub(crate) address: PcpUri,
}

/// Error: the URI of a controller is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("controller uri {uri:?} is not wss://host:port/path: {problem}")]
pub struct ControllerUriError {
    uri: String,
    problem: &'static str,
}

impl FromStr for ControllerEndpoint {
    type Err = ControllerUriError;

    fn from_str(uri: &str) -> Result<Self, ControllerUriError> {
        let wrong = |problem| ControllerUriError {
            uri: uri.to_owned(),
            problem,
        };
        let rest = uri
            .strip_prefix("wss://")
            .ok_or(wrong("the scheme is not wss"))?;
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        if path.contains(|c: char| matches!(c, '?' | '#' | ' ') || c.is_control()) {
            return Err(wrong("the path has a query, fragment or blank"));
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (
                host,
                port.parse()
                    .map_err(|_| wrong("the port is not a number"))?,
            ),
            _ => (authority, 443),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if ServerName::try_from(host).is_err() {
            return Err(wrong("the host is neither a name nor an address"));
        }
        let address = PcpUri::new(authority, pcp::SERVER_TYPE)
            .map_err(|_| wrong("the host makes no PCP address"))?;
        Ok(Self {
            host: host.to_owned(),
            port,
            authority: authority.to_owned(),
            path: format!("{}/server", path.trim_end_matches('/')),
            address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_keep_their_authority() {
        let endpoint: ControllerEndpoint = "wss://orch.example:8143/server".parse().expect("a uri");
        assert_eq!(endpoint.address.as_str(), "pcp://orch.example:8143/server");
        assert_eq!(endpoint.path, "/server/server");
        let endpoint: ControllerEndpoint = "wss://[::1]:8143".parse().expect("a uri");
        assert_eq!((endpoint.host.as_str(), endpoint.port), ("::1", 8143));
        assert_eq!(endpoint.path, "/server");
        let endpoint: ControllerEndpoint = "wss://orch.example".parse().expect("a uri");
        assert_eq!(endpoint.port, 443);
        for bad in [
            "https://x",
            "wss://",
            "wss://x:y/",
            "wss://a b/",
            "wss://x/y?z",
        ] {
            assert!(bad.parse::<ControllerEndpoint>().is_err(), "{bad}");
        }
    }
}

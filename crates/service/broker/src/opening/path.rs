//! Parser of request paths: [`RequestedPath`].
//!
//! Invariant: the client type is the raw text after the version's path, without decoding; the query
//! string is ignored.

use crate::config::RequestPaths;
use crate::session::ClientPcpVersion;

/// A WebSocket path: version of PCP and client type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestedPath {
    pub(crate) version: ClientPcpVersion,
    pub(crate) client_type: String,
}

impl RequestPaths {
    /// Parses a request path; `None` if no version of PCP has it.
    pub(crate) fn parse_path(&self, target: &str) -> Option<RequestedPath> {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        let candidates = [
            (&self.v2, ClientPcpVersion::V2),
            (&self.v1, ClientPcpVersion::V1),
        ];
        let (tail, version) = candidates
            .into_iter()
            .filter_map(|(mount, version)| Some((strip_mount(path, mount.as_deref()?)?, version)))
            // The longest matching path wins.
            .min_by_key(|(tail, _)| tail.len())?;
        let client_type = match tail {
            "" => pcp::AGENT_TYPE,
            // Some clients write `/pcp2/agent/`.
            tail => tail.strip_suffix('/').unwrap_or(tail),
        };
        Some(RequestedPath {
            version,
            client_type: client_type.to_owned(),
        })
    }
}

fn strip_mount<'a>(path: &'a str, mount: &str) -> Option<&'a str> {
    match path.strip_prefix(mount.trim_end_matches('/'))? {
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(target: &str) -> Option<(ClientPcpVersion, String)> {
        RequestPaths::default()
            .parse_path(target)
            .map(|w| (w.version, w.client_type))
    }

    #[test]
    fn version_and_type_come_from_the_path() {
        let v1 = |t: &str| Some((ClientPcpVersion::V1, t.to_owned()));
        let v2 = |t: &str| Some((ClientPcpVersion::V2, t.to_owned()));
        for (target, expected) in [
            ("/pcp2", v2("agent")),
            ("/pcp2/", v2("agent")),
            ("/pcp2/agent", v2("agent")),
            ("/pcp2/agent/", v2("agent")),
            ("/pcp2?x=/y", v2("agent")),
            ("/pcp2/x%20y", v2("x%20y")),
            ("/pcp", v1("agent")),
            ("/pcp/", v1("agent")),
            ("/pcp/controller", v1("controller")),
            ("/pcp3", None),
            ("/", None),
        ] {
            assert_eq!(wanted(target), expected, "{target}");
        }
    }

    #[test]
    fn mounts_may_lie_within_each_other() {
        let paths = RequestPaths {
            v1: Some("/pcp".to_owned()),
            v2: Some("/pcp/v2.0/".to_owned()),
        };
        let v2 = paths.parse_path("/pcp/v2.0/agent").map(|w| w.version);
        assert_eq!(v2, Some(ClientPcpVersion::V2));
        let v1 = paths.parse_path("/pcp/agent").map(|w| w.version);
        assert_eq!(v1, Some(ClientPcpVersion::V1));
        assert_eq!(RequestPaths { v1: None, v2: None }.parse_path("/pcp"), None);
    }
}

//! The servers that general credentials may be sent to: [`CredentialServers`]. Without I/O.
//!
//! Invariant: a Puppetfile of any branch may name any server, so no credential of the settings is
//! sent to a server that the settings do not name.

use std::collections::BTreeSet;
use std::sync::Arc;

use reqwest::Url;

use super::GitAddress;

/// The servers of the control repositories, and those of `git.credential_hosts`. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialServers(Arc<BTreeSet<HttpServer>>);

/// A server reached by HTTP or HTTPS.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HttpServer {
    /// Host name in lower case.
    host: String,
    port: u16,
}

/// Port of HTTPS for an address without a port.
const HTTPS_PORT: u16 = 443;

// === impl CredentialServers ===

impl CredentialServers {
    /// The servers of these repositories, and these `host` or `host:port`.
    pub fn from_remotes<'a>(
        remotes: impl IntoIterator<Item = &'a str>,
        named: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let remotes = remotes.into_iter().filter_map(HttpServer::from_remote);
        let named = named.into_iter().filter_map(HttpServer::from_name);
        Self(Arc::new(remotes.chain(named).collect()))
    }

    /// True if the repository with this address is on one of these servers.
    pub(super) fn contains(&self, remote: &str) -> bool {
        let server = HttpServer::from_url(remote);
        server.is_some_and(|server| self.0.contains(&server))
    }
}

/// True if a text is `host` or `host:port`.
pub fn is_server(name: &str) -> bool {
    HttpServer::from_name(name).is_some()
}

// === impl HttpServer ===

impl HttpServer {
    /// The server of an HTTP address; `None` for other addresses.
    fn from_url(remote: &str) -> Option<Self> {
        let url: Url = remote.parse().ok()?;
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        Some(Self {
            host: url.host_str()?.to_ascii_lowercase(),
            port: url.port_or_known_default()?,
        })
    }

    /// The server of a control repository. For one that is reached by SSH, HTTPS is assumed at the
    /// usual port.
    fn from_remote(remote: &str) -> Option<Self> {
        let by_ssh = || {
            let host = GitAddress::parse(remote)?.host;
            let port = HTTPS_PORT;
            Some(Self { host, port })
        };
        Self::from_url(remote).or_else(by_ssh)
    }

    fn from_name(name: &str) -> Option<Self> {
        let url: Url = format!("https://{name}").parse().ok()?;
        let is_bare = url.path() == "/" && !name.ends_with('/') && !name.contains(['@', '?', '#']);
        Self::from_url(url.as_str()).filter(|_| is_bare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_credentials_go_to_servers_that_the_settings_name() {
        let remotes = [
            "git@Git.example.com:ops/control.git",
            "https://code.example.com:8443/ops/control",
            "ssh://git@ssh.example.com:2222/ops/control",
            "/srv/control",
        ];
        let servers = CredentialServers::from_remotes(
            remotes,
            ["modules.example.com", "other.example.com:8080"],
        );
        for yes in [
            "https://git.example.com/any/module.git",
            "https://GIT.example.com:443/x",
            "https://code.example.com:8443/x",
            "https://ssh.example.com/x",
            "https://modules.example.com/x",
            "https://other.example.com:8080/x",
        ] {
            assert!(servers.contains(yes), "{yes}");
        }
        for no in [
            "https://evil.example.com/x",
            "https://git.example.com.evil.example/x",
            "https://git.example.com:8443/x",
            "https://code.example.com/x",
            "https://evil.example/?git.example.com",
            "https://git.example.com@evil.example/x",
            "git@git.example.com:x",
            "/srv/x",
        ] {
            assert!(!servers.contains(no), "{no}");
        }
        assert!(!CredentialServers::default().contains("https://git.example.com/x"));
    }

    #[test]
    fn names_of_servers() {
        for good in ["example.com", "example.com:8443", "[::1]:3000", "10.0.0.1"] {
            assert!(is_server(good), "{good}");
        }
        for bad in [
            "",
            "https://example.com",
            "example.com/x",
            "me@example.com",
            "a b",
            "x:y",
        ] {
            assert!(!is_server(bad), "{bad}");
        }
    }
}

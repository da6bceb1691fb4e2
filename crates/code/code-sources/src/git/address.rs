//! Host and path in git's address of a repository on another machine: [`GitAddress`]. Without I/O.

use percent_encoding::percent_decode_str;
use reqwest::Url;

/// The parts of git's address of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitAddress {
    /// Host name in lower case.
    pub host: String,
    /// Port of HTTP; `None` for SSH, which has a different one.
    pub port: Option<u16>,
    /// Path, decoded, without `.git` and surrounding slashes.
    pub path: String,
}

impl GitAddress {
    /// Parses an address; `None` for a local path, or an invalid address.
    pub fn parse(remote: &str) -> Option<Self> {
        let (host, port, path) = match remote.split_once("://") {
            Some(("http" | "https" | "ssh", _)) => {
                let url: Url = remote.parse().ok()?;
                let is_web = url.scheme() == "https";
                let path = percent_decode_str(url.path()).decode_utf8().ok()?;
                let port = url.port().filter(|_| is_web);
                (url.host_str()?.to_owned(), port, path.into_owned())
            }
            Some(_) => return None,
            None => {
                let (host, path) = remote.split_once(':')?;
                let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
                (host.to_ascii_lowercase(), None, path.to_owned())
            }
        };
        let path = path.trim_matches('/');
        Some(Self {
            host,
            port,
            path: path.strip_suffix(".git").unwrap_or(path).to_owned(),
        })
    }

    /// True if both are addresses of one repository, by SSH or by HTTP.
    pub fn is_same(&self, other: &Self) -> bool {
        self.host == other.host && self.path == other.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_several_addresses() {
        let of = |remote: &str| GitAddress::parse(remote).unwrap();
        let one = of("git@Git.example.com:ops/puppetlabs-apt.git");
        for other in [
            "https://git.example.com/ops/puppetlabs-apt.git",
            "https://anna:secret@git.example.com:8443/ops/puppetlabs-apt/",
            "ssh://git@git.example.com:2222/ops/puppetlabs-apt",
        ] {
            assert!(one.is_same(&of(other)), "{other}");
        }
        assert!(!one.is_same(&of("https://git.example.com/ops/apt.git")));
        assert!(!one.is_same(&of("https://git.example.org/ops/puppetlabs-apt.git")));
        assert_eq!(GitAddress::parse("/srv/git/apt"), None);
        assert_eq!(GitAddress::parse("file:///srv/git/apt"), None);
    }
}

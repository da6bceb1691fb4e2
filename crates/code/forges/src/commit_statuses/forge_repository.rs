//! The API and name of a repository at its forge: [`ForgeRepository`], derived from the address
//! that git uses. Without I/O.
//!
//! Invariant: each part of an address becomes one segment of a path, whatever characters it has.

use reqwest::Url;

use super::CommitStatusSettings;
use crate::incoming_webhooks::ForgeKind;
use code_sources::git::GitAddress;
use code_sources::remote_address::strip_credentials;

/// A repository at a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ForgeRepository {
    api: Url,
    /// `owner/name`, or as many parts as the forge has.
    pub(super) repository: String,
    /// Address of the repository for a browser.
    pub(super) web: Url,
}

/// Cause for which the commit statuses of a source cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForgeRepositoryError {
    /// Settings name a source that does not exist.
    #[error("there is no source {source_name}; there is {known}")]
    NoSource {
        /// The source in the settings.
        source_name: String,
        /// Names of the sources that exist, separated by commas.
        known: String,
    },
    /// The address does not contain the API or the repository.
    #[error(
        "the address {remote} does not say where the API of {host} is; name `api` and `repository`"
    )]
    Address {
        /// Address of the source, without credentials.
        remote: String,
        /// Kind of the forge.
        host: ForgeKind,
    },
    /// The API is not one that a token may be sent to.
    #[error("the API of {host} must be at an https address (http on this machine), not {api}")]
    Api {
        /// Kind of the forge.
        host: ForgeKind,
        /// Address of the API in the settings.
        api: String,
    },
    /// The name does not have the form of this forge.
    #[error("a repository of {host} has a name like {form}, not {repository:?}")]
    Repository {
        /// Kind of the forge.
        host: ForgeKind,
        /// Form of names at this forge, such as `owner/name`.
        form: &'static str,
        /// The name in the settings, or from the source's address.
        repository: String,
    },
}

// === impl ForgeRepository ===

impl ForgeRepository {
    pub(super) fn from_remote(
        settings: &CommitStatusSettings,
        remote: &str,
    ) -> Result<Self, ForgeRepositoryError> {
        let host = settings.host;
        let nowhere = || ForgeRepositoryError::Address {
            remote: strip_credentials(remote),
            host,
        };
        let address = GitAddress::parse(remote);
        let api = match (&settings.api, &address) {
            (Some(api), _) => api.clone(),
            (None, Some(address)) => default_api(host, address).ok_or_else(nowhere)?,
            (None, None) => return Err(nowhere()),
        };
        if !is_allowed_api(&api) {
            let api = api.to_string();
            return Err(ForgeRepositoryError::Api { host, api });
        }
        let repository = match (&settings.repository, &address) {
            (Some(repository), _) => repository.clone(),
            (None, Some(address)) => repository_name(host, address).ok_or_else(nowhere)?,
            (None, None) => return Err(nowhere()),
        };
        check_repository_name(host, &repository)?;
        let mut web = api.clone();
        if let Some(host) = address.as_ref().map(|it| it.host.as_str()) {
            // A name that is no valid host leaves the API's host.
            let _ = web.set_host(Some(host));
        }
        web.set_path(&repository);
        Ok(Self {
            api,
            repository,
            web,
        })
    }

    /// URL of a path below the API.
    pub(super) fn api_url(&self, path: &[&str]) -> Url {
        let mut url = self.api.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// The parts of the repository's name.
    pub(super) fn segments(&self) -> impl Iterator<Item = &str> {
        self.repository.split('/')
    }
}

/// The repository's name at its forge.
fn repository_name(host: ForgeKind, address: &GitAddress) -> Option<String> {
    let path = address.path.as_str();
    Some(match host {
        ForgeKind::Azure if address.host == "ssh.dev.azure.com" => {
            path.strip_prefix("v3/")?.to_owned()
        }
        ForgeKind::Azure => path.replacen("/_git/", "/", 1),
        ForgeKind::BitbucketServer => match path.rsplit_once("scm/") {
            Some((_, repository)) => repository.to_owned(),
            None => path.to_owned(),
        },
        _ => path.to_owned(),
    })
}

/// Default address of the API of this kind of forge; `None` if there is none.
fn default_api(host: ForgeKind, address: &GitAddress) -> Option<Url> {
    let own = address.host.as_str();
    let at = match address.port {
        Some(port) => format!("{own}:{port}"),
        None => own.to_owned(),
    };
    let api = match host {
        ForgeKind::GitHub if own == "github.com" => "https://api.github.com".to_owned(),
        ForgeKind::GitHub => format!("https://{at}/api/v3"),
        ForgeKind::GitLab => format!("https://{at}/api/v4"),
        ForgeKind::Gitea => format!("https://{at}/api/v1"),
        ForgeKind::Bitbucket => "https://api.bitbucket.org/2.0".to_owned(),
        ForgeKind::BitbucketServer => {
            let context = address.path.rsplit_once("scm/").map_or("", |(it, _)| it);
            format!("https://{at}/{context}")
        }
        ForgeKind::Azure if own.ends_with("dev.azure.com") => "https://dev.azure.com".to_owned(),
        ForgeKind::Azure => return None,
    };
    api.parse().ok()
}

/// True if a token may be sent to this API: HTTPS, or HTTP on this machine.
fn is_allowed_api(api: &Url) -> bool {
    let is_here = matches!(api.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let is_open = api.username().is_empty() && api.password().is_none();
    is_open && (api.scheme() == "https" && api.has_host() || api.scheme() == "http" && is_here)
}

fn check_repository_name(host: ForgeKind, repository: &str) -> Result<(), ForgeRepositoryError> {
    let (form, parts) = match host {
        ForgeKind::GitLab => ("group/project", 2..=usize::MAX),
        ForgeKind::Azure => ("organization/project/repository", 3..=3),
        _ => ("owner/name", 2..=2),
    };
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    let is_named = parts.contains(&repository.split('/').count());
    match is_named && repository.split('/').all(is_part) {
        true => Ok(()),
        false => Err(ForgeRepositoryError::Repository {
            host,
            form,
            repository: repository.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use optional_feature::Feature;

    use super::*;

    fn settings(host: ForgeKind) -> CommitStatusSettings {
        CommitStatusSettings {
            host,
            token: Feature::with_value("secret".to_owned().into()),
            api: None,
            repository: None,
            link: None,
        }
    }

    fn of(host: ForgeKind, remote: &str) -> Result<(String, String), String> {
        let place = ForgeRepository::from_remote(&settings(host), remote)
            .map_err(|error| error.to_string())?;
        Ok((place.api.to_string(), place.repository))
    }

    fn is(api: &str, repository: &str) -> Result<(String, String), String> {
        Ok((api.to_owned(), repository.to_owned()))
    }

    #[test]
    fn addresses_of_all_forms_say_where_the_api_is() {
        let enterprise = is("https://git.example.com/api/v3", "ops/control");
        for remote in [
            "git@git.example.com:ops/control.git",
            "git.example.com:ops/control",
            "ssh://git@git.example.com:2222/ops/control.git",
            "https://anna:secret@git.example.com/ops/control.git/",
        ] {
            assert_eq!(of(ForgeKind::GitHub, remote), enterprise, "{remote}");
        }
        assert_eq!(
            of(
                ForgeKind::Azure,
                "git@ssh.dev.azure.com:v3/org/My Project/control"
            ),
            is("https://dev.azure.com/", "org/My Project/control")
        );
        assert_eq!(
            of(
                ForgeKind::BitbucketServer,
                "ssh://git@git.example.com:7999/ops/control.git"
            ),
            is("https://git.example.com/", "ops/control")
        );
    }

    #[test]
    fn what_an_address_does_not_say_must_be_named() {
        for remote in [
            "/srv/git/control",
            "file:///srv/control",
            "",
            "https://",
            ":",
        ] {
            assert!(of(ForgeKind::GitHub, remote).is_err(), "{remote}");
        }
        let mut named = settings(ForgeKind::GitHub);
        named.api = Some("https://git.example.com/api/v3/".parse().unwrap());
        assert!(ForgeRepository::from_remote(&named, "/srv/git/control").is_err());
        named.repository = Some("ops/control".to_owned());
        let place = ForgeRepository::from_remote(&named, "/srv/git/control").unwrap();
        let url = place.api_url(&["repos", "a/b", "..%2f"]);
        assert_eq!(
            url.as_str(),
            "https://git.example.com/api/v3/repos/a%2Fb/..%252f"
        );
    }

    #[test]
    fn a_token_goes_nowhere_else() {
        let mut named = settings(ForgeKind::GitHub);
        for api in [
            "http://git.example.com/",
            "https://anna:x@git.example.com/",
            "ftp://localhost/",
        ] {
            named.api = Some(api.parse().unwrap());
            let error = ForgeRepository::from_remote(&named, "git@git.example.com:ops/control")
                .unwrap_err();
            assert!(matches!(error, ForgeRepositoryError::Api { .. }), "{error}");
        }
        for remote in [
            "git@git.example.com:../control",
            "https://git.example.com/control",
            "https://git.example.com/a/%2e%2e/b/c/d",
        ] {
            assert!(of(ForgeKind::GitHub, remote).is_err(), "{remote}");
        }
    }
}

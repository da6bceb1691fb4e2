//! Credentials and settings for reaching repositories: [`GitAccess`], for all of them or for one.
//!
//! Invariants: a token is sent by HTTPS (HTTP on this machine) to a repository that the settings
//! name, or whose server they name, and to no server that this one redirects to; it is in no
//! command line; the credentials of one repository are used for no other.

use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::process::Command;

use super::github_app::{GithubApp, describe_missing_installation};
use super::program::{GitError, GitProgram};
use crate::defaults::GITHUB_TTL;
use crate::remote_address::strip_credentials;

/// The credentials and settings for reaching a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitAccess {
    /// The private key for SSH; `None`: git uses the user's own settings.
    pub private_key: Option<PathBuf>,
    /// Proxy such as `http://proxy:3128`; empty: none; `None`: as in Tutti's own environment, in
    /// the variables that git itself reads.
    pub proxy: Option<String>,
    /// A file with a token for HTTPS; `None`: git's own credentials.
    pub oauth_token: Option<PathBuf>,
    /// The ID of a GitHub App, digits only. The App provides tokens if there is no other token and
    /// its key is set.
    pub github_app_id: Option<String>,
    /// The file with the App's private key.
    pub github_app_key: Option<PathBuf>,
    /// Validity of what the App signs; `None`: [`GITHUB_TTL`].
    pub github_app_ttl: Option<Duration>,
}

/// The credentials that are sent to a repository.
pub(super) enum GitLogin {
    /// Only the credentials that git finds itself.
    GitDefault,
    /// No credentials, since no token applies: neither the general one, nor one of a GitHub App.
    Absent {
        /// The reason, for messages to users.
        note: String,
    },
    Token {
        user: String,
        token: SecretString,
    },
}

/// The variables with proxies in Tutti's own environment, as libcurl and so git read them.
const PROXIES: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
];

/// The variables with hosts that are reached without a proxy, whatever its source.
const NO_PROXY: &[&str] = &["no_proxy", "NO_PROXY"];

/// User name sent with a token; forges check the token alone.
const TOKEN_USER: &str = "x-oauth-token";

/// Environment variable in which git's credential helper finds the user name.
const USER_VARIABLE: &str = "TUTTI_GIT_USER";
const TOKEN_VARIABLE: &str = "TUTTI_GIT_TOKEN";

/// Git's credential helper, which answers only requests for credentials. `printf` is built into the
/// shell, so the token is in no command line.
const HELPER: &str = "!f() { test \"$1\" = get || return 0; \
     printf 'username=%s\\npassword=%s\\n' \"$TUTTI_GIT_USER\" \"$TUTTI_GIT_TOKEN\"; }; f";

/// User name sent with a token of a GitHub App.
const APP_USER: &str = "x-access-token";

// === impl GitAccess ===

impl GitAccess {
    /// These settings, with `general` for each that is `None`.
    pub fn or_else_general(&self, general: &Self) -> Self {
        Self {
            private_key: self
                .private_key
                .clone()
                .or_else(|| general.private_key.clone()),
            proxy: self.proxy.clone().or_else(|| general.proxy.clone()),
            oauth_token: self
                .oauth_token
                .clone()
                .or_else(|| general.oauth_token.clone()),
            github_app_id: self
                .github_app_id
                .clone()
                .or_else(|| general.github_app_id.clone()),
            github_app_key: self
                .github_app_key
                .clone()
                .or_else(|| general.github_app_key.clone()),
            github_app_ttl: self.github_app_ttl.or(general.github_app_ttl),
        }
    }

    /// The credentials for this repository.
    pub(super) async fn resolve_login(
        &self,
        remote: &str,
        git: &GitProgram,
    ) -> Result<GitLogin, GitError> {
        if let Some((user, token)) = credentials_in_url(remote) {
            return Ok(GitLogin::Token { user, token });
        }
        if !takes_token(remote) {
            return Ok(GitLogin::GitDefault);
        }
        if self.oauth_token.is_some() && !git.has_credentials_for(remote) {
            let note = describe_withheld_token(remote);
            return Ok(GitLogin::Absent { note });
        }
        if let Some(path) = &self.oauth_token {
            let (user, token) = (TOKEN_USER.to_owned(), read_token(path).await?);
            return Ok(GitLogin::Token { user, token });
        }
        let Some(app) = self.app() else {
            return Ok(GitLogin::GitDefault);
        };
        let is_named = git.has_app_for(remote);
        let token = git.apps.token(&app, remote, is_named).await;
        let token = token.map_err(|error| GitError::App {
            id: app.id.clone(),
            remote: strip_credentials(remote),
            error,
        })?;
        Ok(match token {
            Some(token) => GitLogin::Token {
                user: APP_USER.to_owned(),
                token,
            },
            None => GitLogin::Absent {
                note: describe_missing_installation(&app.id),
            },
        })
    }

    fn app(&self) -> Option<GithubApp> {
        Some(GithubApp {
            id: self.github_app_id.clone()?,
            key: self.github_app_key.clone()?,
            ttl: self.github_app_ttl.unwrap_or(GITHUB_TTL),
            proxy: self.proxy.clone(),
        })
    }

    /// Configures a git command to reach this repository with these credentials.
    pub(super) fn apply(&self, command: &mut Command, remote: &str, login: &GitLogin) {
        self.set_proxies(command);
        command.env("GIT_SSH_COMMAND", self.ssh_command());
        let GitLogin::Token { user, token } = login else {
            return;
        };
        // Git calls a helper for one server and drops its answer when redirected to another one. A
        // header of `http.extraHeader` would also be sent to the server of a redirect.
        let key = format!("credential.{}.helper", server(remote));
        // The first, empty value removes the helpers of the user's own settings.
        for (number, value) in ["", HELPER].iter().enumerate() {
            command
                .env(format!("GIT_CONFIG_KEY_{number}"), &key)
                .env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command
            .env("GIT_CONFIG_COUNT", "2")
            .env(USER_VARIABLE, user)
            .env(TOKEN_VARIABLE, token.expose_secret());
    }

    fn set_proxies(&self, command: &mut Command) {
        let ours: &[&str] = if self.proxy.is_some() { &[] } else { PROXIES };
        for name in NO_PROXY.iter().chain(ours) {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let named = self.proxy.as_deref().filter(|proxy| !proxy.is_empty());
        if let Some(proxy) = named {
            for name in ["http_proxy", "https_proxy"] {
                command.env(name, proxy);
            }
        }
    }

    fn ssh_command(&self) -> String {
        let quoted =
            |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
        let key = self.private_key.as_deref().map(quoted);
        let key = key.map(|key| format!(" -oIdentitiesOnly=yes -i {key}"));
        format!("ssh -oBatchMode=yes{}", key.unwrap_or_default())
    }
}

async fn read_token(path: &Path) -> Result<SecretString, GitError> {
    let wrong = |source| GitError::Token {
        path: path.to_owned(),
        source,
    };
    let text = tokio::fs::read_to_string(path).await.map_err(wrong)?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let what = "it is no token: one word is expected";
        return Err(wrong(std::io::Error::other(what)));
    }
    Ok(token.to_owned().into())
}

/// User and password in an address. Git gets them separately, since every user of the machine sees
/// the arguments of a program. Credentials with a line break, which the helper cannot pass, are
/// omitted.
fn credentials_in_url(remote: &str) -> Option<(String, SecretString)> {
    let url: Url = remote.parse().ok()?;
    if !is_http(&url) || url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let user = plain(url.username());
    let password = plain(url.password().unwrap_or_default());
    let is_line = !(user.contains(char::is_control) || password.contains(char::is_control));
    is_line.then(|| (user, password.into()))
}

/// An address in the form for the arguments of a program.
pub(super) fn without_http_credentials(remote: &str) -> String {
    match remote.parse::<Url>() {
        Ok(url) if is_http(&url) => strip_credentials(remote),
        // The user name of SSH is not secret, and remains.
        _ => remote.to_owned(),
    }
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// The server of an HTTP address: `https://git.example.com:8443`.
fn server(remote: &str) -> String {
    let url = remote.parse::<Url>();
    url.map_or_else(|_| String::new(), |url| url.origin().ascii_serialization())
}

/// Note for the log and for errors: the repository is accessed without the general token.
fn describe_withheld_token(remote: &str) -> String {
    let server = server(remote);
    format!(
        "it was asked without git.oauth_token, since {server} is not the server of a control repository; name the host in \
         git.credential_hosts, or the repository in git.repositories, if it may have the token"
    )
}

/// True if a token may be sent to an address. An address with credentials uses those.
fn takes_token(remote: &str) -> bool {
    let Ok(url) = remote.parse::<Url>() else {
        return false;
    };
    let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let is_safe = url.scheme() == "https" || url.scheme() == "http" && is_here;
    is_safe && url.username().is_empty() && url.password().is_none()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::git::CredentialServers;

    async fn vars(access: &GitAccess, remote: &str) -> BTreeMap<String, String> {
        let mut command = Command::new("git");
        let git = GitProgram {
            servers: CredentialServers::from_remotes([], ["git.example.com"]),
            ..GitProgram::default()
        };
        let login = access.resolve_login(remote, &git).await.unwrap();
        access.apply(&mut command, remote, &login);
        let vars = command.as_std().get_envs();
        let text = |it: &std::ffi::OsStr| it.to_str().unwrap().to_owned();
        vars.map(|(name, value)| (text(name), text(value.unwrap())))
            .collect()
    }

    #[tokio::test]
    async fn the_settings_proxy_wins_and_ours_are_handed_on() {
        let named = async |access: &GitAccess| {
            let vars = vars(access, "https://git.example.com/x").await;
            let proxies = vars.into_iter();
            let proxies = proxies.filter(|(name, _)| PROXIES.contains(&name.as_str()));
            proxies.collect::<Vec<_>>()
        };
        let with = |proxy: &str| GitAccess {
            proxy: Some(proxy.to_owned()),
            ..GitAccess::default()
        };
        let pair = |name: &str| (name.to_owned(), "http://p:1".to_owned());
        assert_eq!(
            named(&with("http://p:1")).await,
            [pair("http_proxy"), pair("https_proxy")]
        );
        assert_eq!(named(&with("")).await, []);
        let ours = PROXIES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
        let ours: BTreeSet<_> = ours.collect();
        assert!(named(&GitAccess::default()).await.into_iter().eq(ours));
    }

    #[tokio::test]
    async fn a_token_goes_to_its_repository_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        std::fs::write(&path, "t0ken\n").unwrap();
        let access = GitAccess {
            oauth_token: Some(path.clone()),
            ..GitAccess::default()
        };
        let set = vars(&access, "https://git.example.com/ops/x.git").await;
        for key in ["GIT_CONFIG_KEY_0", "GIT_CONFIG_KEY_1"] {
            assert_eq!(set[key], "credential.https://git.example.com.helper");
        }
        assert_eq!(set["GIT_CONFIG_VALUE_0"], "");
        assert_eq!(set["TUTTI_GIT_USER"], "x-oauth-token");
        assert_eq!(set["TUTTI_GIT_TOKEN"], "t0ken");
        for other in [
            "http://git.example.com/x",
            "git@git.example.com:x",
            "ssh://git.example.com/x",
            "/srv/x",
            "https://evil.example/ops/x.git",
            "https://git.example.com:8443/ops/x.git",
        ] {
            let vars = vars(&access, other).await;
            assert!(!vars.contains_key("GIT_CONFIG_COUNT"), "{other}");
            assert!(
                !vars.values().any(|value| value.contains("t0ken")),
                "{other}"
            );
        }
        // Credentials in the address are used, and are absent from git's arguments.
        let own = "https://anna:se%21cret@git.example.com/x";
        let set = vars(&access, own).await;
        assert_eq!(set["TUTTI_GIT_USER"], "anna");
        assert_eq!(set["TUTTI_GIT_TOKEN"], "se!cret");
        assert_eq!(without_http_credentials(own), "https://git.example.com/x");
        let ssh = "ssh://git@git.example.com/x";
        assert_eq!(without_http_credentials(ssh), ssh);
        for wrong in ["", "two words", "a\nb", "x\u{0}y", "é"] {
            std::fs::write(&path, wrong).unwrap();
            let git = GitProgram {
                servers: CredentialServers::from_remotes(["https://git.example.com/control"], []),
                ..GitProgram::default()
            };
            let error = access
                .resolve_login("https://git.example.com/x", &git)
                .await;
            assert!(matches!(error, Err(GitError::Token { .. })), "{wrong:?}");
        }
    }

    #[test]
    fn a_key_of_one_repository_wins() {
        let with = |key: &str| GitAccess {
            private_key: Some(key.into()),
            ..GitAccess::default()
        };
        let general = GitAccess {
            proxy: Some("http://p:1".to_owned()),
            ..with("/etc/general")
        };
        let own = with("/etc/it's own").or_else_general(&general);
        assert_eq!(own.proxy.as_deref(), Some("http://p:1"));
        assert_eq!(
            own.ssh_command(),
            r"ssh -oBatchMode=yes -oIdentitiesOnly=yes -i '/etc/it'\''s own'"
        );
        assert_eq!(
            GitAccess::default()
                .or_else_general(&GitAccess::default())
                .ssh_command(),
            "ssh -oBatchMode=yes"
        );
    }
}

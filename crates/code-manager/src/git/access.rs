//! How repositories are reached: [`Access`], for all of them or for one.
//!
//! The rules that must hold: a token goes by HTTPS to the repository that it is for (HTTP on this machine), and
//! stands in no command line; what one repository is reached with counts for no other.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::process::Command;

use super::github_app::{GithubApp, absent};
use super::program::{Git, GitError, shown};
use crate::defaults::GITHUB_TTL;

/// What a repository is reached with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The private key for SSH; `None`: as the user's own settings say.
    pub private_key: Option<PathBuf>,
    /// `http://proxy:3128`, or nothing for none; `None`: as our own environment says, in the variables that git
    /// itself takes.
    pub proxy: Option<String>,
    /// A file with a token for HTTPS; `None`: git's own credentials.
    pub oauth_token: Option<PathBuf>,
    /// The ID of a GitHub App, of digits. It gets tokens if there is no other token, and it has a key.
    pub github_app_id: Option<String>,
    /// The file with its private key.
    pub github_app_key: Option<PathBuf>,
    /// How long what it signs is good; `None`: [`GITHUB_TTL`].
    pub github_app_ttl: Option<Duration>,
}

/// What a repository is shown.
pub(super) enum Login {
    /// Nothing but what git finds itself.
    Own,
    /// Nothing, since a GitHub App has no token for it.
    Absent {
        /// Why, for people.
        note: String,
    },
    Token {
        user: &'static str,
        token: SecretString,
    },
}

/// What names proxies in our own environment, as libcurl and so git reads it.
const PROXIES: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
];

/// Hosts that are asked without a proxy, whoever named it.
const NO_PROXY: &[&str] = &["no_proxy", "NO_PROXY"];

/// Who a token is said to be of; forges look at the token alone.
const TOKEN_USER: &str = "x-oauth-token";

/// Who a token of a GitHub App is said to be of.
const APP_USER: &str = "x-access-token";

// === impl Access ===

impl Access {
    /// With what is not said here taken from there.
    pub(crate) fn or(&self, general: &Self) -> Self {
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

    /// What this repository is shown.
    pub(super) async fn login(&self, remote: &str, git: &Git) -> Result<Login, GitError> {
        if !takes_token(remote) {
            return Ok(Login::Own);
        }
        if let Some(path) = &self.oauth_token {
            let (user, token) = (TOKEN_USER, read(path).await?);
            return Ok(Login::Token { user, token });
        }
        let Some(app) = self.app() else {
            return Ok(Login::Own);
        };
        let is_named = git.names_app_at(remote);
        let token = git.apps.token(&app, remote, is_named).await;
        let token = token.map_err(|error| GitError::App {
            id: app.id.clone(),
            remote: shown(remote),
            error,
        })?;
        Ok(match token {
            Some(token) => Login::Token {
                user: APP_USER,
                token,
            },
            None => Login::Absent {
                note: absent(&app.id),
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

    /// Has git reach this repository so.
    pub(super) fn apply(&self, command: &mut Command, remote: &str, login: &Login) {
        self.proxies(command);
        command.env("GIT_SSH_COMMAND", self.ssh_command());
        let Login::Token { user, token } = login else {
            return;
        };
        let pair = STANDARD.encode(format!("{user}:{}", token.expose_secret()));
        command
            .env("GIT_CONFIG_COUNT", "1")
            .env(
                "GIT_CONFIG_KEY_0",
                format!("http.{}.extraHeader", shown(remote)),
            )
            .env("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {pair}"));
    }

    fn proxies(&self, command: &mut Command) {
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

async fn read(path: &Path) -> Result<SecretString, GitError> {
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

/// Whether a token may go there. Who has credentials in the address has those.
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

    async fn vars(access: &Access, remote: &str) -> BTreeMap<String, String> {
        let mut command = Command::new("git");
        let login = access.login(remote, &Git::default()).await.unwrap();
        access.apply(&mut command, remote, &login);
        let vars = command.as_std().get_envs();
        let text = |it: &std::ffi::OsStr| it.to_str().unwrap().to_owned();
        vars.map(|(name, value)| (text(name), text(value.unwrap())))
            .collect()
    }

    #[tokio::test]
    async fn the_settings_proxy_wins_and_ours_are_handed_on() {
        let named = async |access: &Access| {
            let vars = vars(access, "https://git.example.com/x").await;
            let proxies = vars.into_iter();
            let proxies = proxies.filter(|(name, _)| PROXIES.contains(&name.as_str()));
            proxies.collect::<Vec<_>>()
        };
        let with = |proxy: &str| Access {
            proxy: Some(proxy.to_owned()),
            ..Access::default()
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
        assert!(named(&Access::default()).await.into_iter().eq(ours));
    }

    #[tokio::test]
    async fn a_token_goes_to_its_repository_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        std::fs::write(&path, "t0ken\n").unwrap();
        let access = Access {
            oauth_token: Some(path.clone()),
            ..Access::default()
        };
        let set = vars(&access, "https://git.example.com/ops/x.git").await;
        assert_eq!(
            set["GIT_CONFIG_KEY_0"],
            "http.https://git.example.com/ops/x.git.extraHeader"
        );
        let pair = STANDARD.encode("x-oauth-token:t0ken");
        assert_eq!(
            set["GIT_CONFIG_VALUE_0"],
            format!("Authorization: Basic {pair}")
        );
        for other in [
            "http://git.example.com/x",
            "git@git.example.com:x",
            "ssh://git.example.com/x",
            "https://anna:secret@git.example.com/x",
            "/srv/x",
        ] {
            assert!(
                !vars(&access, other).await.contains_key("GIT_CONFIG_COUNT"),
                "{other}"
            );
        }
        for wrong in ["", "two words", "a\nb", "x\u{0}y", "é"] {
            std::fs::write(&path, wrong).unwrap();
            let git = Git::default();
            let error = access.login("https://git.example.com/x", &git).await;
            assert!(matches!(error, Err(GitError::Token { .. })), "{wrong:?}");
        }
    }

    #[test]
    fn a_key_of_one_repository_wins() {
        let with = |key: &str| Access {
            private_key: Some(key.into()),
            ..Access::default()
        };
        let general = Access {
            proxy: Some("http://p:1".to_owned()),
            ..with("/etc/general")
        };
        let own = with("/etc/it's own").or(&general);
        assert_eq!(own.proxy.as_deref(), Some("http://p:1"));
        assert_eq!(
            own.ssh_command(),
            r"ssh -oBatchMode=yes -oIdentitiesOnly=yes -i '/etc/it'\''s own'"
        );
        assert_eq!(
            Access::default().or(&Access::default()).ssh_command(),
            "ssh -oBatchMode=yes"
        );
    }
}

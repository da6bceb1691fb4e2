//! How repositories are reached: [`Access`], for all of them or for one.
//!
//! The rules that must hold: a token goes by HTTPS to the repository that it is for (HTTP on this machine), and
//! stands in no command line; what one repository is reached with counts for no other.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use tokio::process::Command;

use super::program::{GitError, shown};

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

// === impl Access ===

impl Access {
    /// With what is not said here taken from there.
    pub(super) fn or(&self, general: &Self) -> Self {
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
        }
    }

    /// Has git reach this repository so.
    pub(super) async fn apply(&self, command: &mut Command, remote: &str) -> Result<(), GitError> {
        self.proxies(command);
        command.env("GIT_SSH_COMMAND", self.ssh_command());
        let Some(path) = &self.oauth_token else {
            return Ok(());
        };
        if !takes_token(remote) {
            return Ok(());
        }
        let wrong = |source| GitError::Token {
            path: path.clone(),
            source,
        };
        let token = tokio::fs::read_to_string(path).await.map_err(wrong)?;
        let token = token.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let what = "it is no token: one word is expected";
            return Err(wrong(std::io::Error::other(what)));
        }
        let pair = STANDARD.encode(format!("{TOKEN_USER}:{token}"));
        command
            .env("GIT_CONFIG_COUNT", "1")
            .env(
                "GIT_CONFIG_KEY_0",
                format!("http.{}.extraHeader", shown(remote)),
            )
            .env("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {pair}"));
        Ok(())
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
        access.apply(&mut command, remote).await.unwrap();
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
            let mut command = Command::new("git");
            let error = access
                .apply(&mut command, "https://git.example.com/x")
                .await;
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

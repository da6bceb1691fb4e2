//! What a Forge (API version 3) says of modules and releases. Main type: [`Forge`].
//!
//! The rules that must hold: names in addresses are checked words; a release that was looked up once is
//! known for ever, since releases do not change; the token goes to the Forge's own host only.

use std::path::{Path, PathBuf};

use reqwest::Url;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::ArchiveError;
use crate::defaults::FORGE_ANSWER_BYTES;
use crate::http::{Http, HttpError, Wish};
use crate::remote_address::without_credentials;
use code_store::content::{Content, ContentHash};
use code_store::notes::{read_note, write_note};

/// A Forge at an address.
#[derive(Debug, Clone)]
pub struct Forge {
    base: Url,
    token: Option<SecretString>,
    /// Where its releases are noted.
    notes: PathBuf,
}

/// A module's release: `puppetlabs-apache-12.0.1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Slug {
    /// `puppetlabs-apache`.
    pub(crate) module: String,
    pub(crate) version: String,
}

/// What is known of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Release {
    file_uri: String,
    /// Of its archive.
    #[serde(default)]
    pub(crate) file_sha256: Option<String>,
    /// Old releases have nothing else.
    #[serde(default)]
    pub(crate) file_md5: Option<String>,
    /// When its owner took it back.
    #[serde(default)]
    pub(crate) deleted_at: Option<String>,
}

#[derive(Deserialize)]
struct Module {
    current_release: Option<Current>,
}

#[derive(Deserialize)]
struct Current {
    version: String,
}

/// The Forge.
#[derive(Clone, Debug)]
pub struct ForgeSettings {
    /// Its address.
    pub baseurl: String,
    /// The whole header: `Bearer …`.
    pub authorization_token: Option<SecretString>,
    /// `http://proxy:3128`; empty: none; `None`: the one of the [`Settings`].
    pub proxy: Option<String>,
    /// Whether `forge` in a Puppetfile counts.
    pub allow_puppetfile_override: bool,
}

impl Default for ForgeSettings {
    fn default() -> Self {
        Self {
            baseurl: "https://forgeapi.puppet.com".to_owned(),
            authorization_token: None,
            proxy: None,
            allow_puppetfile_override: false,
        }
    }
}

// === impl Forge ===

impl Forge {
    /// `named`: the address that a Puppetfile names, if it may.
    pub(crate) fn new(
        settings: &ForgeSettings,
        named: Option<&str>,
        notes: &Path,
    ) -> Result<Self, ArchiveError> {
        let named = named.filter(|_| settings.allow_puppetfile_override);
        let address = named.unwrap_or(&settings.baseurl);
        // Puppetfiles name hosts.
        let whole = match address.contains("://") {
            true => format!("{}/", address.trim_end_matches('/')),
            false => format!("https://{}/", address.trim_end_matches('/')),
        };
        let base: Url = whole
            .parse()
            .map_err(|_| ArchiveError::Address(without_credentials(address)))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(ArchiveError::Address(without_credentials(address)));
        }
        let digits = ContentHash::of(base.as_str().as_bytes()).to_string();
        // A token of the settings is for the settings' Forge.
        let token = settings.authorization_token.clone();
        Ok(Self {
            token: token.filter(|_| named.is_none()),
            notes: notes.join("releases").join(&digits[..16]),
            base,
        })
    }

    /// The version of a module's newest release.
    pub(crate) async fn latest(&self, http: &Http, module: &str) -> Result<String, ArchiveError> {
        let found: Module = self.ask(http, &format!("v3/modules/{module}")).await?;
        let current = found
            .current_release
            .ok_or_else(|| ArchiveError::NoRelease {
                module: module.to_owned(),
                forge: self.shown(),
            })?;
        match is_word(&current.version) {
            true => Ok(current.version),
            false => Err(ArchiveError::Version(current.version)),
        }
    }

    /// What is known of a release, from here or from the Forge.
    pub(crate) async fn release(
        &self,
        http: &Http,
        content: &Content,
        slug: &Slug,
    ) -> Result<Release, ArchiveError> {
        let note = self.notes.join(slug.to_string());
        let known = read_note(&note).and_then(|text| serde_json::from_str(&text).ok());
        if let Some(release) = known {
            return Ok(release);
        }
        let release: Release = self.ask(http, &format!("v3/releases/{slug}")).await?;
        if let Some(when) = &release.deleted_at {
            tracing::warn!(%slug, when, "its owner took this release back");
        }
        if let Ok(text) = serde_json::to_string(&release) {
            write_note(content, &note, &text);
        }
        Ok(release)
    }

    /// Forgets a release, if what its archive has does not fit any more.
    pub(crate) fn forget(&self, slug: &Slug) {
        // Without it the release is only asked for once more.
        let _ = std::fs::remove_file(self.notes.join(slug.to_string()));
    }

    /// Where the archive of a release is, and the token for it.
    pub(crate) fn archive(
        &self,
        release: &Release,
    ) -> Result<(Url, Option<&SecretString>), ArchiveError> {
        let uri = release.file_uri.as_str();
        let url = match uri.contains("://") {
            true => uri.parse().ok(),
            // Below the Forge's own path, where a proxy of it has one.
            false => self.base.join(uri.trim_start_matches('/')).ok(),
        };
        let url: Url = url.ok_or_else(|| ArchiveError::Address(without_credentials(uri)))?;
        let is_own = url.origin() == self.base.origin();
        Ok((url, self.token.as_ref().filter(|_| is_own)))
    }

    pub(crate) fn shown(&self) -> String {
        without_credentials(self.base.as_str())
    }

    async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        http: &Http,
        path: &str,
    ) -> Result<T, ArchiveError> {
        let url = self.base.join(path);
        let url = url.map_err(|_| ArchiveError::Address(path.to_owned()))?;
        let wish = Wish {
            url: &url,
            token: self.token.as_ref(),
            most_bytes: FORGE_ANSWER_BYTES,
        };
        let mut bytes = Vec::new();
        match http.get(wish, &mut bytes).await {
            Ok(()) => {}
            Err(HttpError::Status { status, .. }) if status.as_u16() == 404 => {
                return Err(ArchiveError::Unknown {
                    what: path.rsplit('/').next().unwrap_or(path).to_owned(),
                    forge: self.shown(),
                });
            }
            Err(error) => return Err(error.into()),
        }
        decode_errors::json::from_slice(&bytes).map_err(|error| ArchiveError::Answer {
            url: without_credentials(url.as_str()),
            why: error.to_string(),
        })
    }
}

/// What may stand in a name of a file and in an address.
fn is_word(text: &str) -> bool {
    let is_sign = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'_');
    (1..=100).contains(&text.len()) && text.bytes().all(is_sign) && !text.starts_with('.')
}

impl std::fmt::Display for Slug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.module, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forge(settings: &ForgeSettings, named: Option<&str>) -> Forge {
        Forge::new(settings, named, Path::new("/notes")).unwrap()
    }

    fn release(uri: &str) -> Release {
        Release {
            file_uri: uri.to_owned(),
            file_sha256: None,
            file_md5: None,
            deleted_at: None,
        }
    }

    #[test]
    fn the_token_stays_with_its_forge() {
        let mut settings = ForgeSettings {
            baseurl: "https://forge.example.com/api/puppet/all".to_owned(),
            authorization_token: Some("Bearer x".into()),
            ..ForgeSettings::default()
        };
        let own = forge(&settings, Some("http://evil.example.com"));
        for (uri, expected, has_token) in [
            (
                "/v3/files/a-b-1.tar.gz",
                "https://forge.example.com/api/puppet/all/v3/files/a-b-1.tar.gz",
                true,
            ),
            (
                "https://forge.example.com/x",
                "https://forge.example.com/x",
                true,
            ),
            (
                "https://cdn.example.com/x",
                "https://cdn.example.com/x",
                false,
            ),
            (
                "http://forge.example.com/x",
                "http://forge.example.com/x",
                false,
            ),
        ] {
            let release = release(uri);
            let (url, token) = own.archive(&release).unwrap();
            assert_eq!((url.as_str(), token.is_some()), (expected, has_token));
        }
        settings.allow_puppetfile_override = true;
        let other = forge(&settings, Some("forge.other.com"));
        let release = release("/x");
        let (url, token) = other.archive(&release).unwrap();
        assert_eq!(
            (url.as_str(), token.is_some()),
            ("https://forge.other.com/x", false)
        );
    }

    #[test]
    fn versions_are_words() {
        for good in ["1.2.3", "0.1.0-rc1", "1.0.0+b"] {
            assert!(is_word(good));
        }
        for bad in ["", "../x", "1/2", "a b", ".1", &"1".repeat(101)] {
            assert!(!is_word(bad), "{bad}");
        }
    }
}

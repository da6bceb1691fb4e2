//! Modules and releases of a Forge (API version 3). Main type: [`ForgeServer`].
//!
//! Invariants: names in URLs are checked; a release that was looked up once is cached forever,
//! since releases do not change; the token is sent to the Forge's own host only.

use std::path::{Path, PathBuf};

use reqwest::Url;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::ArchiveError;
use crate::defaults::FORGE_ANSWER_BYTES;
use crate::http::{HttpClient, HttpError, HttpRequest};
use crate::remote_address::strip_credentials;
use code_store::content::{ContentHash, ContentStore};
use code_store::disk_work::on_disk;
use code_store::notes::{read_note, write_note};

/// A Forge at a base URL.
#[derive(Debug, Clone)]
pub struct ForgeServer {
    base: Url,
    token: Option<SecretString>,
    /// Directory of the cached releases.
    notes: PathBuf,
}

/// A module's release: `puppetlabs-apache-12.0.1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ReleaseSlug {
    /// Owner and name of the module: `puppetlabs-apache`.
    pub(crate) module: String,
    pub(crate) version: String,
}

/// The data of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForgeRelease {
    file_uri: String,
    /// SHA-256 of its archive.
    #[serde(default)]
    pub(crate) file_sha256: Option<String>,
    /// MD5 of its archive; old releases have nothing else.
    #[serde(default)]
    pub(crate) file_md5: Option<String>,
    /// Time at which its owner deleted it; `None` if it is available.
    #[serde(default)]
    pub(crate) deleted_at: Option<String>,
}

#[derive(Deserialize)]
struct ForgeModule {
    current_release: Option<CurrentRelease>,
}

#[derive(Deserialize)]
struct CurrentRelease {
    version: String,
}

/// Settings for the Forge.
#[derive(Clone, Debug)]
pub struct ForgeSettings {
    /// URL of the Forge.
    pub baseurl: String,
    /// The whole authorization header: `Bearer …`.
    pub authorization_token: Option<SecretString>,
    /// Proxy such as `http://proxy:3128`; empty: none; `None`: the one of the general settings.
    pub proxy: Option<String>,
    /// True if `forge` in a Puppetfile overrides the URL.
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

// === impl ForgeServer ===

impl ForgeServer {
    /// Creates a Forge. `named` is the URL from a Puppetfile, if it may override the settings.
    pub(crate) fn new(
        settings: &ForgeSettings,
        named: Option<&str>,
        notes: &Path,
    ) -> Result<Self, ArchiveError> {
        let named = named.filter(|_| settings.allow_puppetfile_override);
        let address = named.unwrap_or(&settings.baseurl);
        // Puppetfiles contain host names.
        let whole = match address.contains("://") {
            true => format!("{}/", address.trim_end_matches('/')),
            false => format!("https://{}/", address.trim_end_matches('/')),
        };
        let base: Url = whole
            .parse()
            .map_err(|_| ArchiveError::Address(strip_credentials(address)))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(ArchiveError::Address(strip_credentials(address)));
        }
        let digits = ContentHash::of(base.as_str().as_bytes()).to_string();
        // A token of the settings is only for the Forge of the settings.
        let token = settings.authorization_token.clone();
        Ok(Self {
            token: token.filter(|_| named.is_none()),
            notes: notes.join("releases").join(&digits[..16]),
            base,
        })
    }

    /// The version of a module's newest release.
    pub(crate) async fn query_latest(
        &self,
        http: &HttpClient,
        module: &str,
    ) -> Result<String, ArchiveError> {
        let found: ForgeModule = self.query(http, &format!("v3/modules/{module}")).await?;
        let current = found
            .current_release
            .ok_or_else(|| ArchiveError::NoRelease {
                module: module.to_owned(),
                forge: self.to_public_url(),
            })?;
        match is_word(&current.version) {
            true => Ok(current.version),
            false => Err(ArchiveError::Version(current.version)),
        }
    }

    /// The data of a release, from the cache or from the Forge.
    pub(crate) async fn query_release(
        &self,
        http: &HttpClient,
        content: &ContentStore,
        slug: &ReleaseSlug,
    ) -> Result<ForgeRelease, ArchiveError> {
        let note = self.notes.join(slug.to_string());
        let known = on_disk(|| read_note(&note)).and_then(|text| serde_json::from_str(&text).ok());
        if let Some(release) = known {
            return Ok(release);
        }
        let release: ForgeRelease = self.query(http, &format!("v3/releases/{slug}")).await?;
        if let Some(when) = &release.deleted_at {
            tracing::warn!(%slug, when, "its owner took this release back");
        }
        if let Ok(text) = serde_json::to_string(&release) {
            on_disk(|| write_note(content, &note, &text));
        }
        Ok(release)
    }

    /// Removes a release from the cache, if its archive does not match it any more.
    pub(crate) fn forget(&self, slug: &ReleaseSlug) {
        // Without the cached data the release is merely requested once more.
        let _ = std::fs::remove_file(self.notes.join(slug.to_string()));
    }

    /// The URL of a release's archive, and the token for it.
    pub(crate) fn download_archive(
        &self,
        release: &ForgeRelease,
    ) -> Result<(Url, Option<&SecretString>), ArchiveError> {
        let uri = release.file_uri.as_str();
        let url = match uri.contains("://") {
            true => uri.parse().ok(),
            // Below the Forge's own path, for a proxy of the Forge that has one.
            false => self.base.join(uri.trim_start_matches('/')).ok(),
        };
        let url: Url = url.ok_or_else(|| ArchiveError::Address(strip_credentials(uri)))?;
        let is_own = url.origin() == self.base.origin();
        Ok((url, self.token.as_ref().filter(|_| is_own)))
    }

    pub(crate) fn to_public_url(&self) -> String {
        strip_credentials(self.base.as_str())
    }

    async fn query<T: serde::de::DeserializeOwned>(
        &self,
        http: &HttpClient,
        path: &str,
    ) -> Result<T, ArchiveError> {
        let url = self.base.join(path);
        let url = url.map_err(|_| ArchiveError::Address(path.to_owned()))?;
        let wish = HttpRequest {
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
                    forge: self.to_public_url(),
                });
            }
            Err(error) => return Err(error.into()),
        }
        decode_errors::json::from_slice(&bytes).map_err(|error| ArchiveError::Answer {
            url: strip_credentials(url.as_str()),
            why: error.to_string(),
        })
    }
}

/// True if a text may be part of a file name and of a URL.
fn is_word(text: &str) -> bool {
    let is_sign = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'_');
    (1..=100).contains(&text.len()) && text.bytes().all(is_sign) && !text.starts_with('.')
}

impl std::fmt::Display for ReleaseSlug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.module, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forge(settings: &ForgeSettings, named: Option<&str>) -> ForgeServer {
        ForgeServer::new(settings, named, Path::new("/notes")).unwrap()
    }

    fn release(uri: &str) -> ForgeRelease {
        ForgeRelease {
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
            let (url, token) = own.download_archive(&release).unwrap();
            assert_eq!((url.as_str(), token.is_some()), (expected, has_token));
        }
        settings.allow_puppetfile_override = true;
        let other = forge(&settings, Some("forge.other.com"));
        let release = release("/x");
        let (url, token) = other.download_archive(&release).unwrap();
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

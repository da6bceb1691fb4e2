//! Modules that come in archives: from a Forge, or from an address. Main type: [`Archives`].
//!
//! The rules that must hold: an archive is what its checksum says, or it is not used; what an archive held
//! is kept under its SHA-256, so nothing is brought twice, and what is pinned and here asks nobody.

mod download;
mod entries;
mod forge;
mod root;
mod unpack;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::Url;
use secrecy::SecretString;

pub(crate) use forge::Slug;
pub use forge::{Forge, ForgeSettings};
pub use unpack::UnpackError;

use crate::defaults::ARCHIVE_BYTES;
use crate::http::{Http, HttpError, Wish};
use crate::manifest_syntax::{Unparsed, verify};
use crate::remote_address::without_credentials;
use code_store::content::{Content, ContentError, ContentHash, Manifest};
use code_store::notes::{read_note, write_note};
use code_store::tree_notes::{ArchiveForm, archive_note_name, archives_directory, note_name};
use download::{Checksum, Download, copy, local};

/// Archives and the trees that came out of them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Archives {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    content: Content,
    /// Notes: which trees archives held, and what is known of releases.
    directory: PathBuf,
    forge: Http,
    other: Http,
}

/// An archive's tree.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) manifest: Manifest,
    /// What of the archive is not in it; empty if it was here before.
    pub(crate) skipped: Vec<String>,
}

/// Why a module cannot be had from an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The way to it.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// An address that is none.
    #[error("{0:?} is no address of a Forge or an archive: http, https or file")]
    Address(String),
    /// A file of this machine.
    #[error("cannot read {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not there.
    #[error("{forge} has no {what}")]
    Unknown {
        /// The module, or the release.
        what: String,
        /// The Forge.
        forge: String,
    },
    /// A module without releases.
    #[error("{forge} has no release of {module}")]
    NoRelease {
        /// Which.
        module: String,
        /// The Forge.
        forge: String,
    },
    /// A version that is none.
    #[error("the Forge names {0:?} as a version")]
    Version(String),
    /// It makes no sense.
    #[error("{url} answers what a Forge does not: {why}")]
    Answer {
        /// Where.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// Nothing says what the archive should be.
    #[error("the Forge gives no checksum of {0}")]
    NoChecksum(String),
    /// It is not what it should be.
    #[error("{what} has the checksum {found}, not {wanted}")]
    Checksum {
        /// The archive.
        what: String,
        /// What it has.
        found: String,
        /// What it should have.
        wanted: String,
    },
    /// What is in it.
    #[error("{what}: {error}")]
    Unpack {
        /// The archive.
        what: String,
        /// Why.
        error: UnpackError,
    },
    /// Puppet would not read it.
    #[error("manifests that do not parse: {0}")]
    Unparsed(Unparsed),
    /// The store.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// A bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Broken,
}

// === impl Archives ===

impl Archives {
    /// Archives below the directory of deployments `store`. The Forge is reached through its own proxy, or else
    /// through `proxy`.
    pub fn new(store: &Path, forge: &ForgeSettings, proxy: Option<&str>, content: Content) -> Self {
        let proxy = proxy.map(str::to_owned);
        let forge = forge.proxy.clone().or_else(|| proxy.clone());
        Self {
            shared: Arc::new(Shared {
                content,
                directory: archives_directory(store),
                forge: Http::new(forge),
                other: Http::new(proxy),
            }),
        }
    }

    /// The Forge of the settings, or the one that a Puppetfile names.
    pub(crate) fn forge(
        &self,
        settings: &ForgeSettings,
        named: Option<&str>,
    ) -> Result<Forge, ArchiveError> {
        Forge::new(settings, named, &self.shared.directory)
    }

    /// The version of a module's newest release.
    pub(crate) async fn latest(&self, forge: &Forge, module: &str) -> Result<String, ArchiveError> {
        forge.latest(&self.shared.forge, module).await
    }

    /// The SHA-256 of a release's archive. Where the Forge has only an MD5, the archive is brought for it.
    pub(crate) async fn release(&self, forge: &Forge, slug: &Slug) -> Result<String, ArchiveError> {
        let release = forge
            .release(&self.shared.forge, &self.shared.content, slug)
            .await?;
        if let Some(sha256) = release.file_sha256.filter(|it| !it.is_empty()) {
            return Ok(sha256.to_ascii_lowercase());
        }
        let note = self.note("md5", &slug.to_string(), &release.file_md5);
        if let Some(sha256) = read_note(&note) {
            return Ok(sha256);
        }
        let (sha256, _) = self.bring_release(forge, slug).await?;
        write_note(&self.shared.content, &note, &sha256);
        Ok(sha256)
    }

    /// The tree of a release.
    pub(crate) async fn release_tree(
        &self,
        forge: &Forge,
        slug: &Slug,
        sha256: &str,
    ) -> Result<Taken, ArchiveError> {
        if let Some(taken) = self.here(sha256, ArchiveForm::Release).await? {
            return Ok(taken);
        }
        let (found, taken) = self.bring_release(forge, slug).await?;
        match found == sha256 {
            true => Ok(taken),
            false => Err(ArchiveError::Checksum {
                what: slug.to_string(),
                found,
                wanted: sha256.to_owned(),
            }),
        }
    }

    /// The SHA-256 that an archive at an address once had.
    pub(crate) async fn archive(&self, location: &str) -> Result<String, ArchiveError> {
        let note = self.note("locations", location, &None);
        if let Some(sha256) = read_note(&note) {
            return Ok(sha256);
        }
        let (sha256, _) = self.bring(location, &Checksum::None).await?;
        write_note(&self.shared.content, &note, &sha256);
        Ok(sha256)
    }

    /// The tree of an archive at an address.
    pub(crate) async fn archive_tree(
        &self,
        location: &str,
        sha256: &str,
    ) -> Result<Taken, ArchiveError> {
        if let Some(taken) = self.here(sha256, ArchiveForm::Any).await? {
            return Ok(taken);
        }
        let wanted = Checksum::Sha256(sha256.to_owned());
        Ok(self.bring(location, &wanted).await?.1)
    }

    async fn here(&self, sha256: &str, form: ArchiveForm) -> Result<Option<Taken>, ArchiveError> {
        let (content, note) = (self.shared.content.clone(), self.tree_note(sha256, form));
        let look = move || {
            let known = read_note(&note).and_then(|text| text.parse::<ContentHash>().ok());
            let Some(id) = known else {
                return Ok(None);
            };
            let manifest = content.tree(id)?.filter(|it| content.is_whole(it));
            Ok(manifest.map(|manifest| Taken {
                manifest,
                skipped: Vec::new(),
            }))
        };
        blocking(look).await
    }

    async fn bring_release(
        &self,
        forge: &Forge,
        slug: &Slug,
    ) -> Result<(String, Taken), ArchiveError> {
        let release = forge
            .release(&self.shared.forge, &self.shared.content, slug)
            .await?;
        let (url, token) = forge.archive(&release)?;
        let sha256 = release.file_sha256.clone().filter(|it| !it.is_empty());
        let md5 = release.file_md5.clone().filter(|it| !it.is_empty());
        let wanted = match (sha256, md5) {
            (Some(sha256), _) => Checksum::Sha256(sha256.to_ascii_lowercase()),
            (None, Some(md5)) => Checksum::Md5(md5.to_ascii_lowercase()),
            (None, None) => {
                forge.forget(slug);
                return Err(ArchiveError::NoChecksum(slug.to_string()));
            }
        };
        let brought = self.download(&self.shared.forge, &url, token).await?;
        let what = slug.to_string();
        let taken = self
            .take(brought, &wanted, what, ArchiveForm::Release)
            .await;
        if matches!(taken, Err(ArchiveError::Checksum { .. })) {
            // The Forge may say something else by now.
            forge.forget(slug);
        }
        taken
    }

    async fn bring(
        &self,
        location: &str,
        wanted: &Checksum,
    ) -> Result<(String, Taken), ArchiveError> {
        let what = without_credentials(location);
        let address = || ArchiveError::Address(what.clone());
        let brought = if let Some(path) = local(location) {
            let staged = Download::staged(&self.shared.content)?;
            blocking(move || copy(&path, staged)).await?
        } else {
            let url: Url = location.parse().map_err(|_| address())?;
            if !matches!(url.scheme(), "http" | "https") {
                return Err(address());
            }
            self.download(&self.shared.other, &url, None).await?
        };
        self.take(brought, wanted, what, ArchiveForm::Any).await
    }

    async fn download(
        &self,
        http: &Http,
        url: &Url,
        token: Option<&SecretString>,
    ) -> Result<Download, ArchiveError> {
        let mut staged = Download::staged(&self.shared.content)?;
        let wish = Wish {
            url,
            token,
            most_bytes: ARCHIVE_BYTES,
        };
        http.get(wish, &mut staged).await?;
        Ok(staged)
    }

    /// Checks an archive, takes what it holds in, and looks at it.
    async fn take(
        &self,
        brought: Download,
        wanted: &Checksum,
        what: String,
        form: ArchiveForm,
    ) -> Result<(String, Taken), ArchiveError> {
        let (file, sha256) = brought.checked(wanted, &what)?;
        let note = self.tree_note(&sha256, form);
        let content = self.shared.content.clone();
        let take = move || {
            let unpacked = unpack::unpack(file.path(), form, &content);
            let unpacked = unpacked.map_err(|error| ArchiveError::Unpack { what, error })?;
            if let Some(unparsed) = verify(&content, &unpacked.manifest)? {
                return Err(ArchiveError::Unparsed(unparsed));
            }
            write_note(&content, &note, &unpacked.id.to_string());
            Ok(Taken {
                manifest: unpacked.manifest,
                skipped: unpacked.skipped,
            })
        };
        Ok((sha256, blocking(take).await?))
    }

    fn tree_note(&self, sha256: &str, form: ArchiveForm) -> PathBuf {
        let directory = self.shared.directory.join("trees");
        directory.join(archive_note_name(sha256, form))
    }

    fn note(&self, kind: &str, of: &str, and: &Option<String>) -> PathBuf {
        let name = note_name(of, and.as_deref().unwrap_or_default());
        self.shared.directory.join(kind).join(name)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, ArchiveError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(ArchiveError::Broken))
}

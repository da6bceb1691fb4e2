//! Modules in archives, from a Forge or from a URL. Main type: [`ArchiveStore`].
//!
//! Invariants: an archive is used only if it matches its checksum; the content of an archive is
//! stored by its SHA-256, so nothing is downloaded twice, and a pinned module that is stored needs
//! no request.

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

pub(crate) use forge::ReleaseSlug;
pub use forge::{ForgeServer, ForgeSettings};
pub use unpack::UnpackError;

use crate::defaults::ARCHIVE_BYTES;
use crate::http::{HttpClient, HttpError, HttpRequest};
use crate::manifest_syntax::{ManifestSyntaxErrors, verify};
use crate::remote_address::strip_credentials;
use code_store::content::{ContentError, ContentHash, ContentStore, TreeManifest};
use code_store::disk_work::on_disk;
use code_store::notes::{read_note, write_note};
use code_store::tree_notes::{ArchiveForm, archive_note_name, archives_directory, note_name};
use download::{DownloadedArchive, ExpectedChecksum, copy, to_local_path};

/// Archives and the trees unpacked from them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ArchiveStore {
    shared: Arc<ArchivesShared>,
}

#[derive(Debug)]
struct ArchivesShared {
    content: ContentStore,
    /// Directory of notes: the trees of archives, and the data of releases.
    directory: PathBuf,
    forge: HttpClient,
    other: HttpClient,
}

/// The tree of an archive.
#[derive(Clone, Debug)]
pub(crate) struct ArchiveTree {
    pub(crate) manifest: TreeManifest,
    /// The entries of the archive that the tree omits; empty if the tree was stored before.
    pub(crate) skipped: Vec<String>,
}

/// The error of getting a module from an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A request failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The text is not a valid URL.
    #[error("{0:?} is no address of a Forge or an archive: http, https or file")]
    Address(String),
    /// A local file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The error of the read.
        source: io::Error,
    },
    /// The Forge does not have the module or release.
    #[error("{forge} has no {what}")]
    Unknown {
        /// Name of the module or of the release.
        what: String,
        /// URL of the Forge.
        forge: String,
    },
    /// The module has no releases.
    #[error("{forge} has no release of {module}")]
    NoRelease {
        /// Name of the module.
        module: String,
        /// URL of the Forge.
        forge: String,
    },
    /// The version is invalid.
    #[error("the Forge names {0:?} as a version")]
    Version(String),
    /// An answer of the Forge is invalid.
    #[error("{url} answers what a Forge does not: {why}")]
    Answer {
        /// URL of the request.
        url: String,
        /// Description of the error.
        why: String,
    },
    /// There is no checksum for the archive.
    #[error("the Forge gives no checksum of {0}")]
    NoChecksum(String),
    /// The archive does not match its checksum.
    #[error("{what} has the checksum {found}, not {wanted}")]
    Checksum {
        /// Name of the archive.
        what: String,
        /// The actual checksum.
        found: String,
        /// The expected checksum.
        wanted: String,
    },
    /// The archive cannot be unpacked.
    #[error("{what}: {error}")]
    Unpack {
        /// Name of the archive.
        what: String,
        /// The error of unpacking.
        error: UnpackError,
    },
    /// Puppet's parser would refuse a manifest.
    #[error("manifests that do not parse: {0}")]
    Unparsed(ManifestSyntaxErrors),
    /// The code store failed.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// An internal error, which is a bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Internal,
}

// === impl ArchiveStore ===

impl ArchiveStore {
    /// Archives below the directory of deployments `store`. The Forge is reached through its own
    /// proxy, or else through `proxy`.
    pub fn new(
        store: &Path,
        forge: &ForgeSettings,
        proxy: Option<&str>,
        content: ContentStore,
    ) -> Self {
        let proxy = proxy.map(str::to_owned);
        let forge = forge.proxy.clone().or_else(|| proxy.clone());
        Self {
            shared: Arc::new(ArchivesShared {
                content,
                directory: archives_directory(store),
                forge: HttpClient::new(forge),
                other: HttpClient::new(proxy),
            }),
        }
    }

    /// The Forge of the settings, or the one that a Puppetfile names.
    pub(crate) fn forge_server(
        &self,
        settings: &ForgeSettings,
        named: Option<&str>,
    ) -> Result<ForgeServer, ArchiveError> {
        ForgeServer::new(settings, named, &self.shared.directory)
    }

    /// The version of a module's newest release.
    pub(crate) async fn query_latest(
        &self,
        forge: &ForgeServer,
        module: &str,
    ) -> Result<String, ArchiveError> {
        forge.query_latest(&self.shared.forge, module).await
    }

    /// The SHA-256 of a release's archive. If the Forge has only an MD5, the archive is downloaded
    /// to compute it.
    pub(crate) async fn release_checksum(
        &self,
        forge: &ForgeServer,
        slug: &ReleaseSlug,
    ) -> Result<String, ArchiveError> {
        let release = forge
            .query_release(&self.shared.forge, &self.shared.content, slug)
            .await?;
        if let Some(sha256) = release.file_sha256.filter(|it| !it.is_empty()) {
            return Ok(sha256.to_ascii_lowercase());
        }
        let note = self.note("md5", &slug.to_string(), &release.file_md5);
        if let Some(sha256) = on_disk(|| read_note(&note)) {
            return Ok(sha256);
        }
        let (sha256, _) = self.download_release(forge, slug).await?;
        on_disk(|| write_note(&self.shared.content, &note, &sha256));
        Ok(sha256)
    }

    /// The tree of a release.
    pub(crate) async fn release_tree(
        &self,
        forge: &ForgeServer,
        slug: &ReleaseSlug,
        sha256: &str,
    ) -> Result<ArchiveTree, ArchiveError> {
        if let Some(taken) = self.find_stored_tree(sha256, ArchiveForm::Release).await? {
            return Ok(taken);
        }
        let (found, taken) = self.download_release(forge, slug).await?;
        match found == sha256 {
            true => Ok(taken),
            false => Err(ArchiveError::Checksum {
                what: slug.to_string(),
                found,
                wanted: sha256.to_owned(),
            }),
        }
    }

    /// The SHA-256 of the archive that was first downloaded from a URL.
    pub(crate) async fn archive_checksum(&self, location: &str) -> Result<String, ArchiveError> {
        let note = self.note("locations", location, &None);
        if let Some(sha256) = on_disk(|| read_note(&note)) {
            return Ok(sha256);
        }
        let (sha256, _) = self
            .download_and_unpack(location, &ExpectedChecksum::None)
            .await?;
        on_disk(|| write_note(&self.shared.content, &note, &sha256));
        Ok(sha256)
    }

    /// The tree of an archive at a URL.
    pub(crate) async fn archive_tree(
        &self,
        location: &str,
        sha256: &str,
    ) -> Result<ArchiveTree, ArchiveError> {
        if let Some(taken) = self.find_stored_tree(sha256, ArchiveForm::Any).await? {
            return Ok(taken);
        }
        let wanted = ExpectedChecksum::Sha256(sha256.to_owned());
        Ok(self.download_and_unpack(location, &wanted).await?.1)
    }

    async fn find_stored_tree(
        &self,
        sha256: &str,
        form: ArchiveForm,
    ) -> Result<Option<ArchiveTree>, ArchiveError> {
        let (content, note) = (self.shared.content.clone(), self.tree_note(sha256, form));
        let look = move || {
            let known = read_note(&note).and_then(|text| text.parse::<ContentHash>().ok());
            let Some(id) = known else {
                return Ok(None);
            };
            let manifest = content
                .read_tree(id)?
                .filter(|it| content.has_all_contents(it));
            Ok(manifest.map(|manifest| ArchiveTree {
                manifest,
                skipped: Vec::new(),
            }))
        };
        run_blocking(look).await
    }

    async fn download_release(
        &self,
        forge: &ForgeServer,
        slug: &ReleaseSlug,
    ) -> Result<(String, ArchiveTree), ArchiveError> {
        let release = forge
            .query_release(&self.shared.forge, &self.shared.content, slug)
            .await?;
        let (url, token) = forge.download_archive(&release)?;
        let sha256 = release.file_sha256.clone().filter(|it| !it.is_empty());
        let md5 = release.file_md5.clone().filter(|it| !it.is_empty());
        let wanted = match (sha256, md5) {
            (Some(sha256), _) => ExpectedChecksum::Sha256(sha256.to_ascii_lowercase()),
            (None, Some(md5)) => ExpectedChecksum::Md5(md5.to_ascii_lowercase()),
            (None, None) => {
                on_disk(|| forge.forget(slug));
                return Err(ArchiveError::NoChecksum(slug.to_string()));
            }
        };
        let brought = self.download(&self.shared.forge, &url, token).await?;
        let what = slug.to_string();
        let taken = self
            .unpack_tree(brought, &wanted, what, ArchiveForm::Release)
            .await;
        if matches!(taken, Err(ArchiveError::Checksum { .. })) {
            // The Forge may have other data by now.
            on_disk(|| forge.forget(slug));
        }
        taken
    }

    async fn download_and_unpack(
        &self,
        location: &str,
        wanted: &ExpectedChecksum,
    ) -> Result<(String, ArchiveTree), ArchiveError> {
        let what = strip_credentials(location);
        let address = || ArchiveError::Address(what.clone());
        let brought = if let Some(path) = to_local_path(location) {
            let staged = on_disk(|| DownloadedArchive::create_staged(&self.shared.content))?;
            run_blocking(move || copy(&path, staged)).await?
        } else {
            let url: Url = location.parse().map_err(|_| address())?;
            if !matches!(url.scheme(), "http" | "https") {
                return Err(address());
            }
            self.download(&self.shared.other, &url, None).await?
        };
        self.unpack_tree(brought, wanted, what, ArchiveForm::Any)
            .await
    }

    async fn download(
        &self,
        http: &HttpClient,
        url: &Url,
        token: Option<&SecretString>,
    ) -> Result<DownloadedArchive, ArchiveError> {
        let mut staged = on_disk(|| DownloadedArchive::create_staged(&self.shared.content))?;
        let wish = HttpRequest {
            url,
            token,
            most_bytes: ARCHIVE_BYTES,
        };
        http.get(wish, &mut staged).await?;
        Ok(staged)
    }

    /// Verifies an archive, stores its content, and checks its manifests.
    async fn unpack_tree(
        &self,
        brought: DownloadedArchive,
        wanted: &ExpectedChecksum,
        what: String,
        form: ArchiveForm,
    ) -> Result<(String, ArchiveTree), ArchiveError> {
        let (file, sha256) = brought.verify_checksum(wanted, &what)?;
        let note = self.tree_note(&sha256, form);
        let content = self.shared.content.clone();
        let take = move || {
            let unpacked = unpack::unpack(file.path(), form, &content);
            let unpacked = unpacked.map_err(|error| ArchiveError::Unpack { what, error })?;
            if let Some(unparsed) = verify(&content, &unpacked.manifest)? {
                return Err(ArchiveError::Unparsed(unparsed));
            }
            write_note(&content, &note, &unpacked.id.to_string());
            Ok(ArchiveTree {
                manifest: unpacked.manifest,
                skipped: unpacked.skipped,
            })
        };
        Ok((sha256, run_blocking(take).await?))
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

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, ArchiveError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(ArchiveError::Internal))
}

//! `r10k.yaml` as a file that may be edited at any time: [`R10kFile`].
//!
//! Invariant: the text is the content of the file at one moment. A file that is being written is
//! read again, since a part of it may be valid, too, but with fewer sources.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{DeploymentSettings, R10kError, R10kSettings};
use crate::defaults::{R10K_ATTEMPTS, R10K_BYTES, R10K_SETTLES};
use code_sources::git::GitProgram;
use code_store::content::ContentHash;

/// The path of r10k's settings, and the settings that only this server has.
#[derive(Clone, Debug)]
pub struct R10kFile {
    path: PathBuf,
    base_settings: DeploymentSettings,
}

/// The text of the file at one moment.
#[derive(Debug)]
pub struct R10kText {
    text: String,
    /// SHA-256 of the text.
    pub hash: ContentHash,
}

/// The error for settings of r10k that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum R10kFileError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The error of the read.
        source: io::Error,
    },
    /// The file exceeds [`R10K_BYTES`].
    #[error("{} has more than {R10K_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    /// The file is being written.
    #[error("{} changes while it is read; try again when it is completely written", .0.display())]
    Changing(PathBuf),
    /// The file is invalid.
    #[error("{}: {error}", path.display())]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// Line and description of the error.
        error: R10kError,
    },
    /// The file is for a different directory of environments.
    #[error(
        "{}: the basedir of the sources is {}, and the environments of this server are in {}: change the one, or \
         code.codedir, and then restart the server",
        path.display(), named.display(), own.display()
    )]
    Basedir {
        /// Path of the file.
        path: PathBuf,
        /// The directory in the file.
        named: PathBuf,
        /// The directory of the server.
        own: PathBuf,
    },
}

// === impl R10kFile ===

impl R10kFile {
    /// Creates the reader of a file. `own` has the directories, and all other settings that r10k's
    /// file does not contain.
    pub fn new(path: impl Into<PathBuf>, own: DeploymentSettings) -> Self {
        Self {
            path: path.into(),
            base_settings: own,
        }
    }

    /// The settings of the file, after a short wait if it is being written. Ignored keys are
    /// logged.
    pub async fn read_settled(&self) -> Result<(DeploymentSettings, GitProgram), R10kFileError> {
        for _ in 1..R10K_ATTEMPTS {
            match self.read_text() {
                Err(R10kFileError::Changing(_)) => tokio::time::sleep(R10K_SETTLES).await,
                text => return self.parse(&text?),
            }
        }
        self.parse(&self.read_text()?)
    }

    /// The current text of the file; [`R10kFileError::Changing`] if it was written very recently.
    pub fn read_text(&self) -> Result<R10kText, R10kFileError> {
        let path = &self.path;
        let failed = |source| R10kFileError::Read {
            path: path.clone(),
            source,
        };
        let mut file = File::open(path).map_err(failed)?;
        let before = read_stamp(&file).map_err(failed)?;
        let mut text = String::new();
        let most = R10K_BYTES + 1;
        let read = (&mut file).take(most).read_to_string(&mut text);
        if read.map_err(failed)? as u64 == most {
            return Err(R10kFileError::TooLarge(path.clone()));
        }
        // Another file may have the path by now, which is then the one to use.
        let after = File::open(path).and_then(|file| read_stamp(&file));
        let (now, after) = (SystemTime::now(), after.map_err(failed)?);
        let is_fresh = |written: SystemTime| {
            let age = now.duration_since(written).ok();
            age.is_some_and(|age| age < R10K_SETTLES)
        };
        if before != after || is_fresh(after.written) {
            return Err(R10kFileError::Changing(path.clone()));
        }
        Ok(R10kText {
            hash: ContentHash::of(text.as_bytes()),
            text,
        })
    }

    pub fn parse(
        &self,
        text: &R10kText,
    ) -> Result<(DeploymentSettings, GitProgram), R10kFileError> {
        let path = self.path.clone();
        let r10k = match R10kSettings::parse(&text.text) {
            Ok(r10k) => r10k,
            Err(error) => return Err(R10kFileError::Invalid { path, error }),
        };
        for key in &r10k.ignored {
            tracing::warn!(path = %path.display(), key, "this key is not used");
        }
        let own = &self.base_settings;
        let read = r10k.settings(&own.directory);
        if !is_same_directory(&read.environments, &own.environments) {
            return Err(R10kFileError::Basedir {
                path,
                named: read.environments,
                own: own.environments.clone(),
            });
        }
        let settings = DeploymentSettings {
            environments: own.environments.clone(),
            staging: own.staging.clone(),
            keep: own.keep,
            ..read
        };
        Ok((settings, r10k.git))
    }
}

/// The metadata by which a change of the file is detected.
#[derive(Debug, PartialEq, Eq)]
struct SettingsFileStamp {
    inode: (u64, u64),
    size_bytes: u64,
    written: SystemTime,
}

fn read_stamp(file: &File) -> io::Result<SettingsFileStamp> {
    let metadata = file.metadata()?;
    Ok(SettingsFileStamp {
        inode: (metadata.dev(), metadata.ino()),
        size_bytes: metadata.len(),
        written: metadata.modified()?,
    })
}

/// True if two paths lead to the same directory, which need not exist yet.
fn is_same_directory(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    match (real(one), real(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const TEXT: &str = "sources:\n  a: {remote: u, basedir: BASE}\n";

    fn file(directory: &Path) -> R10kFile {
        let own =
            DeploymentSettings::new(directory.join("deploys"), directory.join("environments"));
        R10kFile::new(directory.join("r10k.yaml"), own)
    }

    fn read(file: &R10kFile) -> Result<(DeploymentSettings, GitProgram), R10kFileError> {
        file.parse(&file.read_text()?)
    }

    /// Writes a file with an older modification time.
    fn write(directory: &Path, text: &str) {
        let path = directory.join("r10k.yaml");
        let base = directory.join("environments").display().to_string();
        std::fs::write(&path, text.replace("BASE", &base)).unwrap();
        let written = SystemTime::now() - Duration::from_secs(60);
        File::open(path).unwrap().set_modified(written).unwrap();
    }

    #[test]
    fn a_relative_path_is_the_same_as_its_absolute_one() {
        let here = std::env::current_dir().unwrap();
        assert!(is_same_directory(Path::new("."), &here));
        assert!(is_same_directory(
            Path::new("nowhere/yet"),
            &here.join("nowhere/yet")
        ));
        assert!(!is_same_directory(Path::new("src"), &here));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let (root, file) = (directory.path(), file(directory.path()));
        let said = |file: &R10kFile| read(file).unwrap_err().to_string();
        assert!(said(&file).starts_with("cannot read "));
        write(root, TEXT);
        assert_eq!(read(&file).unwrap().0.sources.len(), 1);
        write(root, "sources:\n  a: {remote: u, base: /x}\n");
        assert!(
            said(&file).contains("r10k.yaml: line 2: "),
            "{}",
            said(&file)
        );
        write(root, "sources:\n  a: {remote: u, basedir: /elsewhere}\n");
        assert!(said(&file).contains("/elsewhere") && said(&file).contains("restart"));
        write(root, &"#".repeat(2 << 20));
        assert!(matches!(read(&file), Err(R10kFileError::TooLarge(_))));
        std::fs::write(root.join("r10k.yaml"), b"\xff\xfe").unwrap();
        assert!(matches!(read(&file), Err(R10kFileError::Read { .. })));
    }

    #[test]
    fn a_file_that_is_just_written_is_not_believed() {
        let directory = tempfile::tempdir().unwrap();
        let file = file(directory.path());
        write(directory.path(), TEXT);
        File::open(directory.path().join("r10k.yaml"))
            .unwrap()
            .set_modified(SystemTime::now())
            .unwrap();
        assert!(matches!(read(&file), Err(R10kFileError::Changing(_))));
    }
}

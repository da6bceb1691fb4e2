//! Code ids and files by code id, for a puppetserver. Main type: [`VersionCodeId`].
//!
//! Invariant: the content returned for an id is that of its version, or none.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use environments::EnvironmentName;

use crate::version::{VersionSignature, VersionStore};

/// `urn:puppet:code-id:1:<signature>;<environment>`, in the form of Puppet Enterprise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionCodeId {
    /// Environment of the version.
    pub environment: EnvironmentName,
    /// Signature of the version.
    pub signature: VersionSignature,
}

/// The text is not a code id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a code id is like {CODE_ID_PREFIX}<40 hexadecimal digits>;<environment>")]
pub struct VersionCodeIdError;

/// Reason that a puppetserver gets no code id or content.
#[derive(Debug, thiserror::Error)]
pub enum VersionedCodeError {
    /// The environment has no version, so its catalogs would have files that could not be served
    /// later.
    #[error(
        "the environment {environment} has no version: {link} does not lead to one; deploy it with `tutti \
         code deploy {environment}`"
    )]
    NoVersion {
        /// Name of the environment.
        environment: EnvironmentName,
        /// Path at which the link is expected.
        link: PathBuf,
    },
    /// The id belongs to another environment.
    #[error("{id} is of another environment than {environment}")]
    Other {
        /// Environment that was requested.
        environment: EnvironmentName,
        /// The code id, which names another environment.
        id: VersionCodeId,
    },
    /// The version was removed.
    #[error(
        "the version {id} is not on this server any more; agents with a catalog of it need a new one"
    )]
    NotOnDisk {
        /// Code id of the version.
        id: VersionCodeId,
    },
    /// Nodes may not read this path.
    #[error(
        "{0:?} is no file of a module that nodes may have: <modules>/<module>/files, tasks, scripts or \
         lib, and no . or .. below"
    )]
    NotForNodes(String),
    /// The path leads out of the version, or is not a file.
    #[error("{path} of the version {id} is no file, or a link out of it")]
    NoFile {
        /// Code id of the version.
        id: VersionCodeId,
        /// Path in the environment.
        path: String,
    },
    /// The file cannot be read.
    #[error("cannot read {path} of the version {id}")]
    Read {
        /// Code id of the version.
        id: VersionCodeId,
        /// Path in the environment.
        path: String,
        /// The underlying I/O error.
        source: io::Error,
    },
}

const CODE_ID_PREFIX: &str = "urn:puppet:code-id:1:";

/// The directories of a module whose files nodes may read.
const DIRECTORIES: [&str; 4] = ["files", "tasks", "scripts", "lib"];

impl FromStr for VersionCodeId {
    type Err = VersionCodeIdError;

    fn from_str(text: &str) -> Result<Self, VersionCodeIdError> {
        let rest = text
            .strip_prefix(CODE_ID_PREFIX)
            .ok_or(VersionCodeIdError)?;
        let (signature, environment) = rest.split_once(';').ok_or(VersionCodeIdError)?;
        Ok(Self {
            environment: environment.parse().map_err(|_| VersionCodeIdError)?,
            signature: signature.parse().map_err(|_| VersionCodeIdError)?,
        })
    }
}

impl fmt::Display for VersionCodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CODE_ID_PREFIX}{};{}", self.signature, self.environment)
    }
}

/// Returns the code id of the live version.
pub fn live_code_id(
    versions: &VersionStore,
    environment: &EnvironmentName,
) -> Result<VersionCodeId, VersionedCodeError> {
    match versions.live_version(environment) {
        Some(signature) => Ok(VersionCodeId {
            environment: environment.clone(),
            signature,
        }),
        None => Err(VersionedCodeError::NoVersion {
            environment: environment.clone(),
            link: versions.link(environment),
        }),
    }
}

/// Opens a file of a version, by its path in the environment.
pub fn open_version_file(
    versions: &VersionStore,
    environment: &EnvironmentName,
    id: &VersionCodeId,
    path: &str,
) -> Result<File, VersionedCodeError> {
    if id.environment != *environment {
        return Err(VersionedCodeError::Other {
            environment: environment.clone(),
            id: id.clone(),
        });
    }
    if !is_readable_by_nodes(path) {
        return Err(VersionedCodeError::NotForNodes(path.to_owned()));
    }
    let root = versions.path(&id.environment, &id.signature);
    if !root.is_dir() {
        return Err(VersionedCodeError::NotOnDisk { id: id.clone() });
    }
    match open_inside(&root, path) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(VersionedCodeError::NoFile {
            id: id.clone(),
            path: path.to_owned(),
        }),
        Err(source) => Err(VersionedCodeError::Read {
            id: id.clone(),
            path: path.to_owned(),
            source,
        }),
    }
}

/// Opens a file inside `root`; `None` if the path leads out of it or is not a file. Versions never
/// change, so a checked path stays valid.
fn open_inside(root: &Path, path: &str) -> io::Result<Option<File>> {
    let real = root.join(path).canonicalize()?;
    if !real.starts_with(root.canonicalize()?) || !real.is_file() {
        return Ok(None);
    }
    File::open(real).map(Some)
}

fn is_readable_by_nodes(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let is_name = |part: &&str| !matches!(*part, "" | "." | "..") && !part.contains('\0');
    match parts.as_slice() {
        [_, _, directory, _, ..] => DIRECTORIES.contains(directory) && parts.iter().all(is_name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    const OLD: &str = "1111111111111111111111111111111111111111";
    const NEW: &str = "2222222222222222222222222222222222222222";

    /// Two versions of `production`, the second of them live, and a plain directory.
    fn versions(root: &Path) -> VersionStore {
        for signature in [OLD, NEW] {
            let version = root.join(format!("code/versions/production_{signature}"));
            let files = version.join("modules/web/files");
            std::fs::create_dir_all(files.join("deep")).unwrap();
            std::fs::write(files.join("deep/motd"), signature).unwrap();
            std::fs::write(version.join("hiera.yaml"), "secret").unwrap();
            let link = |target: &str, name: &str| {
                std::os::unix::fs::symlink(target, files.join(name)).unwrap();
            };
            link("deep/motd", "within");
            link("../../../../../../secret", "out");
            link("/etc/passwd", "absolute");
        }
        std::fs::write(root.join("secret"), "secret").unwrap();
        let environments = root.join("environments");
        std::fs::create_dir_all(environments.join("plain")).unwrap();
        let live = root.canonicalize().unwrap();
        let live = live.join(format!("code/versions/production_{NEW}"));
        std::os::unix::fs::symlink(live, environments.join("production")).unwrap();
        VersionStore::open_read_only(&root.join("code"), &environments)
    }

    fn asked(versions: &VersionStore, environment: &str, id: &str, path: &str) -> String {
        let id: VersionCodeId = id.parse().unwrap();
        match open_version_file(versions, &environment.parse().unwrap(), &id, path) {
            Ok(mut file) => {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                text
            }
            Err(error) => format!("no: {error}"),
        }
    }

    #[test]
    fn an_id_names_what_is_live_and_a_plain_directory_has_none() {
        let root = tempfile::tempdir().unwrap();
        let versions = versions(root.path());
        let live = live_code_id(&versions, &"production".parse().unwrap()).unwrap();
        assert_eq!(
            live.to_string(),
            format!("urn:puppet:code-id:1:{NEW};production")
        );
        assert_eq!(live.to_string().parse(), Ok(live));
        for other in ["plain", "absent"] {
            let error = live_code_id(&versions, &other.parse().unwrap()).unwrap_err();
            assert!(error.to_string().contains("tutti code deploy"), "{error}");
        }
    }

    #[test]
    fn old_versions_answer_as_long_as_they_are_there() {
        let root = tempfile::tempdir().unwrap();
        let versions = versions(root.path());
        let of = |signature: &str| format!("{CODE_ID_PREFIX}{signature};production");
        for signature in [OLD, NEW] {
            for path in ["modules/web/files/deep/motd", "modules/web/files/within"] {
                assert_eq!(
                    asked(&versions, "production", &of(signature), path),
                    signature
                );
            }
        }
        let gone = of("3333333333333333333333333333333333333333");
        let said = asked(
            &versions,
            "production",
            &gone,
            "modules/web/files/deep/motd",
        );
        assert!(said.contains("not on this server any more"), "{said}");
        let said = asked(&versions, "plain", &of(NEW), "modules/web/files/deep/motd");
        assert!(said.contains("another environment"), "{said}");
    }

    #[test]
    fn only_files_of_modules_that_nodes_may_have_are_given() {
        let root = tempfile::tempdir().unwrap();
        let versions = versions(root.path());
        let id = format!("{CODE_ID_PREFIX}{NEW};production");
        for path in [
            "",
            "/",
            "hiera.yaml",
            "modules/web/files",
            "modules/web/files/",
            "modules/web/manifests/init.pp",
            "modules/web/files/../../../hiera.yaml",
            "modules/web/files/./deep/motd",
            "modules/web/files//deep/motd",
            "../production/modules/files/deep/motd",
            "/etc/x/files/passwd",
            "modules/web/files/a\0b",
        ] {
            let said = asked(&versions, "production", &id, path);
            assert!(said.contains("nodes may have"), "{path:?}: {said}");
        }
        for path in ["out", "absolute", "deep"] {
            let said = asked(
                &versions,
                "production",
                &id,
                &format!("modules/web/files/{path}"),
            );
            assert!(said.contains("is no file"), "{path}: {said}");
        }
        let said = asked(&versions, "production", &id, "modules/web/files/absent");
        assert!(said.contains("cannot read"), "{said}");
    }

    #[test]
    fn other_texts_are_no_ids() {
        for text in [
            "",
            "urn:puppet:code-id:1:",
            "urn:puppet:code-id:1:12;production",
            "urn:puppet:code-id:1:1111111111111111111111111111111111111111;../x",
            "urn:puppet:code-id:1:../../../../../../../../../../../etc/pas;production",
            "urn:puppet:code-id:2:1111111111111111111111111111111111111111;production",
        ] {
            assert_eq!(
                text.parse::<VersionCodeId>(),
                Err(VersionCodeIdError),
                "{text}"
            );
        }
    }
}

//! Mount, module and path of a requested file: [`RequestedFile`].
//!
//! Invariant: a path of a request is checked where it is resolved, in `environments`; here it is only
//! split.

use std::sync::Arc;

use environments::{
    CodeError, CodeFile, CodeVersion, EnvironmentName, FileMetadata, FileMount, FileTreeOptions,
    FileTreeRequest, MountedDirectory, mount_path,
};

use crate::failure::PuppetApiFailure;
use crate::file_mounts::FileMounts;
use crate::node_code::NodeCode;

/// A file that a request names.
#[derive(Debug, Clone)]
pub(crate) struct RequestedFile {
    mount: RequestedMount,
    /// Path below the module's directory of the mount, or below the mounted directory; may be empty.
    pub(crate) path: String,
}

#[derive(Debug, Clone)]
enum RequestedMount {
    /// Files of an environment.
    Code {
        mount: FileMount,
        /// The module; `None` where [`FileMount::has_modules`] is false.
        module: Option<String>,
    },
    /// A directory of `fileserver.conf`.
    Directory(MountedDirectory),
}

/// The files among which a requested one is.
#[derive(Debug)]
pub(crate) struct FileSource<'r> {
    mount: &'r RequestedMount,
    /// The version of the environment; `None` for a mounted directory.
    version: Option<Arc<dyn CodeVersion>>,
}

impl RequestedFile {
    /// Splits a path; `certname` is the node that requests it.
    pub(crate) fn parse(
        mount: &str,
        path: &str,
        (mounts, certname): (&FileMounts, &str),
    ) -> Result<Self, PuppetApiFailure> {
        if let Some(directory) = mounts.directory(mount, certname) {
            return Ok(Self {
                mount: RequestedMount::Directory(directory),
                path: mount_path(path).into_owned(),
            });
        }
        let mount: FileMount = mount.parse().map_err(|error: environments::UnknownMount| {
            PuppetApiFailure::not_found(error.to_string())
        })?;
        if !mount.has_modules() {
            return Ok(Self {
                mount: RequestedMount::Code {
                    mount,
                    module: None,
                },
                path: mount_path(path).into_owned(),
            });
        }
        let (module, path) = path.split_once('/').unwrap_or((path, ""));
        if module.is_empty() {
            return Err(PuppetApiFailure::bad_request(
                "the path must begin with the name of a module",
            ));
        }
        Ok(Self {
            mount: RequestedMount::Code {
                mount,
                module: Some(module.to_owned()),
            },
            path: mount_path(path).into_owned(),
        })
    }

    /// The files of the node's version of the environment, or of the mounted directory. Blocks on the disk.
    pub(crate) fn source(
        &self,
        code: &NodeCode,
        certname: &str,
        environment: &EnvironmentName,
    ) -> Result<FileSource<'_>, CodeError> {
        Ok(FileSource {
            mount: &self.mount,
            version: match &self.mount {
                RequestedMount::Code { .. } => Some(code.version(certname, environment)?),
                RequestedMount::Directory(_) => None,
            },
        })
    }
}

impl FileSource<'_> {
    /// A file at a path that is as [`RequestedFile::path`].
    pub(crate) fn open(&self, path: &str) -> Result<CodeFile, CodeError> {
        match (self.mount, &self.version) {
            (RequestedMount::Code { mount, module }, Some(version)) => {
                version.file(*mount, module.as_deref(), path)
            }
            (RequestedMount::Directory(directory), _) => directory.file(path),
            (RequestedMount::Code { mount, .. }, None) => {
                Err(CodeError::UnknownFile { mount: *mount })
            }
        }
    }

    /// A file and those below it.
    pub(crate) fn tree(&self, tree: FileTreeOptions<'_>) -> Result<Vec<FileMetadata>, CodeError> {
        match (self.mount, &self.version) {
            (RequestedMount::Code { mount, module }, Some(version)) => {
                version.file_tree(&FileTreeRequest {
                    mount: *mount,
                    module: module.as_deref(),
                    tree,
                })
            }
            (RequestedMount::Directory(directory), _) => directory.file_tree(tree),
            (RequestedMount::Code { mount, .. }, None) => {
                Err(CodeError::UnknownFile { mount: *mount })
            }
        }
    }
}

/// The environment that a request names.
pub(crate) fn parse_environment(name: Option<&str>) -> Result<EnvironmentName, PuppetApiFailure> {
    let name =
        name.ok_or_else(|| PuppetApiFailure::bad_request("the parameter environment is missing"))?;
    name.parse()
        .map_err(|error: environments::EnvironmentNameError| {
            PuppetApiFailure::bad_request(error.to_string())
        })
}

//! Errors of deployments: [`DeploymentError`], [`SourcesError`], [`DeployerOpenError`].

use std::sync::Arc;

use environments::EnvironmentName;

use crate::staging::StagingError;
use crate::types::TypesError;
use code_sources::git::{GitError, TreeError};
use code_sources::manifest_syntax::ManifestSyntaxErrors;
use code_sources::resolve::{EnvironmentResolveError, ModuleError};
use code_sources::source_trees::VersionFetchError;
use code_store::content::ContentError;
use code_store::version::{LayoutError, VersionError, VersionSignature};
use code_store::version_lock::LOCK_FILE;
use code_store::write_probe::WriteObstacle;

/// The directories cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DeployerOpenError(#[from] ContentError);

/// The branches of a control repository cannot be listed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the source {source_name}: {error}")]
pub struct SourcesError {
    /// Name of the source.
    pub source_name: String,
    /// Cause of the failure.
    pub error: Arc<ModuleError>,
}

/// An environment was not deployed. The version that was live before still is.
#[derive(Debug, thiserror::Error)]
pub enum DeploymentError {
    /// The environment could not be resolved.
    #[error(transparent)]
    Resolve(#[from] EnvironmentResolveError),
    /// Reading a repository failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The Puppetfile cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Modules or the control repository cannot be fetched.
    #[error(transparent)]
    Trees(#[from] VersionFetchError),
    /// A module declared as local is missing from the control repository.
    #[error(
        "module {module}: it is said to be local, but the control repository has no {directory}"
    )]
    NoLocal {
        /// Name of the module.
        module: String,
        /// The directory in which it was expected.
        directory: String,
    },
    /// Modules cannot be deployed alone, since the environment has no live version.
    #[error("{0} is not live here, so it has no modules; deploy the whole environment first")]
    NotLive(EnvironmentName),
    /// No source has the environment as it is live any more.
    #[error(
        "no source has the environment {0} as it is live, so nothing says what its modules are; deploy the \
         whole environment"
    )]
    NoSource(EnvironmentName),
    /// A module that is to stay unchanged is no longer named as it was.
    #[error(
        "module {module} is not named any more as it was when {environment} was deployed; deploy the whole \
         environment"
    )]
    Renamed {
        /// Name of the module.
        module: String,
        /// Environment of the module.
        environment: EnvironmentName,
    },
    /// The environments of a source cannot be listed.
    #[error(transparent)]
    Sources(#[from] SourcesError),
    /// The staging directory cannot be read.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// The server has no staging directory.
    #[error(
        "this server has no staging directory; set code.staging_directory in its configuration"
    )]
    NoStaging,
    /// The version has manifests that do not parse.
    #[error("manifests that do not parse: {0}")]
    Unparsed(ManifestSyntaxErrors),
    /// Puppet cannot generate the types of the version.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// The parts of the version do not fit together.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Reading or writing versions on the disk failed.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// An I/O error, or an error of the content store.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The lock of a version, which lists the parts of the version, is damaged.
    #[error(
        "{LOCK_FILE} of the version {signature} of {environment} is damaged, so it is not known what the version \
         is made of; deploy the environment to have the version of its branch"
    )]
    NoLock {
        /// Environment of the version.
        environment: EnvironmentName,
        /// Signature of the version.
        signature: VersionSignature,
    },
    /// The files in the staging directory are no longer those that were published.
    #[error(
        "the staging directory of {0} does not have the files any more that were published; publish it again to \
         have a whole version"
    )]
    PublishedAnew(EnvironmentName),
    /// An old version is damaged and cannot be repaired, so it is not made live.
    #[error(
        "the version {signature} of {environment} is damaged ({paths}) and cannot be made whole"
    )]
    Damaged {
        /// Environment of the version.
        environment: EnvironmentName,
        /// Signature of the version.
        signature: VersionSignature,
        /// The first of its damaged files.
        paths: String,
        /// The reason that the files cannot be replaced.
        source: Box<DeploymentError>,
    },
    /// Some directories cannot be written to.
    #[error("{}", list_obstacles(.0))]
    Unwritable(Vec<WriteObstacle>),
    /// An internal error: a bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Internal,
}

fn list_obstacles(obstacles: &[WriteObstacle]) -> String {
    let told: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
    told.join("\n")
}

//! Why environments are not deployed: [`DeployError`], [`SourcesError`], [`OpenError`].

use std::sync::Arc;

use environments::EnvironmentName;

use crate::staging::StagingError;
use crate::types::TypesError;
use code_sources::git::{GitError, TreeError};
use code_sources::manifest_syntax::Unparsed;
use code_sources::resolve::{ModuleError, ResolveError};
use code_sources::source_trees::TreesError;
use code_store::content::ContentError;
use code_store::lock::LOCK_FILE;
use code_store::version::{LayoutError, VersionError, VersionSignature};
use code_store::write_probe::WriteObstacle;

/// The directories cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct OpenError(#[from] ContentError);

/// A control repository cannot be asked for its branches.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the source {source_name}: {error}")]
pub struct SourcesError {
    /// Which.
    pub source_name: String,
    /// Why.
    pub error: Arc<ModuleError>,
}

/// An environment was not deployed. What was live before still is.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// What it is to be made of.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// A repository.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The Puppetfile cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Modules, or the control repository, cannot be brought here.
    #[error(transparent)]
    Trees(#[from] TreesError),
    /// A module that is to stand in the control repository.
    #[error(
        "module {module}: it is said to be local, but the control repository has no {directory}"
    )]
    NoLocal {
        /// Which.
        module: String,
        /// Where it would be.
        directory: String,
    },
    /// There is no live version that modules of could be deployed.
    #[error("{0} is not live here, so it has no modules; deploy the whole environment first")]
    NotLive(EnvironmentName),
    /// Its settings are not there any more.
    #[error(
        "no source has the environment {0} as it is live, so nothing says what its modules are; deploy the \
         whole environment"
    )]
    NoSource(EnvironmentName),
    /// What stays is not named as it was.
    #[error(
        "module {module} is not named any more as it was when {environment} was deployed; deploy the whole \
         environment"
    )]
    Renamed {
        /// Which.
        module: String,
        /// Where.
        environment: EnvironmentName,
    },
    /// A list of environments.
    #[error(transparent)]
    Sources(#[from] SourcesError),
    /// The staging directory.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// There is none.
    #[error(
        "this server has no staging directory; set code.staging_directory in its configuration"
    )]
    NoStaging,
    /// Puppet would not read it.
    #[error("manifests that do not parse: {0}")]
    Unparsed(Unparsed),
    /// Puppet cannot make the types of it.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// What does not fit together.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The versions on the disk.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// The disk.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The lock of a version, which says what it is made of.
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
    /// Other files are in the staging directory by now.
    #[error(
        "the staging directory of {0} does not have the files any more that were published; publish it again to \
         have a whole version"
    )]
    PublishedAnew(EnvironmentName),
    /// An old version that cannot be made whole is not made live.
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
        /// Reason for which the files cannot be replaced.
        source: Box<DeployError>,
    },
    /// Directories that cannot be written to.
    #[error("{}", listed(.0))]
    Unwritable(Vec<WriteObstacle>),
    /// A bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Broken,
}

fn listed(obstacles: &[WriteObstacle]) -> String {
    let told: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
    told.join("\n")
}

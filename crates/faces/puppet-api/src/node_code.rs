//! The code that a node gets: [`NodeCode`].
//!
//! Invariant: while a node runs Puppet for a job that names a version, all that it requests by an
//! environment's name is of that version.

use std::sync::Arc;

use environments::{
    CodeError, CodeReader, CodeVersion, EnvironmentName, PinnedRun, PinnedVersions,
};

use crate::failure::PuppetApiFailure;

/// The environments as nodes see them. Clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct NodeCode {
    code: Arc<dyn CodeReader>,
    pinned: PinnedVersions,
}

impl NodeCode {
    pub(crate) fn new(code: Arc<dyn CodeReader>, pinned: PinnedVersions) -> Self {
        Self { code, pinned }
    }

    /// The version whose files a node gets: that of its pinned run, or the live one. Blocks on the disk.
    pub(crate) fn version(
        &self,
        certname: &str,
        environment: &EnvironmentName,
    ) -> Result<Arc<dyn CodeVersion>, CodeError> {
        let code_id = self.pinned.code_id_for(certname, environment);
        self.code.version_of(environment, code_id.as_deref())
    }

    /// True if a run of the node is pinned to a version of an environment.
    pub(crate) fn is_pinned(&self, certname: &str, environment: &EnvironmentName) -> bool {
        self.pinned.code_id_for(certname, environment).is_some()
    }

    /// Code id of the version that the job of a run names; `None` for the live one.
    ///
    /// # Errors
    /// The job names a version of another environment.
    pub(crate) fn code_id_of_run(
        &self,
        certname: &str,
        environment: &EnvironmentName,
        job_id: Option<&str>,
    ) -> Result<Option<String>, PuppetApiFailure> {
        let run = job_id.and_then(|job| self.pinned.run_of_job(certname, job));
        match run {
            None => Ok(None),
            Some(run) if run.environment == *environment => Ok(Some(run.code_id)),
            Some(PinnedRun {
                job,
                environment: wanted,
                ..
            }) => Err(PuppetApiFailure::bad_request(format!(
                "job {job} names a version of the environment {wanted}, and this run is in {environment}"
            ))),
        }
    }
}

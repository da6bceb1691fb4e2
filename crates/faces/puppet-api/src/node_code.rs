//! The code that a node gets: [`NodeCode`].
//!
//! Invariant: while a node runs Puppet for a job that names a version, all that it requests by an
//! environment's name is of that version.

use std::sync::Arc;

use environments::{
    CodeError, CodeReader, CodeVersion, EnvironmentName, JobCatalogRun, JobCatalogs,
    WaitingComponents,
};

use crate::failure::PuppetApiFailure;

/// The environments as nodes see them. Clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct NodeCode {
    code: Arc<dyn CodeReader>,
    job_catalogs: JobCatalogs,
}

/// What the catalog of a run is compiled from, as far as its job decides on it.
#[derive(Debug, Default)]
pub(crate) struct RunCode {
    /// Code id of the version; `None` for the live one.
    pub(crate) code_id: Option<String>,
    /// Components that wait for a later run of the node.
    pub(crate) waiting: Arc<WaitingComponents>,
}

impl NodeCode {
    pub(crate) fn new(code: Arc<dyn CodeReader>, job_catalogs: JobCatalogs) -> Self {
        Self { code, job_catalogs }
    }

    /// The version whose files a node gets: that of its pinned run, or the live one. Blocks on the disk.
    pub(crate) fn version(
        &self,
        certname: &str,
        environment: &EnvironmentName,
    ) -> Result<Arc<dyn CodeVersion>, CodeError> {
        let code_id = self.job_catalogs.code_id_for(certname, environment);
        self.code.version_of(environment, code_id.as_deref())
    }

    /// True if a run of the node is pinned to a version of an environment.
    pub(crate) fn is_pinned(&self, certname: &str, environment: &EnvironmentName) -> bool {
        let code_id = self.job_catalogs.code_id_for(certname, environment);
        code_id.is_some()
    }

    /// What the job of a run says about its catalog.
    ///
    /// # Errors
    /// The job names a version of another environment.
    pub(crate) fn code_of_run(
        &self,
        certname: &str,
        environment: &EnvironmentName,
        job_id: Option<&str>,
    ) -> Result<RunCode, PuppetApiFailure> {
        let run = job_id.and_then(|job| self.job_catalogs.run_of_job(certname, job));
        match run {
            None => Ok(RunCode::default()),
            Some(run) if run.environment == *environment => Ok(RunCode {
                code_id: run.code_id,
                waiting: run.waiting,
            }),
            // the components of another environment are others
            Some(run) if run.code_id.is_none() => Ok(RunCode::default()),
            Some(JobCatalogRun {
                job,
                environment: wanted,
                ..
            }) => Err(PuppetApiFailure::bad_request(format!(
                "job {job} names a version of the environment {wanted}, and this run is in {environment}"
            ))),
        }
    }
}

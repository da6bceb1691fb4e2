//! Code versions that Puppet runs of jobs are pinned to: [`PinnedVersions`].
//!
//! The job engine records a run here before it asks the node for it; the server of agents gives the node
//! this version in place of the live one.
//!
//! Invariant: an entry exists only while the run of its node is in flight, so there are at most as many
//! entries as runs in flight.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::EnvironmentName;

/// The runs in flight that are pinned to a version. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct PinnedVersions {
    /// The pinned runs of each certname, the oldest first.
    runs: Arc<RwLock<HashMap<String, Vec<PinnedRun>>>>,
}

/// A Puppet run of a job that names a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedRun {
    /// Number of the job, as Puppet sends it with its requests.
    pub job: String,
    pub environment: EnvironmentName,
    /// Code id of the version that the node gets.
    pub code_id: String,
}

impl PinnedVersions {
    /// Records that a run of this node is about to be requested.
    pub fn begin(&self, certname: &str, run: PinnedRun) {
        let mut runs = self.runs.write().unwrap_or_else(PoisonError::into_inner);
        let of_node = runs.entry(certname.to_owned()).or_default();
        of_node.retain(|other| other.job != run.job);
        of_node.push(run);
    }

    /// Removes the run of a job on a node.
    pub fn end(&self, certname: &str, job: &str) {
        let mut runs = self.runs.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_node) = runs.get_mut(certname) {
            of_node.retain(|run| run.job != job);
            if of_node.is_empty() {
                runs.remove(certname);
            }
        }
    }

    /// The run of this job on a node; `None` if it is not in flight, or pinned to nothing.
    pub fn run_of_job(&self, certname: &str, job: &str) -> Option<PinnedRun> {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        runs.get(certname)?
            .iter()
            .find(|run| run.job == job)
            .cloned()
    }

    /// Code id of the version whose files a node gets in an environment, which is that of its newest
    /// pinned run; `None` for the live one.
    pub fn code_id_for(&self, certname: &str, environment: &EnvironmentName) -> Option<String> {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        let mut of_node = runs.get(certname)?.iter().rev();
        let run = of_node.find(|run| run.environment == *environment)?;
        Some(run.code_id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(job: &str, environment: &str, code_id: &str) -> PinnedRun {
        PinnedRun {
            job: job.to_owned(),
            environment: environment.parse().unwrap(),
            code_id: code_id.to_owned(),
        }
    }

    #[test]
    fn only_the_node_of_a_pinned_run_gets_its_version() {
        let pinned = PinnedVersions::default();
        let production = "production".parse().unwrap();
        pinned.begin("a.test", run("7", "production", "old"));
        assert_eq!(pinned.run_of_job("a.test", "7").unwrap().code_id, "old");
        assert_eq!(pinned.run_of_job("a.test", "8"), None);
        assert_eq!(pinned.run_of_job("b.test", "7"), None);
        let files = |certname| pinned.code_id_for(certname, &production);
        assert_eq!(files("a.test").as_deref(), Some("old"));
        assert_eq!(files("b.test"), None);
        let other = "other".parse().unwrap();
        assert_eq!(pinned.code_id_for("a.test", &other), None);

        pinned.begin("a.test", run("8", "production", "older"));
        assert_eq!(files("a.test").as_deref(), Some("older"));
        pinned.end("a.test", "8");
        assert_eq!(files("a.test").as_deref(), Some("old"));
        pinned.end("a.test", "7");
        assert_eq!(files("a.test"), None);
        assert!(pinned.runs.read().unwrap().is_empty());
    }
}

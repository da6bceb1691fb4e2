//! What the Puppet runs of jobs get in place of the ordinary catalogs of their nodes: [`JobCatalogs`].
//!
//! The job engine records a run here before it asks the node for it; the server of agents gives the node
//! the version that is recorded in place of the live one, and leaves components for a later run.
//!
//! Invariant: an entry exists only while the run of its node is in flight, so there are at most as many
//! entries as runs in flight.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use crate::EnvironmentName;

/// The runs in flight whose catalogs differ from the ordinary ones. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct JobCatalogs {
    /// These runs of each certname, the oldest first.
    runs: Arc<RwLock<HashMap<String, Vec<JobCatalogRun>>>>,
}

/// A Puppet run of a job that names a version, or that is one of several passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCatalogRun {
    /// Number of the job, as Puppet sends it with its requests.
    pub job: String,
    pub environment: EnvironmentName,
    /// Code id of the version that the node gets; `None` for the live one.
    pub code_id: Option<String>,
    /// Components that wait for a later run of the node.
    pub waiting: Arc<WaitingComponents>,
}

/// References of the components of applications that wait for other nodes, in a run after which the node runs again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingComponents {
    /// Those that need something that was never produced: the catalog lacks them.
    pub missing: BTreeSet<String>,
    /// All others: the catalog has those that the last one of the node had, since their absence could remove what they
    /// manage.
    pub present: BTreeSet<String>,
}

// === impl JobCatalogs ===

impl JobCatalogs {
    /// Records that a run of this node is about to be requested.
    pub fn begin(&self, certname: &str, run: JobCatalogRun) {
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

    /// The run of this job on a node; `None` if it is not in flight, or gets the ordinary catalog.
    pub fn run_of_job(&self, certname: &str, job: &str) -> Option<JobCatalogRun> {
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
        of_node.find_map(|run| {
            run.code_id
                .clone()
                .filter(|_| run.environment == *environment)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(job: &str, environment: &str, code_id: Option<&str>) -> JobCatalogRun {
        JobCatalogRun {
            job: job.to_owned(),
            environment: environment.parse().unwrap(),
            code_id: code_id.map(str::to_owned),
            waiting: Arc::default(),
        }
    }

    #[test]
    fn only_the_node_of_a_pinned_run_gets_its_version() {
        let catalogs = JobCatalogs::default();
        let production = "production".parse().unwrap();
        catalogs.begin("a.test", run("7", "production", Some("old")));
        let of_job = |certname, job| Some(catalogs.run_of_job(certname, job)?.code_id);
        assert_eq!(of_job("a.test", "7"), Some(Some("old".to_owned())));
        assert_eq!(of_job("a.test", "8"), None);
        assert_eq!(of_job("b.test", "7"), None);
        let files = |certname| catalogs.code_id_for(certname, &production);
        assert_eq!(files("a.test").as_deref(), Some("old"));
        assert_eq!(files("b.test"), None);
        let other = "other".parse().unwrap();
        assert_eq!(catalogs.code_id_for("a.test", &other), None);

        catalogs.begin("a.test", run("8", "production", Some("older")));
        assert_eq!(files("a.test").as_deref(), Some("older"));
        catalogs.begin("a.test", run("9", "production", None));
        assert_eq!(files("a.test").as_deref(), Some("older"), "9 names none");
        catalogs.end("a.test", "8");
        catalogs.end("a.test", "9");
        assert_eq!(files("a.test").as_deref(), Some("old"));
        catalogs.end("a.test", "7");
        assert_eq!(files("a.test"), None);
        assert!(catalogs.runs.read().unwrap().is_empty());
    }
}

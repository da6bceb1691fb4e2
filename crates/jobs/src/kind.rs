//! What a job does on its nodes, and what follows from that.
//!
//! [`Kind`]; the rule: whatever differs between tasks and Puppet runs (the module that is asked, the
//! slots that are taken, the words of events, the shape of results) is chosen by it and nowhere else.

use std::sync::Arc;

use pxp::action;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use store::JobNumber;

use crate::over_ssh::OverSsh;
use crate::scheduler::Pool;
use crate::state::JobState;

/// What a job does on its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A task.
    Task,
    /// An on-demand Puppet run.
    Puppet,
}

/// The request that every node of a job gets, less its transaction id.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Action {
    pub(crate) module: String,
    pub(crate) action: String,
    pub(crate) params: Arc<RawValue>,
    /// Nodes that are reached over SSH by the job's own word.
    #[serde(default)]
    pub(crate) over_ssh: Arc<OverSsh>,
}

/// The command of jobs that run Puppet.
pub(crate) const DEPLOY: &str = "deploy";

// === impl Kind ===

impl Kind {
    /// Whose slots its runs take.
    pub(crate) fn pool(self) -> Pool {
        match self {
            Self::Task => Pool::Actions,
            Self::Puppet => Pool::Compiles,
        }
    }

    /// The states that a job enters when it is made, as PE has them.
    pub(crate) fn first_states(self) -> &'static [JobState] {
        match self {
            Self::Task => &[JobState::Ready],
            Self::Puppet => &[JobState::New, JobState::Ready],
        }
    }

    /// From a job's command as it is stored.
    pub(crate) fn of(command: &str) -> Self {
        if command == DEPLOY {
            Self::Puppet
        } else {
            Self::Task
        }
    }
}

// === impl Action ===

impl Action {
    pub(crate) fn new(module: &str, action: &str, params: Box<RawValue>) -> Self {
        Self {
            module: module.to_owned(),
            action: action.to_owned(),
            params: Arc::from(params),
            over_ssh: Arc::default(),
        }
    }

    pub(crate) fn over_ssh(self, over_ssh: OverSsh) -> Self {
        let over_ssh = Arc::new(over_ssh);
        Self { over_ssh, ..self }
    }

    /// With the job's number, where the node is told it: Puppet writes it into its report.
    pub(crate) fn of_job(self, kind: Kind, job: JobNumber) -> Self {
        let Kind::Puppet = kind else { return self };
        let Ok(mut params) = action::decode::<Map<String, Value>>(&self.params) else {
            // They were made from an object.
            return self;
        };
        params.insert("job".to_owned(), Value::from(job.to_string()));
        let params = Arc::from(action::encode(&params));
        Self { params, ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn puppet_is_told_the_number_of_its_job_and_a_task_is_not() {
        let params = || action::encode(&json!({"flags": ["--noop"], "env": []}));
        let action = || Action::new("m", "run", params());
        let told = action().of_job(Kind::Puppet, JobNumber::new(7).unwrap());
        let told: Value = serde_json::from_str(told.params.get()).unwrap();
        assert_eq!(told, json!({"flags": ["--noop"], "env": [], "job": "7"}));
        let task = action().of_job(Kind::Task, JobNumber::new(7).unwrap());
        assert_eq!(task.params.get(), params().get());
    }

    #[test]
    fn a_deploy_runs_puppet_and_everything_else_is_read_as_a_task() {
        assert_eq!(Kind::of("deploy"), Kind::Puppet);
        assert_eq!(Kind::of("task"), Kind::Task);
    }
}
